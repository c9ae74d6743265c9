"""The table of `headatlas reproduce`."""

from __future__ import annotations

from headatlas.results.schemas.columns import Table

REPRODUCTION: dict[str, Table] = {
    "reproduction": Table(
        "every published number and finding beside ours, with a verdict",
        (
            ("place", "str", "table, figure or section of the paper, or the authors' notebook"),
            ("item", "str", "what the number is of, or what was found"),
            ("unit", "str", "%, nats, heads, words (of an offset), head (layer-head), or finding"),
            ("published", "str", "as printed"),
            ("ours", "str", "as people read it; of a finding, the figures that decide"),
            ("published_value", "float64", "as a number; empty where it is none"),
            ("our_value", "float64", "as a number"),
            ("difference", "float64", "our_value - published_value, in the unit"),
            ("low", "float64", "lower end of our 95 % interval, in the unit; empty where there is none"),
            ("high", "float64", "its upper end"),
            ("verdict", "str", "reproduced, differs, or input missing"),
            ("rule", "str", "when it counts as reproduced"),
            ("missing", "str", "which input is missing"),
        ),
    ),
}
