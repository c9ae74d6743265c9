"""Heat maps of heads, layers down and heads across: every such figure is drawn here."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from headatlas.views.figures.style import INK, Picture, points, stacked_panels

Array = NDArray[np.float64]
_CELL_INCHES = 0.36
_LOW_CELL_INCHES = 0.24
_MOST_NUMBERED = 16  # heads per layer; in wider maps the numbers would not fit their cells


def heat_grid(frames: Sequence[pd.DataFrame], columns: int = 1, ax: Axes | None = None) -> tuple[Figure, list[Axes]]:
    """A figure with room for one heat map per frame, in rows of `columns`; or a panel of another, for one map."""
    if ax is not None:
        return stacked_panels(len(frames), 0, 0, ax)
    layers, heads = (max(int(rows[side].max()) for rows in frames) for side in ("layer", "head"))
    cell = _CELL_INCHES if heads <= _MOST_NUMBERED and columns == 1 else _LOW_CELL_INCHES
    lines = len(frames) // columns
    size = (0.6 + columns + cell * heads * columns, (0.8 + _LOW_CELL_INCHES * layers) * lines)
    least = 4.2 if columns == 1 else 7.0
    figure = Picture(figsize=(max(least, size[0]), size[1]), layout="constrained")
    return figure, list(figure.subplots(lines, columns, squeeze=False).ravel())


def by_head(rows: pd.DataFrame, column: str) -> Array:
    """A column as [layers, heads], NaN for heads that do not exist."""
    values = np.full((int(rows["layer"].max()), int(rows["head"].max())), np.nan)
    values[rows["layer"].to_numpy() - 1, rows["head"].to_numpy() - 1] = rows[column].to_numpy()
    return values


def from_zero(values: Array) -> Normalize:
    """Colours from 0 to the largest value."""
    return Normalize(0, float(np.nanmax(values)) or 1.0)


def around_zero(values: Array) -> Normalize:
    """Colours with 0 in the middle, as far on both sides."""
    most = float(np.nanmax(np.abs(values))) or 1.0
    return Normalize(-most, most)


def heat_map(
    axes: Axes,
    values: Array,
    colours: str,
    norm: Normalize,
    title: str,
    *,
    label: str = "",
    bar_for: Sequence[Axes] | None = None,
    numbered: bool = True,
) -> None:
    """One map [layers, heads], each cell with its value if there is room.

    The colour bar with its `label` is beside this map, or beside all maps in `bar_for` (empty: no bar).
    """
    image = axes.imshow(values, cmap=colours, norm=norm, aspect="auto")
    if bar_for is None or bar_for:
        axes.figure.colorbar(image, ax=bar_for or axes, label=label, pad=0.015, aspect=14)
    axes.set_title(title, loc="left")
    axes.set_xlabel("head")
    axes.set_ylabel("layer")
    for axis, count in ((axes.xaxis, values.shape[1]), (axes.yaxis, values.shape[0])):
        axis.set_major_locator(MaxNLocator(min(count, 16), integer=True))
        axis.set_major_formatter(lambda place, _: f"{place + 1:.0f}")
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    if numbered and values.shape[1] <= _MOST_NUMBERED:
        _number(axes, values, image.cmap, norm)


def heat_map_pair(
    pair: Sequence[Axes], maps: Sequence[Array], colours: str, norm: Normalize, titles: Sequence[str], label: str
) -> None:
    """Two maps side by side that share their colours and the bar."""
    for place, (axes, values, title) in enumerate(zip(pair, maps, titles, strict=True)):
        heat_map(axes, values, colours, norm, title, label=label, bar_for=pair if place else (), numbered=False)
    pair[1].set_ylabel("")


def _number(axes: Axes, values: Array, colours: Colormap, norm: Normalize) -> None:
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
        axes.text(head, layer, text, ha="center", va="center", fontsize=0.69 * points(), color="white" if dark else INK)
