"""Every table of an atlas and what its columns mean. The one place where that is written down.

All tables are tidy: one observation a row, `layer` and `head` counted from 1. Each is written twice, as
``tables/NAME.parquet`` and ``tables/NAME.csv``; both hold the same columns in the order given here. An empty cell
(CSV) or null (Parquet) is a value that does not exist, such as the attention to [SEP] of a model without one.

Unless a table says otherwise, a value is a mean over the tokens of a segment and then over segments, and `count` is
the number of segments in that mean.
"""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from headatlas.errors import AtlasError

LAYER = ("layer", "int64", "layer, from 1, nearest the input first")
HEAD = ("head", "int64", "head within the layer, from 1")
COUNT = ("count", "int64", "segments in the mean; 0 where the value does not exist")
RELATION = (
    "relation",
    "str",
    "the treebank's own name; or all: every word, roots never found; all_but_root; all_but_root_punct: nor punctuation",
)
DIRECTION = ("direction", "str", "dependent_to_head or head_to_dependent: which of the two attends")
ACCURACY = ("accuracy", "float64", "share of right choices, 0 to 1")
VALUE_INTERVAL = (
    ("low", "float64", "lower end of its 95 % bootstrap interval, over segments"),
    ("high", "float64", "its upper end"),
)
INTERVAL = (
    ("low", "float64", "lower end of the accuracy's 95 % bootstrap interval, for a head given beforehand"),
    ("high", "float64", "its upper end"),
)
HELD_OUT = (
    "held_out",
    "float64",
    "accuracy where the head is chosen on one half of the documents, scored on the other",
)
P_VALUE = "permutation test, with the choice among heads part of it, of the null that no head is better than"
MENTION_TYPE = ("mention_type", "str", "all, or by the part of speech of its head word: pronoun, proper, nominal")
CANDIDATES = ("candidates", "str", "among which the head chooses: words, mentions, or preceding (mentions)")
MENTIONS = ("count", "int64", "mentions of this type that have an antecedent in the window")
CHOSEN_ANTECEDENTS = (
    ("correct", "int64", "mentions whose chosen antecedent is a true one"),
    MENTIONS,
    ACCURACY,
    *INTERVAL,
)


@dataclass(frozen=True)
class Table:
    """One table: what it answers, and its columns as (name, type, meaning)."""

    about: str
    columns: tuple[tuple[str, str, str], ...]


