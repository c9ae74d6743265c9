"""Tables of `headatlas compare` and `headatlas reproduce`."""

from __future__ import annotations

from headatlas.results.schemas.columns import Table, interval, table

COMPARISON: dict[str, Table] = {
    # two atlases side by side: `headatlas compare`
    "differences": table(
        "what differs between two atlases, B - A, in every number that both have",
        ("table", "str", "the table of the atlases"),
        (
            "column",
            "str",
            "its column; lead: how far a relation's best head is above the best fixed offset, 0 where it is not",
        ),
        ("measure", "str", "its other keys, such as offset=-1, or relation=dobj direction=dependent_to_head"),
        (
            "scope",
            "str",
            "head: head by head; layer: means over a layer's heads; model: over all heads; best: the best head of "
            "each; row: rows that do not belong to a head",
        ),
        ("layer_a", "Int64", "layer of A, from 1; empty if the row has none"),
        ("head_a", "Int64", "head of A within the layer"),
        ("layer_b", "Int64", "layer of B"),
        ("head_b", "Int64", "head of B within the layer"),
        ("value_a", "float64", "the value in A, or its mean over heads"),
        *interval("its 95 % bootstrap interval; empty where there is none", "low_a", "high_a"),
        ("value_b", "float64", "the value in B"),
        *interval("its 95 % bootstrap interval", "low_b", "high_b"),
        ("difference", "float64", "value_b - value_a"),
        *interval("the difference's 95 % bootstrap interval, not corrected for their number"),
        ("paired", "boolean", "whether both were resampled together, segment by segment; empty without interval"),
        ("count_a", "Int64", "the count of the row in A"),
        ("count_b", "Int64", "the count of the row in B"),
    ),
    "behaviour_matches": table(
        "the heads of both atlases that have the same label, matched",
        ("label", "str", "as in behaviours"),
        ("layer_a", "Int64", "layer of A, from 1; empty where A has no further head with this label"),
        ("head_a", "Int64", "head of A within the layer"),
        ("strength_a", "float64", "as in behaviours"),
        ("layer_b", "Int64", "layer of B; empty where B has no further head with this label"),
        ("head_b", "Int64", "head of B within the layer"),
        ("strength_b", "float64", "as in behaviours"),
        ("distance", "float64", "as in cross_distances; empty where not measured, and the strongest are matched"),
    ),
    "head_matches": table(
        "each head of A with the head of B that it is assigned to, by how they attend to the same text",
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
    "match_summary": table(
        "how far heads moved from A to B, and how many keep their place",
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
    "cross_distances": table(
        "how differently a head of A and a head of B attend to the same text, for every pair",
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
    "reproduction": table(
        "every published number and finding beside ours, with a verdict",
        ("place", "str", "table, figure or section of the paper, or the authors' notebook"),
        ("item", "str", "what the number measures, or the finding"),
        ("unit", "str", "%, nats, heads, words (of an offset), head (layer-head), or finding"),
        ("published", "str", "as printed"),
        ("ours", "str", "as people read it; of a finding, the figures that decide"),
        ("published_value", "float64", "as a number; empty where it is none"),
        ("our_value", "float64", "as a number"),
        ("difference", "float64", "our_value - published_value, in the unit"),
        *interval("our 95 % interval, in the unit; empty where there is none"),
        ("verdict", "str", "reproduced, differs, or input missing"),
        ("rule", "str", "when it counts as reproduced"),
        ("missing", "str", "which input is missing"),
    ),
}
