"""Heads by layer and number as heat maps: what the score loses without each, and how important each is.

And the causal test: a relation a line, the head found for it beside other heads of its layer.
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, Normalize, TwoSlopeNorm
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from headatlas.atlas.style import BLUE, FAINT, INK, drawable, styled

SIGNIFICANT = 0.01

_CELL_INCHES = 0.36
_LOW_CELL_INCHES = 0.24
_MOST_NUMBERED = 16  # heads a layer; in wider maps the numbers would not fit their cells
_LONGEST_RELATION = 24


@styled
def ablation_figure(ablation: pd.DataFrame) -> Figure:
    """The change of each task's first measure without each head; framed where p < 0.01, all heads counted."""
    first = ablation.groupby("task", sort=False)["measure"].first()
    frames = [rows[rows["measure"] == first[str(task)]] for task, rows in ablation.groupby("task", sort=False)]
    figure, all_axes = _grid(frames)
    for axes, rows in zip(all_axes, frames, strict=True):
        values, p_values = _by_head(rows, "change"), _by_head(rows, "p_value")
        most = float(np.nanmax(np.abs(values))) or 1.0
        title = f"{rows['task'].iloc[0]}: change of {_words(rows['measure'].iloc[0])} without the head"
        _heat_map(axes, values, "RdBu", TwoSlopeNorm(0, -most, most), f"{title} (framed: p < {SIGNIFICANT:g})")
        for layer, head in zip(*np.nonzero(p_values < SIGNIFICANT), strict=True):
            axes.add_patch(Rectangle((head - 0.46, layer - 0.46), 0.92, 0.92, fill=False, edgecolor=INK, linewidth=1.1))
    return figure


@styled
def importance_figure(importance: pd.DataFrame) -> Figure:
    """Each head's importance, the mean absolute gradient of the loss to its gate."""
    frames = [rows for _, rows in importance.groupby("task", sort=False)]
    figure, all_axes = _grid(frames)
    for axes, rows in zip(all_axes, frames, strict=True):
        values = _by_head(rows, "value")
        top = float(np.nanmax(values)) or 1.0
        _heat_map(axes, values, "Blues", Normalize(0, top), f"{rows['task'].iloc[0]}: importance, mean |∂L/∂gate|")
    return figure


@styled
def causal_figure(causal: pd.DataFrame) -> Figure:
    """By how much more the loss rises in each relation than outside it: without its head, and without others.

    The line is the 95 % interval of the distance between the two.
    """
    rows = causal.sort_values("lead", kind="stable").reset_index(drop=True)
    places = np.arange(len(rows))
    figure = Figure(figsize=(5.6, 1.0 + 0.2 * len(rows)), layout="constrained")
    axes = figure.subplots()
    axes.axvline(0, color=FAINT, linewidth=0.7)
    control = rows["control_effect"].to_numpy()
    axes.hlines(places, control + rows["low"], control + rows["high"], color=BLUE, linewidth=1.0, alpha=0.6)
    axes.scatter(control, places, s=14, marker="D", color=FAINT, label="other heads of its layer")
    needed = (rows["p_holm"] < SIGNIFICANT).to_numpy()
    for chosen, face, label in (
        (needed, BLUE, f"the head found for it, p < {SIGNIFICANT:g}"),
        (~needed, "white", "the head found for it, not significant"),
    ):
        if chosen.any():
            axes.scatter(rows["effect"][chosen], places[chosen], s=22, facecolor=face, edgecolor=BLUE, label=label)
    names = [
        f"{drawable(str(row['relation']), _LONGEST_RELATION)}  {row['layer']}-{row['head']}"
        for row in rows.to_dict("records")
    ]
    axes.set_yticks(places, names)
    axes.set_ylim(-0.7, len(rows) - 0.3)
    axes.set_xlabel("rise of the loss in the relation less that on matched words (nats)")
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=1, borderaxespad=0.3)
    return figure


def _grid(frames: list[pd.DataFrame]) -> tuple[Figure, list[Axes]]:
    """A heat map under the other, each as large as its heads need."""
    layers, heads = (max(int(rows[side].max()) for rows in frames) for side in ("layer", "head"))
    cell = _CELL_INCHES if heads <= _MOST_NUMBERED else _LOW_CELL_INCHES
    size = (1.6 + cell * heads, (0.8 + _LOW_CELL_INCHES * layers) * len(frames))
    figure = Figure(figsize=(max(4.2, size[0]), size[1]), layout="constrained")
    return figure, list(figure.subplots(len(frames), 1, squeeze=False)[:, 0])


def _by_head(rows: pd.DataFrame, column: str) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """A column as [layers, heads], NaN where there is no such head."""
    values = np.full((int(rows["layer"].max()), int(rows["head"].max())), np.nan)
    values[rows["layer"].to_numpy() - 1, rows["head"].to_numpy() - 1] = rows[column].to_numpy()
    return values


def _heat_map(
    axes: Axes, values: np.ndarray[tuple[int, ...], np.dtype[np.float64]], colours: str, norm: Normalize, title: str
) -> None:
    image = axes.imshow(values, cmap=colours, norm=norm, aspect="auto")
    axes.figure.colorbar(image, ax=axes, pad=0.015, aspect=14)
    axes.set_title(title, loc="left")
    axes.set_xlabel("head")
    axes.set_ylabel("layer")
    for axis, count in ((axes.xaxis, values.shape[1]), (axes.yaxis, values.shape[0])):
        axis.set_major_locator(MaxNLocator(min(count, 16), integer=True))
        axis.set_major_formatter(lambda place, _: f"{place + 1:.0f}")
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    if values.shape[1] <= _MOST_NUMBERED:
        _number(axes, values, image.cmap, norm)


def _number(
    axes: Axes, values: np.ndarray[tuple[int, ...], np.dtype[np.float64]], colours: Colormap, norm: Normalize
) -> None:
    """Each cell's value with two or three digits, dark on light and light on dark."""
    largest = float(np.nanmax(np.abs(values))) or 1.0
    decimals = max(0, 1 - math.floor(math.log10(largest)))
    for (layer, head), value in np.ndenumerate(values):
        if math.isnan(value):
            continue
        red, green, blue, _ = colours(norm(value))
        dark = 0.3 * red + 0.59 * green + 0.11 * blue < 0.5
        rounded = f"{value:.{decimals}f}".replace("-0.", "-.").removeprefix("0")
        text = rounded if rounded.strip("-.0") else "0"
        axes.text(head, layer, text, ha="center", va="center", fontsize=5.5, color="white" if dark else INK)


def _words(measure: str) -> str:
    return measure.replace("_", " ").replace("chrf", "chrF").replace("bleu", "BLEU")
