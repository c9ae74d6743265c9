"""Table of `headatlas reproduce`."""

from __future__ import annotations

from headatlas.tables import Key, Table, Value, interval

REPRODUCTION = Table(
    "reproduction",
    "Is each published number and finding reproduced, different, not decided, or not run?",
    (
        Value("claim", "number of the claim in the list of all claims", "place"),
        Key("place", "table, figure or section of the paper, or the authors' notebook"),
        Key("item", "what the number measures, or the finding"),
        Value(
            "decided_by",
            "model; corpus: the same whatever the model, a check; comparison: the rule names its control itself",
            "text",
        ),
        Value("unit", "%, nats, heads, words (of an offset), head (layer-head), or finding", "text"),
        Value("published", "as printed", "text"),
        Value("ours", "as people read it; of a finding, the figures that decide", "text"),
        Value("published_value", "as a number; empty where it is none"),
        Value("our_value", "as a number"),
        Value("difference", "our_value - published_value, in the unit"),
        *interval("our 95 % interval, in the unit; empty where there is none", "our_value"),
        Value(
            "verdict",
            "reproduced, differs, not decided (random weights do the same, or were not run), or not run",
            "text",
        ),
        Value("fresh", "as ours, of the same network with fresh random weights", "text"),
        Value("shuffled", "as ours, of the same network with shuffled weights", "text"),
        Value("met_by", "which random networks meet the rule too, or come too close to ours", "text"),
        Value("rule", "when it counts as reproduced", "text"),
        Value("missing", "which input is missing, or why nothing is decided", "text"),
    ),
    main="difference",
)