TABLES: dict[str, Table] = {
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
    # paper, section 6, figure 6
    "head_distances": Table(
        "how differently two heads attend, for every pair of heads",
        (
            ("layer_a", "int64", "layer of one head, from 1"),
            ("head_a", "int64", "that head within its layer, from 1"),
            ("layer_b", "int64", "layer of the other head, which comes after the first"),
            ("head_b", "int64", "that head within its layer"),
            (
                "value",
                "float64",
                "Jensen-Shannon divergence of their rows in nats, summed over a segment's tokens (if so asked, their "
                "mean: 0 to log 2), mean over segments",
            ),
            ("count", "int64", "segments in the mean: those with a token from which both heads attend to something"),
        ),
    ),
    "head_map": Table(
        "the heads in the plane, like ones side by side",
        (
            LAYER,
            HEAD,
            (
                "x",
                "float64",
                "place in the plane, by multidimensional scaling; empty where a distance is missing",
            ),
            ("y", "float64", "the other coordinate"),
            ("cluster", "int64", "cluster of the head, from 1, by average linkage; 0 if it has no place"),
        ),
    ),
    "behaviours": Table(
        "what each head does, from the other tables; a head may have several labels, or none",
        (
            LAYER,
            HEAD,
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
    ),
    "layer_distances": Table(
        "how differently the heads of two layers attend",
        (
            ("layer_a", "int64", "one layer, from 1"),
            ("layer_b", "int64", "the same layer, or one after it"),
            ("value", "float64", "mean distance of their pairs of heads, as in head_distances"),
            ("count", "int64", "pairs of heads"),
            ("p_value", "float64", "permutation test of the null that heads drawn from all layers are as close"),
            ("p_adjusted", "float64", "the same, adjusted for the number of pairs of layers"),
        ),
    ),
    "similarity": Table(
        "how far the map and the clusters of heads can be trusted, and whether layers matter",
        (
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
    ),
    # two atlases side by side: `headatlas compare`
    "differences": Table(
        "what differs between two atlases, B - A, in every number that both have",
        (
            ("table", "str", "the table of the atlases"),
            ("column", "str", "its column"),
            ("measure", "str", "its other keys, such as offset=-1, or relation=dobj direction=dependent_to_head"),
            (
                "scope",
                "str",
                "head: head by head; layer: means over a layer's heads; model: over all heads; best: the best head of "
                "each; row: rows that are of no head",
            ),
            ("layer_a", "Int64", "layer of A, from 1; empty where the row is of none"),
            ("head_a", "Int64", "head of A within the layer"),
            ("layer_b", "Int64", "layer of B"),
            ("head_b", "Int64", "head of B within the layer"),
            ("value_a", "float64", "the value in A, or its mean over heads"),
            ("low_a", "float64", "lower end of its 95 % bootstrap interval; empty where there is none"),
            ("high_a", "float64", "its upper end"),
            ("value_b", "float64", "the value in B"),
            ("low_b", "float64", "lower end of its 95 % bootstrap interval"),
            ("high_b", "float64", "its upper end"),
            ("difference", "float64", "value_b - value_a"),
            ("low", "float64", "lower end of the difference's 95 % bootstrap interval, not corrected for their number"),
            ("high", "float64", "its upper end"),
            ("paired", "boolean", "whether both were resampled together, segment by segment; empty without interval"),
            ("count_a", "Int64", "the count of the row in A"),
            ("count_b", "Int64", "the count of the row in B"),
        ),
    ),
    "behaviour_matches": Table(
        "the heads of both atlases that have the same label, matched",
        (
            ("label", "str", "as in behaviours"),
            ("layer_a", "Int64", "layer of A, from 1; empty where A has no further head with this label"),
            ("head_a", "Int64", "head of A within the layer"),
            ("strength_a", "float64", "as in behaviours"),
            ("layer_b", "Int64", "layer of B; empty where B has no further head with this label"),
            ("head_b", "Int64", "head of B within the layer"),
            ("strength_b", "float64", "as in behaviours"),
            ("distance", "float64", "as in cross_distances; empty where not measured, and the strongest are matched"),
        ),
    ),
    "head_matches": Table(
        "each head of A with the head of B that it is assigned to, by how they attend to the same text",
        (
            ("layer_a", "Int64", "layer of A, from 1; empty for a head of B that is left over"),
            ("head_a", "Int64", "head of A within the layer"),
            ("layer_b", "Int64", "layer of B; empty for a head of A that is left over"),
            ("head_b", "Int64", "head of B within the layer"),
            ("distance", "float64", "their distance, as in cross_distances"),
            ("nearest_layer", "Int64", "layer of the head of B that is nearest to the head of A"),
            ("nearest_head", "Int64", "that head within its layer; several heads of A may have the same"),
            ("nearest", "float64", "their distance"),
            ("own", "float64", "distance of the two heads in this place; empty where the models' shapes differ"),
            ("place_kept", "boolean", "whether a head is assigned to its own place; empty where the shapes differ"),
            ("count", "int64", "segments in the distance; 0 without match"),
        ),
    ),
    "match_summary": Table(
        "how far heads moved from A to B, and how many are still in their place",
        (
            (
                "measure",
                "str",
                "heads_a, heads_b, matched: how many heads; matched_, across_, within_a_, within_b_, own_distance: "
                "mean distance of matched heads, of all heads of A and B, of two heads of A, of two of B, of two in "
                "the same place; place_kept, layer_kept: heads matched within their place, their layer, and _by_chance "
                "if drawn at random; share_of_rows: compared, where segments are too long for all",
            ),
            ("value", "float64", "the measure"),
        ),
    ),
    "cross_distances": Table(
        "how differently a head of A and a head of B attend to the same text, for every pair",
        (
            ("layer_a", "int64", "layer of A, from 1"),
            ("head_a", "int64", "head of A within the layer"),
            ("layer_b", "int64", "layer of B"),
            ("head_b", "int64", "head of B within the layer"),
            (
                "value",
                "float64",
                "Jensen-Shannon divergence of their rows in nats, 0 to log 2: mean over a segment's tokens, then over "
                "segments",
            ),
            ("count", "int64", "segments in the mean"),
        ),
    ),
}


def conform(name: str, frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with exactly the columns and types its table promises."""
    promised = [column for column, _, _ in TABLES[name].columns]
    if sorted(promised) != sorted(frame.columns):
        raise AtlasError(f"table {name} has columns {list(frame.columns)}, its schema says {promised}")
    return frame[promised].astype({column: kind for column, kind, _ in TABLES[name].columns})
