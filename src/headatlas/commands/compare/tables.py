"""Tables of `headatlas compare`: two atlases side by side."""

from __future__ import annotations

from headatlas.tables import Key, Table, Value, head_of, interval, p_value

DIFFERENCES = Table(
    "differences",
    "How do the atlases differ in every number that both have, per head, per layer and overall? With intervals.",
    (
        Key("table", "the table of the atlases"),
        Key("column", "its column; lead: how far a relation's best head is above the best fixed offset, or 0"),
        Key("measure", "its other keys, such as offset=-1, or relation=dobj direction=dependent_to_head"),
        Key("scope", "head: head by head; layer, model: means over their heads; best: the best heads; row: others"),
        *head_of("a", "A's head, from 1; empty if the row has none", "Int64"),
        *head_of("b", "B's head", "Int64"),
        Value("value_a", "the value in A, or its mean over heads"),
        *interval("its 95 % bootstrap interval; empty where there is none", "value_a", "low_a", "high_a"),
        Value("value_b", "the value in B"),
        *interval("its 95 % bootstrap interval", "value_b", "low_b", "high_b"),
        Value("difference", "value_b - value_a"),
        *interval("the difference's 95 % bootstrap interval, not corrected for their number", "difference"),
        p_value("two-sided test of the null that there is no difference; empty without interval"),
        p_value("the same, corrected for all rows of this table, column and scope by the maximum", "p_adjusted"),
        Value("paired", "whether both were resampled together; empty without interval", dtype="boolean"),
        Value("count_a", "the count of the row in A", "count", dtype="Int64"),
        Value("count_b", "the count of the row in B", "count", dtype="Int64"),
    ),
    main="difference",
)

BEHAVIOUR_MATCHES = Table(
    "behaviour_matches",
    "Which heads of B do what a head of A does?",
    (
        Key("label", "as in behaviours"),
        *head_of("a", "A's head, from 1; empty where A has no further head with this label", "Int64"),
        Value("strength_a", "as in behaviours", "share"),
        *head_of("b", "B's head; empty where B has no further head with this label", "Int64"),
        Value("strength_b", "as in behaviours", "share"),
        Value("distance", "as in cross_distances; empty where not measured, and the strongest are matched", "nats"),
    ),
)

HEAD_MATCHES = Table(
    "head_matches",
    "Which head of B attends to the same text as this head of A does? (an optimal assignment)",
    (
        *head_of("a", "A's head, from 1; empty for a head of B that is left over", "Int64"),
        *head_of("b", "B's head; empty for a head of A that is left over", "Int64"),
        Value("distance", "their distance, as in cross_distances", "nats"),
        Value("nearest_layer", "layer of the head of B that is nearest to the head of A", "place", dtype="Int64"),
        Value("nearest_head", "that head within its layer; heads of A may share one", "place", dtype="Int64"),
        Value("nearest", "their distance", "nats"),
        Value("own", "distance of the two heads in this place; empty where the models' shapes differ", "nats"),
        Value("place_kept", "whether a head keeps its place; empty where the shapes differ", dtype="boolean"),
        Value("count", "segments in the distance; 0 without match", "count"),
    ),
)

MATCH_SUMMARY = Table(
    "match_summary",
    "How far did heads move, and how many kept their place, compared with chance?",
    (
        Key(
            "measure",
            "heads_a, heads_b, matched: how many heads; matched_, across_, within_a_, within_b_, own_distance: "
            "mean distance of matched heads, of all heads of A and B, of two heads of A, of two of B, of two in "
            "the same place; place_kept, layer_kept: heads matched within their place, their layer, and _by_chance "
            "if drawn at random; share_of_rows: compared, where segments are too long for all",
        ),
        Value("value", "the measure"),
    ),
)

CROSS_DISTANCES = Table(
    "cross_distances",
    "How differently does each head of A attend from each head of B?",
    (
        *head_of("a", "A's head, from 1"),
        *head_of("b", "B's head"),
        Value("value", "Jensen-Shannon divergence of their rows, 0 to log 2: mean over tokens, then segments", "nats"),
        Value("count", "segments in the mean", "count"),
    ),
)
