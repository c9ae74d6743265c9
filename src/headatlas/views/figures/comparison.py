"""Figures of a comparison: matched heads, best heads with intervals side by side, and surface behaviour."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter
from numpy.typing import NDArray

from headatlas.results.atlas import Comparison
from headatlas.views.figures.heat_maps import by_head, from_zero, heat_grid, heat_map
from headatlas.views.figures.style import BLUE, FAINT, INK, VERMILLION, Picture, drawable, single_panel, styled
from headatlas.views.words.comparison import SIGNIFICANT, SURFACE, significant

Array = NDArray[np.float64]
DIVERGENCE = "Jensen-Shannon divergence (nats)"
_LONGEST_NAME = 34
_ROW_INCHES = 0.19


def comparison_figures(comparison: Comparison, **looks: Any) -> Iterator[tuple[str, Figure]]:
    """Draw every figure that the comparison has data for, with the stem of its file. looks: as figures take them."""
    tables = comparison.tables
    if "head_matches" in tables:
        if tables["head_matches"]["own"].notna().any():
            yield "heads_moved", heads_moved_figure(comparison, **looks)
        yield "head_matches", head_matches_figure(comparison, **looks)
    differences = tables["differences"]
    if (differences["scope"] == "best").any():
        yield "best_heads", best_heads_figure(comparison, **looks)
    if ((differences["scope"] == "head") & differences["table"].isin([table for table, _, _ in SURFACE])).any():
        yield "surface", surface_figure(comparison, **looks)


@styled
def heads_moved_figure(head_matches: pd.DataFrame, names: tuple[str, str], ax: Axes | None = None) -> Figure:
    """Layers by heads: the distance of the two heads in each place."""
    rows = head_matches.dropna(subset=["layer_a", "own"]).astype({"layer_a": int, "head_a": int})
    rows = rows.rename(columns={"layer_a": "layer", "head_a": "head"})
    figure, (axes,) = heat_grid([rows], ax=ax)
    values = by_head(rows, "own")
    title = f"{' against '.join(drawable(name, _LONGEST_NAME) for name in names)}, head by head"
    heat_map(axes, values, "viridis", from_zero(values), title, label=DIVERGENCE)
    return figure


@styled
def head_matches_figure(
    cross_distances: pd.DataFrame, head_matches: pd.DataFrame, names: tuple[str, str], ax: Axes | None = None
) -> Figure:
    """All distances of heads of A (down) and of B (across), in the order of layers, with the matched pairs marked."""
    wide = cross_distances.pivot(index=["layer_a", "head_a"], columns=["layer_b", "head_b"], values="value")
    places_a, places_b = ({place: number for number, place in enumerate(axis)} for axis in (wide.index, wide.columns))
    height = float(np.clip(4.2 * len(places_a) / len(places_b), 2.4, 7.5))
    figure, axes = single_panel(5.2, height + 0.5, ax)
    image = axes.imshow(wide.to_numpy(), cmap="viridis", vmin=0, aspect="auto", interpolation="nearest")
    matched = head_matches.dropna(subset=["layer_a", "layer_b"])
    across = [places_b[place] for place in zip(matched["layer_b"], matched["head_b"], strict=True)]
    down = [places_a[place] for place in zip(matched["layer_a"], matched["head_a"], strict=True)]
    size = float(np.clip(1500 / max(len(places_a), len(places_b)), 4, 20))
    axes.scatter(
        across, down, s=size, facecolors="none", edgecolors=VERMILLION, linewidths=0.9, label="matched", clip_on=False
    )
    for index, line, ticks in (
        (wide.index, axes.axhline, axes.set_yticks),
        (wide.columns, axes.axvline, axes.set_xticks),
    ):
        layers = index.get_level_values(0).tolist()
        firsts = [number for number, layer in enumerate(layers) if number == 0 or layers[number - 1] != layer]
        for first in firsts[1:]:
            line(first - 0.5, color="white", linewidth=0.5)
        ends = [*firsts[1:], len(layers)]
        middles = [(first + end - 1) / 2 for first, end in zip(firsts, ends, strict=True)]
        step = -(-len(firsts) // 16)
        ticks(middles[::step], [str(layers[first]) for first in firsts[::step]])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_ylabel(f"layer of {drawable(names[0], _LONGEST_NAME)}")
    axes.set_xlabel(f"layer of {drawable(names[1], _LONGEST_NAME)}")
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.2, handletextpad=0.2)
    figure.colorbar(image, ax=axes, label=DIVERGENCE, shrink=0.8, aspect=28)
    return figure


@styled
def best_heads_figure(differences: pd.DataFrame, names: tuple[str, str], column: str = "accuracy") -> Figure:
    """The best head's accuracy in both models with intervals, and beside it the difference, one row per relation.

    column: "lead" shows how far the best heads of relations lead the best fixed offset instead.
    """
    rows = _best_rows(differences, column)
    places = np.arange(len(rows), dtype=np.float64)
    figure = Picture(figsize=(6.4, 0.9 + _ROW_INCHES * len(rows)), layout="constrained")
    both, change = figure.subplots(1, 2, sharey=True, width_ratios=(3, 2))
    for end, shift, colour, marker in (("a", -0.17, BLUE, "o"), ("b", 0.17, VERMILLION, "s")):
        label = f"{end.upper()}: {drawable(names['ab'.index(end)], _LONGEST_NAME)}"
        values, low, high = (rows[f"{name}_{end}"].to_numpy() for name in ("value", "low", "high"))
        _dots(both, values, low, high, places + shift, colour, marker, label)
    clear = rows.index.isin(significant(rows).index)
    for chosen, face in ((clear, INK), (~clear, "white")):
        values, low, high = (rows.loc[chosen, name].to_numpy() for name in ("difference", "low", "high"))
        _dots(change, values, low, high, places[chosen], INK, "D", "", face)
    change.axvline(0, color=FAINT, linewidth=0.8, zorder=0)
    both.set_yticks(places, rows["shown"])
    both.set_ylim(len(rows) - 0.5, -0.5)
    both.set_xlim(0, 1)
    leads = (rows["column"] == "lead").any()
    both.set_xlabel("lead of the best head over the best fixed offset" if leads else "accuracy of the best head")
    change.set_xlabel(f"difference, B - A\n(filled: corrected p < {SIGNIFICANT})")
    for axes in (both, change):
        axes.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
        axes.grid(axis="y", color=FAINT, alpha=0.25, linewidth=0.4)
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
    figure.legend(loc="outside upper left", ncols=2, handletextpad=0.3)
    return figure


@styled
def surface_figure(differences: pd.DataFrame, names: tuple[str, str]) -> Figure:
    """A panel for each surface measure: every head's value in A against that in B, hollow where it may be chance."""
    heads = differences[differences["scope"] == "head"]
    panels = []
    for table, measure, title in SURFACE:
        rows = heads[(heads["table"] == table) & (heads["measure"] == measure)].dropna(subset="difference")
        if len(rows):
            panels.append((table, title, rows))
    figure = Picture(figsize=(0.9 + 1.9 * len(panels), 2.4), layout="compressed")
    last = max((int(rows["layer_a"].max()) for _, _, rows in panels), default=1)
    colours = colormaps["viridis"].resampled(last)
    for axes, (table, title, rows) in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        largest = 1.05 * float(rows[["value_a", "value_b"]].to_numpy().max()) or 1.0
        axes.plot([0, largest], [0, largest], color=FAINT, linewidth=0.7, zorder=0)
        clear = rows.index.isin(significant(rows).index)
        shades = colours((rows["layer_a"].to_numpy(np.float64) - 0.5) / last)
        axes.scatter(rows["value_a"], rows["value_b"], s=9, linewidths=0.6, edgecolors=shades, facecolors="none")
        axes.scatter(rows.loc[clear, "value_a"], rows.loc[clear, "value_b"], s=9, linewidths=0, c=shades[clear])
        axes.set(xlim=(0, largest), ylim=(0, largest), aspect="equal")
        axes.set_title(f"{title} (nats)" if table == "entropy" else title.removeprefix("attention "), loc="left")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(MaxNLocator(4))
            if table != "entropy":
                axis.set_major_formatter(PercentFormatter(1))
    if panels:
        scale = ScalarMappable(Normalize(0.5, last + 0.5), colours)
        bar = figure.colorbar(scale, ax=figure.axes, label="layer", shrink=0.7, aspect=20)
        bar.ax.yaxis.set_major_locator(MaxNLocator(12, integer=True))
        bar.ax.tick_params(length=0)
    filled = f"(filled: the difference is significant, corrected p < {SIGNIFICANT})"
    name = drawable(names[0], _LONGEST_NAME)
    figure.supxlabel(f"{name}\n{filled}", fontsize="medium")
    figure.supylabel(drawable(names[1], _LONGEST_NAME), fontsize="medium")
    return figure


def _best_rows(differences: pd.DataFrame, column: str) -> pd.DataFrame:
    """Relations, then mentions whose antecedent is chosen among preceding ones; mentions have no leads, so with leads
    only relations are shown, if there are any.
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
    axes: Axes,
    values: Array,
    low: Array,
    high: Array,
    places: Array,
    colour: str,
    marker: str,
    label: str,
    face: str | None = None,
) -> None:
    """Values as dots, with their intervals if known. face: the colour of the dots' inside, if it is another."""
    known = ~np.isnan(low)
    axes.hlines(places[known], low[known], high[known], color=colour, linewidth=1.0, zorder=1)
    axes.plot(values, places, marker, color=colour, markerfacecolor=face or colour, markersize=3.2, label=label or None)
