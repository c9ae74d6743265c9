"""Heads of two models matched by how they attend: how far each moved, and which head is which."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from headatlas.views.figures.style import VERMILLION, drawable, families_for, styled

_LONGEST_NAME = 40
_MOST_NUMBERS = 400  # heads, up to which each cell of the grid can say its number


@styled
def heads_moved_figure(head_matches: pd.DataFrame, names: tuple[str, str]) -> Figure:
    """Layers by heads: the distance of the two heads in each place."""
    rows = head_matches.dropna(subset=["layer_a", "own"])
    layers, heads = int(rows["layer_a"].max()), int(rows["head_a"].max())
    grid = np.full((layers, heads), np.nan)
    grid[rows["layer_a"].astype(int) - 1, rows["head_a"].astype(int) - 1] = rows["own"]
    figure = Figure(figsize=(1.6 + 0.36 * heads, 1.0 + 0.3 * layers), layout="constrained")
    axes = figure.subplots()
    image = axes.imshow(grid, cmap="viridis", vmin=0, aspect="auto", extent=(0.5, heads + 0.5, layers + 0.5, 0.5))
    if grid.size <= _MOST_NUMBERS:
        middle = float(np.nanmax(grid)) * 0.6
        for (layer, head), value in np.ndenumerate(grid):
            if not np.isnan(value):
                colour = "white" if value < middle else "black"
                number = f"{value:.2f}".removeprefix("0")
                axes.text(head + 1, layer + 1, number, ha="center", va="center", color=colour, fontsize=5.5)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(24, integer=True))
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_xlabel("head")
    axes.set_ylabel("layer")
    _title(axes, f"{_short(names[0])} against {_short(names[1])}, head by head", names)
    figure.colorbar(image, ax=axes, label="Jensen-Shannon divergence (nats)", aspect=20)
    return figure


@styled
def head_matches_figure(cross_distances: pd.DataFrame, head_matches: pd.DataFrame, names: tuple[str, str]) -> Figure:
    """All distances of heads of A (down) and of B (across), in the order of layers, with the matched pairs marked."""
    wide = cross_distances.pivot(index=["layer_a", "head_a"], columns=["layer_b", "head_b"], values="value")
    places_a, places_b = ({place: number for number, place in enumerate(axis)} for axis in (wide.index, wide.columns))
    height = float(np.clip(4.2 * len(places_a) / len(places_b), 2.4, 7.5))
    figure = Figure(figsize=(5.2, height + 0.5), layout="constrained")
    axes = figure.subplots()
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
    families = families_for(names)
    axes.set_ylabel(f"layer of {_short(names[0])}", family=families)
    axes.set_xlabel(f"layer of {_short(names[1])}", family=families)
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.2, handletextpad=0.2)
    figure.colorbar(image, ax=axes, label="Jensen-Shannon divergence (nats)", shrink=0.8, aspect=28)
    return figure


def _short(name: str) -> str:
    return drawable(name, _LONGEST_NAME)


def _title(axes: Axes, text: str, names: tuple[str, str]) -> None:
    axes.set_title(text, loc="left", family=families_for(names))
