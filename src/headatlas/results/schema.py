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
PROBE = ("probe", "str", "as `--probes` names it; structural_distance and structural_depth apart")
PROBED_WEIGHTS = ("weights", "str", "of the network it reads: pretrained or random; empty where it reads none")
PROBE_SEED = ("seed", "Int64", "of its first weights and order; empty where nothing is trained")


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
    # paper, section 5, table 3; Hewitt and Manning 2019; Hewitt and Liang 2019; Voita and Titov 2020
    "probes": Table(
        "what trained probes make of all heads, of words or of hidden states",
        (
            PROBE,
            PROBED_WEIGHTS,
            ("layer", "Int64", "of hidden states, 0 the embeddings' output; empty where all heads are read"),
            PROBE_SEED,
            (
                "uas",
                "float64",
                "share of words with the right head, each word's likeliest, ROOT and punctuation counted",
            ),
            ("uas_no_punct", "float64", "the same without punctuation"),
            ("uas_tree", "float64", "share of words with the right head in the likeliest tree with one root"),
            ("uas_tree_no_punct", "float64", "the same without punctuation"),
            ("uuas", "float64", "share of the tree's edges in the minimum spanning tree, without punctuation"),
            ("root_accuracy", "float64", "share of sentences whose shallowest word is the root, without punctuation"),
            ("spearman", "float64", "rank correlation of distances or depths, mean over lengths 5 to 50"),
            ("low", "float64", "lower end of the 95 % bootstrap interval of uas_no_punct, uuas or root_accuracy"),
            ("high", "float64", "its upper end"),
            ("control_uas", "float64", "uas on the control task; empty if not run"),
            ("selectivity", "float64", "uas less control_uas"),
            ("mdl_bits", "float64", "online code length of the training heads; empty if not run"),
            ("uniform_bits", "float64", "length of the uniform code of the same heads"),
            ("held_out_loss", "float64", "on held-out training sentences: nats a word, or edges"),
            ("epochs", "Int64", "passes over the training sentences"),
            ("count", "int64", "words that are no punctuation, edges, or sentences: what low and high are about"),
        ),
    ),
    "probe_relations": Table(
        "how often each probe finds the head, by relation",
        (
            PROBE,
            PROBED_WEIGHTS,
            PROBE_SEED,
            ("relation", "str", "the treebank's own name"),
            ("uas", "float64", "share of words with the right head, each word's likeliest"),
            ("uas_tree", "float64", "share of words with the right head in the likeliest tree"),
            ("count", "int64", "words with this relation"),
            ("low", "float64", "lower end of the 95 % bootstrap interval of uas"),
            ("high", "float64", "its upper end"),
        ),
    ),
    "probe_weights": Table(
        "which heads the attention probes use",
        (
            PROBE,
            PROBED_WEIGHTS,
            PROBE_SEED,
            LAYER,
            HEAD,
            DIRECTION,
            ("weight", "float64", "mean of what the head's attention is multiplied by, over true arcs"),
            (
                "contribution",
                "float64",
                "mean of what the head adds to a true arc's score, less what it adds to other words'",
            ),
        ),
    ),
}


def conform(name: str, frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with exactly the columns and types its table promises."""
    promised = [column for column, _, _ in TABLES[name].columns]
    if sorted(promised) != sorted(frame.columns):
        raise AtlasError(f"table {name} has columns {list(frame.columns)}, its schema says {promised}")
    return frame[promised].astype({column: kind for column, kind, _ in TABLES[name].columns})
