"""Heads by layer and number as heat maps: the parts that several figures share."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from headatlas.views.figures.style import INK

_CELL_INCHES = 0.36
_LOW_CELL_INCHES = 0.24
_MOST_NUMBERED = 16  # heads a layer; in wider maps the numbers would not fit their cells


def heat_grid(frames: list[pd.DataFrame]) -> tuple[Figure, list[Axes]]:
    """A heat map under the other, each as large as its heads need."""
    layers, heads = (max(int(rows[side].max()) for rows in frames) for side in ("layer", "head"))
    cell = _CELL_INCHES if heads <= _MOST_NUMBERED else _LOW_CELL_INCHES
    size = (1.6 + cell * heads, (0.8 + _LOW_CELL_INCHES * layers) * len(frames))
    figure = Figure(figsize=(max(4.2, size[0]), size[1]), layout="constrained")
    return figure, list(figure.subplots(len(frames), 1, squeeze=False)[:, 0])


def by_head(rows: pd.DataFrame, column: str) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """A column as [layers, heads], NaN where there is no such head."""
    values = np.full((int(rows["layer"].max()), int(rows["head"].max())), np.nan)
    values[rows["layer"].to_numpy() - 1, rows["head"].to_numpy() - 1] = rows[column].to_numpy()
    return values


def heat_map(
    axes: Axes, values: np.ndarray[tuple[int, ...], np.dtype[np.float64]], colours: str, norm: Normalize, title: str
) -> None:
    """One map [layers, heads], each cell with its value where there is room."""
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
