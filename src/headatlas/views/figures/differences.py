"""What two atlases differ in: the best heads with intervals side by side, and every head's surface behaviour."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter
from numpy.typing import NDArray

from headatlas.views.figures.style import BLUE, FAINT, INK, VERMILLION, drawable, families_for, styled

SURFACE = (
    ("positions", "offset=-1", "attention to the previous token"),
    ("positions", "offset=1", "attention to the next token"),
    ("token_kinds", "kind=cls", "attention to [CLS]"),
    ("token_kinds", "kind=sep", "attention to [SEP]"),
    ("entropy", "source=all", "entropy"),
)
"""Table, measure and words of what is shown of surface behaviour."""
Array = NDArray[np.float64]
_LONGEST_NAME = 34
_ROW_INCHES = 0.19


@styled
def best_heads_figure(differences: pd.DataFrame, names: tuple[str, str], column: str = "accuracy") -> Figure:
    """The best head's accuracy in both models with intervals, and beside it the difference, one row per relation.

    column: "lead" shows how far the best heads of relations lead the best fixed offset instead.
    """
    rows = _best_rows(differences, column)
    places = np.arange(len(rows), dtype=np.float64)
    figure = Figure(figsize=(6.4, 0.9 + _ROW_INCHES * len(rows)), layout="constrained")
    both, change = figure.subplots(1, 2, sharey=True, width_ratios=(3, 2))
    for end, shift, colour, marker in (("a", -0.17, BLUE, "o"), ("b", 0.17, VERMILLION, "s")):
        label = f"{end.upper()}: {drawable(names['ab'.index(end)], _LONGEST_NAME)}"
        values, low, high = (rows[f"{name}_{end}"].to_numpy() for name in ("value", "low", "high"))
        _dots(both, values, low, high, places + shift, colour, marker, label)
    values, low, high = (rows[name].to_numpy() for name in ("difference", "low", "high"))
    _dots(change, values, low, high, places, INK, "D", "")
    change.axvline(0, color=FAINT, linewidth=0.8, zorder=0)
    both.set_yticks(places, rows["shown"], family=families_for(rows["shown"]))
    both.set_ylim(len(rows) - 0.5, -0.5)
    both.set_xlim(0, 1)
    leads = (rows["column"] == "lead").any()
    both.set_xlabel("lead of the best head over the best fixed offset" if leads else "accuracy of the best head")
    change.set_xlabel("difference, B - A")
    for axes in (both, change):
        axes.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
        axes.grid(axis="y", color=FAINT, alpha=0.25, linewidth=0.4)
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
    figure.legend(loc="outside upper left", ncols=2, handletextpad=0.3, prop={"family": families_for(names)})
    return figure


@styled
def surface_figure(differences: pd.DataFrame, names: tuple[str, str]) -> Figure:
    """A panel for each surface measure: every head's value in A against that in B."""
    heads = differences[differences["scope"] == "head"]
    panels = []
    for table, measure, title in SURFACE:
        rows = heads[(heads["table"] == table) & (heads["measure"] == measure)].dropna(subset="difference")
        if len(rows):
            panels.append((table, title, rows))
    figure = Figure(figsize=(0.9 + 1.9 * len(panels), 2.4), layout="compressed")
    last = max((int(rows["layer_a"].max()) for _, _, rows in panels), default=1)
    colours = colormaps["viridis"].resampled(last)
    points = None
    for axes, (table, title, rows) in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        largest = 1.05 * float(rows[["value_a", "value_b"]].to_numpy().max()) or 1.0
        axes.plot([0, largest], [0, largest], color=FAINT, linewidth=0.7, zorder=0)
        layers = rows["layer_a"].to_numpy(np.float64)
        points = axes.scatter(
            rows["value_a"], rows["value_b"], c=layers, cmap=colours, vmin=0.5, vmax=last + 0.5, s=9, linewidths=0
        )
        axes.set(xlim=(0, largest), ylim=(0, largest), aspect="equal")
        axes.set_title(f"{title} (nats)" if table == "entropy" else title.removeprefix("attention "), loc="left")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(MaxNLocator(4))
            if table != "entropy":
                axis.set_major_formatter(PercentFormatter(1))
    if points is not None:
        bar = figure.colorbar(points, ax=figure.axes, label="layer", shrink=0.7, aspect=20)
        bar.ax.yaxis.set_major_locator(MaxNLocator(12, integer=True))
        bar.ax.tick_params(length=0)
    figure.supxlabel(drawable(names[0], _LONGEST_NAME), fontsize="medium", family=families_for(names))
    figure.supylabel(drawable(names[1], _LONGEST_NAME), fontsize="medium", family=families_for(names))
    return figure


def _best_rows(differences: pd.DataFrame, column: str) -> pd.DataFrame:
    """Relations, then mentions with antecedents chosen among those before them; with leads, which have no such form for
    mentions, relations alone where there are some.
    """
    best = differences[differences["scope"] == "best"]
    relations = best[(best["table"] == "dependency_best") & (best["column"] == column)]
    ending = " candidates=preceding"
    mentions = best[
        (best["table"] == "coreference_best")
        & (best["column"] == "accuracy")
        & best["measure"].str.endswith(ending)
        & (column == "accuracy" or relations.empty)
    ]
    shown = [
        *relations["measure"].str.removeprefix("relation="),
        *("antecedent: " + mentions["measure"].str.removesuffix(ending).str.removeprefix("mention_type=")),
    ]
    rows = pd.concat([relations, mentions])
    return rows.assign(shown=[drawable(name, _LONGEST_NAME) for name in shown])


def _dots(
    axes: Axes, values: Array, low: Array, high: Array, places: Array, colour: str, marker: str, label: str
) -> None:
    """Values as dots, with their intervals where there are any."""
    known = ~np.isnan(low)
    axes.hlines(places[known], low[known], high[known], color=colour, linewidth=1.0)
    axes.plot(values, places, marker, color=colour, markersize=3.2, label=label or None)
