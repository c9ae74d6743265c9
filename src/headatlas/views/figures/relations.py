"""Heads that follow a dependency relation, each on a sentence with the relation's own lines in red (figure 5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from headatlas.errors import SettingError
from headatlas.results.relation_examples import RelationExample
from headatlas.views.figures.lines import Panel, attention_lines, panels_figure
from headatlas.views.figures.style import FONT_POINTS

MOST_SHOWN = 8
VISIBLE = 0.15  # of the attention on each true pair

_WHO = {
    "dependent_to_head": "{relation} dependents attend to their heads",
    "head_to_dependent": "heads attend to their {relation} dependents",
}


def clearest(examples: Sequence[RelationExample], tables: Mapping[str, pd.DataFrame]) -> list[RelationExample]:
    """One example of each of the relations whose best head leads its baseline most, as many as a page shows.

    Relations whose lines would hardly be seen are passed over.
    """
    if not examples:
        return []
    best = tables["dependency_best"].set_index("relation")
    lead = best["accuracy"] - best["baseline"]
    first = {example.relation: example for example in reversed(examples) if _faintest(example) >= VISIBLE}
    return sorted(first.values(), key=lambda example: -lead[example.relation])[:MOST_SHOWN]


def _faintest(example: RelationExample) -> float:
    """The least weight on one of its pairs."""
    turned = example.direction == "head_to_dependent"
    return min(float(example.weights[(head, word) if turned else (word, head)]) for word, head in example.pairs)


def relations_figure(examples: Sequence[RelationExample]) -> Figure:
    """Figure 5: the examples side by side, in even rows of at most four."""
    return panels_figure([relation_panel(example) for example in examples])


def draw_relation(axes: Axes, example: RelationExample, font_points: float = FONT_POINTS) -> LineCollection:
    """One example in axes of your own, without its caption."""
    return attention_lines(axes, relation_panel(example), font_points)


def relation_panel(example: RelationExample) -> Panel:
    """The lines to draw for an example, under a caption that says who attends to whom."""
    if example.direction not in _WHO:
        raise SettingError(f"Direction {example.direction!r} is unknown. Use one of: {', '.join(_WHO)}.")
    share = "" if example.accuracy is None else f" ({100 * example.accuracy:.1f} %)"
    caption = f"Head {example.layer}-{example.head}: {_WHO[example.direction].format(relation=example.relation)}"
    turned = example.direction == "head_to_dependent"
    lines = frozenset((head, dependent) if turned else (dependent, head) for dependent, head in example.pairs)
    return Panel(caption + share, example.words, example.weights, red_lines=lines)
