"""Tables of a survey: which heads are alike, and what they do (paper, section 6)."""

from __future__ import annotations

from headatlas.results.schemas.columns import HEAD, LAYER, Table

SIMILARITY: dict[str, Table] = {
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
                "Jensen-Shannon divergence of their rows in nats, summed over a segment's tokens, mean over segments",
            ),
            ("per_token", "float64", "the same, but the mean over a segment's tokens: 0 to log 2"),
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
}
