"""What is compared of each table: the columns that name a row, those that hold values, and what is left out and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Measures:
    """What identifies the rows of a table and what is measured in them.

    rows: ``heads``, one per head (and its keys); ``best``, one for the best head; ``other``, not of heads.
    values: columns, or what follows from them (the lead of the best head); for some a study has bootstrap replicates.
    same: what both models must have the same number of, for a row to mean the same in both.
    """

    corpus: Literal["text", "treebank", "coreference", "keyphrases"]
    rows: Literal["heads", "best", "other"]
    keys: tuple[str, ...]
    values: tuple[str, ...] = ("value",)
    same: Literal["layers", "heads"] | None = None


MEASURES: dict[str, Measures] = {
    "positions": Measures("text", "heads", ("offset",)),
    "token_kinds": Measures("text", "heads", ("kind",)),
    "entropy": Measures("text", "heads", ("source",), ("nats",)),
    "max_attention": Measures("text", "heads", (), ("value", "highest")),
    "gradients": Measures("text", "heads", ("kind",)),
    "dependencies": Measures("treebank", "heads", ("relation", "direction"), ("accuracy",)),
    "dependency_best": Measures("treebank", "best", ("relation",), ("accuracy", "held_out", "lead")),
    "coreference": Measures("coreference", "heads", ("mention_type", "candidates"), ("accuracy",)),
    "coreference_best": Measures("coreference", "best", ("mention_type", "candidates"), ("accuracy", "held_out")),
    "coreference_baselines": Measures("coreference", "other", ("baseline", "mention_type"), ("accuracy",)),
    "keyphrase_heads": Measures(
        "keyphrases", "heads", ("pooling", "rows"), ("average_precision", "relative_attention", "cross_entropy")
    ),
    "layer_distances": Measures("text", "other", ("layer_a", "layer_b"), same="layers"),
    "head_distances": Measures("text", "other", ("layer_a", "head_a", "layer_b", "head_b"), same="heads"),
    "similarity": Measures("text", "other", ("measure", "distance")),
}

DISTANCES = frozenset({"head_distances", "layer_distances", "similarity"})
"""Tables whose unit depends on settings of the survey: DISTANCE_SETTINGS."""
DISTANCE_SETTINGS = ("as_published",)
SIMILARITY_MEASURES = frozenset({"stress", "disparity", "silhouette", "within_layers", "between_layers"})

NOT_COMPARED: dict[str, str] = {
    "head_map": "places in the plane and cluster numbers mean nothing outside their own map",
    "behaviours": "labels are matched instead: table behaviour_matches",
    "similarity: clusters, p_layers, heads_left_out, share_of_rows": "they are settings, p-values and counts",
    "layer_distances: p_value, p_adjusted": "a difference of p-values is not an effect",
    "entropy: uniform_nats": "it depends on the length of the text, not on a head",
    "dependency_best: baseline, p_value, control": "they are not measures of the best head",
    "keyphrase_heads: first_half, second_half, key_share": "they are parts of the average precision",
    "coreference_best: p_nearest, p_head_match, p_sieves": "a difference of p-values is not an effect",
}
"""Table, or some of its columns or rows -> why no difference is taken."""
