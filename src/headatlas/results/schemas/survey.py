"""Tables of a survey: surface behaviour, dependency relations, coreference, similar heads, labels."""

from __future__ import annotations

from headatlas.results.schemas.columns import (
    ACCURACY,
    CANDIDATES,
    CHOSEN_ANTECEDENTS,
    COUNT,
    DIRECTION,
    HELD_OUT,
    INTERVAL,
    MENTION_TYPE,
    MENTIONS,
    ONE_HEAD,
    P_VALUE,
    RELATION,
    VALUE_INTERVAL,
    Table,
    interval,
    table,
)

SURVEY: dict[str, Table] = {
    # paper, section 3.1: heads that attend to a fixed position
    "positions": table(
        "attention to the previous, current and next token",
        *ONE_HEAD,
        ("offset", "int64", "-1 previous, 0 current, 1 next token"),
        ("value", "float64", "mean attention, 0 to 1; a token without such a neighbour counts with 0"),
        *VALUE_INTERVAL,
        COUNT,
    ),
    # paper, sections 3.1 and 3.2, figure 2
    "token_kinds": table(
        "attention to [CLS], [SEP], periods and commas, and other tokens",
        *ONE_HEAD,
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
    # paper, section 3.3, figure 4
    "entropy": table(
        "how broadly each head attends",
        *ONE_HEAD,
        ("source", "str", "all: rows of all tokens; cls: rows of [CLS] alone"),
        ("nats", "float64", "mean entropy of the rows, each scaled to sum 1"),
        *VALUE_INTERVAL,
        ("uniform_nats", "float64", "entropy of uniform attention to every token the row may attend to"),
        COUNT,
    ),
    # paper, section 3.3: "at most 10 % of their attention mass on any single word"
    "max_attention": table(
        "the largest weight of a row",
        *ONE_HEAD,
        ("value", "float64", "mean over rows of the largest weight, 0 to 1"),
        *VALUE_INTERVAL,
        ("highest", "float64", "the largest weight in any row of any segment"),
        COUNT,
    ),
    # paper, section 3.2, figure 3
    "gradients": table(
        "how much the loss depends on attention to a kind of token",
        *ONE_HEAD,
        ("kind", "str", "kind of the token attended to: cls, sep, period_comma, other"),
        ("value", "float64", "mean |dL/da| over pairs of tokens, L a segment's mean loss in nats"),
        *VALUE_INTERVAL,
        COUNT,
    ),
    # paper, section 4.2, table 1
    "dependencies": table(
        "how often each head picks out the other end of a dependency",
        RELATION,
        *ONE_HEAD,
        DIRECTION,
        ("correct", "int64", "dependents for which the most attended word is the right one"),
        ("count", "int64", "dependents with this relation"),
        ACCURACY,
        *INTERVAL,
    ),
    "dependency_best": table(
        "the best head for each relation, and the best fixed offset",
        RELATION,
        ("count", "int64", "dependents with this relation"),
        *ONE_HEAD,
        DIRECTION,
        ACCURACY,
        *INTERVAL,
        HELD_OUT,
        ("baseline", "float64", "accuracy of always choosing the word at the best fixed offset"),
        ("baseline_offset", "int64", "that offset from the dependent in words, -1 the word before"),
        *interval("the 95 % bootstrap interval of that offset's accuracy", "baseline_low", "baseline_high"),
        ("baseline_held_out", "float64", "accuracy where the offset is chosen on one half and scored on the other"),
        ("p_value", "float64", f"{P_VALUE} the baseline"),
        ("control", "float64", "accuracy of the best head of the same network with random weights; empty if not run"),
    ),
    # paper, section 4.3, table 2
    "coreference": table(
        "how often each head picks out an antecedent", *ONE_HEAD, MENTION_TYPE, CANDIDATES, *CHOSEN_ANTECEDENTS
    ),
    "coreference_best": table(
        "the best head for each type of mention",
        MENTION_TYPE,
        CANDIDATES,
        MENTIONS,
        *ONE_HEAD,
        ACCURACY,
        *INTERVAL,
        HELD_OUT,
        ("p_nearest", "float64", f"{P_VALUE} the nearest mention"),
        ("p_head_match", "float64", f"{P_VALUE} the nearest with the same head word"),
        ("p_sieves", "float64", f"{P_VALUE} the four sieves"),
    ),
    "coreference_baselines": table(
        "how often simple rules pick out an antecedent",
        ("baseline", "str", "nearest mention; head_match: nearest with the same head word; sieves: four in order"),
        MENTION_TYPE,
        *CHOSEN_ANTECEDENTS,
    ),
    # paper, section 6, figure 6
    "head_distances": table(
        "how differently two heads attend, for every pair of heads",
        ("layer_a", "int64", "layer of one head, from 1"),
        ("head_a", "int64", "that head within its layer, from 1"),
        ("layer_b", "int64", "layer of the other head, which comes after the first"),
        ("head_b", "int64", "that head within its layer"),
        (
            "value",
            "float64",
            "Jensen-Shannon divergence of their rows in nats, summed over a segment's tokens, mean over segments",
        ),
        ("per_token", "float64", "the same, but the mean over a segment's tokens: 0 to log 2"),
        ("count", "int64", "segments in the mean: those with a token from which both heads attend to something"),
    ),
    "head_map": table(
        "the heads in the plane, similar heads close together",
        *ONE_HEAD,
        ("x", "float64", "place in the plane, by multidimensional scaling; empty where a distance is missing"),
        ("y", "float64", "the other coordinate"),
        ("cluster", "int64", "cluster of the head, from 1, by average linkage; 0 if it has no place"),
    ),
    "behaviours": table(
        "what each head does, from the other tables; a head may have several labels, or none",
        *ONE_HEAD,
        (
            "label",
            "str",
            "previous token, next token, [CLS], [SEP], periods and commas, broad, coreference, or a relation",
        ),
        (
            "strength",
            "float64",
            "share of attention; broad: of the uniform entropy; relations and coreference: held-out accuracy",
        ),
        ("evidence", "str", "the figures behind the label, in words"),
    ),
    "layer_distances": table(
        "how differently the heads of two layers attend",
        ("layer_a", "int64", "one layer, from 1"),
        ("layer_b", "int64", "the same layer, or one after it"),
        ("value", "float64", "mean distance of their pairs of heads, as in head_distances"),
        ("count", "int64", "pairs of heads"),
        ("p_value", "float64", "permutation test of the null that heads drawn from all layers are as close"),
        ("p_adjusted", "float64", "the same, adjusted for the number of pairs of layers"),
    ),
    "similarity": table(
        "how far the map and the clusters of heads can be trusted, and whether layers matter",
        (
            "measure",
            "str",
            "stress (Kruskal's stress-1) and disparity (Procrustes', median from other starts) of the map; number "
            "of clusters and their silhouette; within_layers, between_layers: mean distance of heads of one layer, "
            "of two; p_layers: permutation test of their difference; heads_left_out: heads without a place; "
            "share_of_rows: compared, where segments are too long for all",
        ),
        ("distance", "str", "js: the value of head_distances; sqrt_js: its root, a metric"),
        ("value", "float64", "the measure"),
    ),
}
