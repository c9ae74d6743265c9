"""Tables of a survey: surface behaviour, dependency relations, coreference (paper, sections 3 and 4)."""

from __future__ import annotations

from headatlas.results.schemas.columns import (
    ACCURACY,
    CANDIDATES,
    CHOSEN_ANTECEDENTS,
    COUNT,
    DIRECTION,
    HEAD,
    HELD_OUT,
    INTERVAL,
    LAYER,
    MENTION_TYPE,
    MENTIONS,
    P_VALUE,
    RELATION,
    VALUE_INTERVAL,
    Table,
)

ATTENTION: dict[str, Table] = {
    # paper, section 3.1: heads that attend to a fixed position
    "positions": Table(
        "attention to the previous, current and next token",
        (
            LAYER,
            HEAD,
            ("offset", "int64", "-1 previous, 0 current, 1 next token"),
            ("value", "float64", "mean attention, 0 to 1; a token without such a neighbour counts with 0"),
            *VALUE_INTERVAL,
            COUNT,
        ),
    ),
    # paper, sections 3.1 and 3.2, figure 2
    "token_kinds": Table(
        "attention to [CLS], [SEP], periods and commas, and other tokens",
        (
            LAYER,
            HEAD,
            (
                "kind",
                "str",
                "cls, sep, period_comma, other: to such tokens from all rows (together 1, less what a learned sink "
                "takes); sep_to_sep: from [SEP] rows to [SEP]; other_to_sep: from all other rows to [SEP]",
            ),
            ("value", "float64", "mean attention, 0 to 1"),
            *VALUE_INTERVAL,
            COUNT,
        ),
    ),
    # paper, section 3.3, figure 4
    "entropy": Table(
        "how broadly each head attends",
        (
            LAYER,
            HEAD,
            ("source", "str", "all: rows of all tokens; cls: rows of [CLS] alone"),
            ("nats", "float64", "mean entropy of the rows, each scaled to sum 1"),
            *VALUE_INTERVAL,
            ("uniform_nats", "float64", "entropy of attending alike to every token the row may attend to"),
            COUNT,
        ),
    ),
    # paper, section 3.3: "at most 10 % of their attention mass on any single word"
    "max_attention": Table(
        "the largest weight of a row",
        (
            LAYER,
            HEAD,
            ("value", "float64", "mean over rows of the largest weight, 0 to 1"),
            *VALUE_INTERVAL,
            ("highest", "float64", "the largest weight in any row of any segment"),
            COUNT,
        ),
    ),
    # paper, section 3.2, figure 3
    "gradients": Table(
        "how much the loss depends on attention to a kind of token",
        (
            LAYER,
            HEAD,
            ("kind", "str", "kind of the token attended to: cls, sep, period_comma, other"),
            ("value", "float64", "mean |dL/da| over pairs of tokens, L a segment's mean loss in nats"),
            *VALUE_INTERVAL,
            COUNT,
        ),
    ),
    # paper, section 4.2, table 1
    "dependencies": Table(
        "how often each head picks out the other end of a dependency",
        (
            RELATION,
            LAYER,
            HEAD,
            DIRECTION,
            ("correct", "int64", "dependents for which the most attended word is the right one"),
            ("count", "int64", "dependents with this relation"),
            ACCURACY,
            *INTERVAL,
        ),
    ),
    "dependency_best": Table(
        "the best head for each relation, and the best fixed offset",
        (
            RELATION,
            ("count", "int64", "dependents with this relation"),
            LAYER,
            HEAD,
            DIRECTION,
            ACCURACY,
            *INTERVAL,
            HELD_OUT,
            ("baseline", "float64", "accuracy of always choosing the word at the best fixed offset"),
            ("baseline_offset", "int64", "that offset from the dependent in words, -1 the word before"),
            ("baseline_low", "float64", "lower end of the 95 % bootstrap interval of that offset's accuracy"),
            ("baseline_high", "float64", "its upper end"),
            ("baseline_held_out", "float64", "accuracy where the offset is chosen on one half and scored on the other"),
            ("p_value", "float64", f"{P_VALUE} the baseline"),
            (
                "control",
                "float64",
                "accuracy of the best head of the same network with random weights; empty if not run",
            ),
        ),
    ),
    # paper, section 4.3, table 2
    "coreference": Table(
        "how often each head picks out an antecedent",
        (
            LAYER,
            HEAD,
            MENTION_TYPE,
            CANDIDATES,
            *CHOSEN_ANTECEDENTS,
        ),
    ),
    "coreference_best": Table(
        "the best head for each type of mention",
        (
            MENTION_TYPE,
            CANDIDATES,
            MENTIONS,
            LAYER,
            HEAD,
            ACCURACY,
            *INTERVAL,
            HELD_OUT,
            ("p_nearest", "float64", f"{P_VALUE} the nearest mention"),
            ("p_head_match", "float64", f"{P_VALUE} the nearest with the same head word"),
            ("p_sieves", "float64", f"{P_VALUE} the four sieves"),
        ),
    ),
    "coreference_baselines": Table(
        "how often simple rules pick out an antecedent",
        (
            ("baseline", "str", "nearest mention; head_match: nearest with the same head word; sieves: four in order"),
            MENTION_TYPE,
            *CHOSEN_ANTECEDENTS,
        ),
    ),
}
