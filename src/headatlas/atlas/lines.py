"""Attention as lines between two columns of the same tokens (figures 1 and 5)."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from numpy.typing import NDArray

from headatlas.atlas.style import FONT_POINTS, INK, VERMILLION, drawable, families_for, styled, width_in_ems
from headatlas.errors import SettingError

Weights = NDArray[np.floating[Any]]

LIGHTEST = 0.01
LONGEST_TOKEN = 16
MAPS_A_ROW = 4

_PITCH_INCHES = 0.15
_LINES_INCHES = 0.95
_LETTER_INCHES = 0.62 * FONT_POINTS / 72
_NARROWEST_INCHES = 2.1
_BOLDER = 1.12
_TALLEST_INCHES = 200.0
_POINTS_A_PITCH = FONT_POINTS / _PITCH_INCHES


def attention_lines(
    axes: Axes,
    tokens: Sequence[str],
    weights: Weights,
    *,
    red: Collection[int] = frozenset(),
    hidden: Collection[int] = frozenset(),
    font_points: float = FONT_POINTS,
) -> LineCollection:
    """Draw lines from the left column (attending) to the right (attended), the darker the more attention.

    `weights` is [n, n], row = from. Tokens in `red` and the lines that leave them are red; those in `hidden` are left
    out with every line from or to them, and the others close up. Lines under 1 % are not drawn.
    """
    weights = np.asarray(weights)
    if weights.shape != (len(tokens), len(tokens)):
        raise SettingError(
            f"{len(tokens)} tokens need a map [{len(tokens)}, {len(tokens)}], not {list(weights.shape)}."
        )
    shown = [index for index in range(len(tokens)) if index not in hidden]
    kept = weights[np.ix_(shown, shown)]
    is_red = np.array([index in red for index in shown], dtype=bool)

    start, end = np.nonzero(kept >= LIGHTEST)
    order = np.lexsort((kept[start, end], is_red[start]))
    start, end = start[order], end[order]
    segments = np.stack([np.stack([np.zeros_like(start), start], 1), np.stack([np.ones_like(end), end], 1)], 1)
    colours = np.empty((len(start), 4))
    colours[:, :3] = np.where(is_red[start][:, None], to_rgb(VERMILLION), to_rgb("black"))
    colours[:, 3] = kept[start, end].clip(0, 1)
    lines = LineCollection(list(segments.astype(float)), colors=colours, linewidths=1.1, capstyle="round")
    axes.add_collection(lines, autolim=False)

    axes.set_xlim(-0.04, 1.04)
    axes.set_ylim(max(1, len(shown)) - 0.5, -0.5)
    axes.set_axis_off()
    texts = [drawable(tokens[index], LONGEST_TOKEN) for index in shown]
    families = families_for(texts)
    for row, text in enumerate(texts):
        for x, side in ((-0.05, "right"), (1.05, "left")):
            axes.text(
                x,
                row,
                text,
                ha=side,
                va="center_baseline",
                fontsize=font_points,
                family=families,
                color=VERMILLION if is_red[row] else INK,
                weight="bold" if is_red[row] else "normal",
                parse_math=False,
            )
    return lines


@styled
def attention_lines_figure(
    tokens: Sequence[str],
    maps: Sequence[tuple[str, Weights]],
    *,
    red: Collection[int] = frozenset(),
    hidden: Collection[int] = frozenset(),
) -> Figure:
    """Several heads side by side over the same tokens, each under its caption, in even rows of at most four."""
    if not maps:
        raise SettingError("A figure of attention lines needs at least one head.")
    rows = math.ceil(len(maps) / MAPS_A_ROW)
    columns = math.ceil(len(maps) / rows)
    shown = [drawable(token, LONGEST_TOKEN) for index, token in enumerate(tokens) if index not in hidden]
    pitch = min(_PITCH_INCHES, _TALLEST_INCHES / (rows * max(1, len(shown))))
    points = _POINTS_A_PITCH * pitch
    column_inches = max([2.0, *map(width_in_ems, shown)]) * points / 72 * (_BOLDER if red else 1)
    panel_inches = max(_NARROWEST_INCHES, _LINES_INCHES + 2 * column_inches + 0.3)
    captions = [_wrapped(caption, panel_inches) for caption, _ in maps]
    caption_inches = (1 + max(caption.count("\n") for caption in captions)) * FONT_POINTS * 1.3 / 72

    figure = Figure(
        figsize=(columns * panel_inches, rows * (max(1, len(shown)) * pitch + caption_inches + 0.25)),
        layout="constrained",
    )
    figure.get_layout_engine().set(w_pad=0.08, h_pad=0.05)  # type: ignore[union-attr, call-arg]
    grid = figure.add_gridspec(rows, columns)
    for place, (caption, (_, weights)) in enumerate(zip(captions, maps, strict=True)):
        axes = figure.add_subplot(grid[place // columns, place % columns])
        attention_lines(axes, tokens, weights, red=red, hidden=hidden, font_points=points)
        axes.set_title(caption, parse_math=False, family=families_for([caption]), pad=5)
    return figure


def _wrapped(caption: str, inches: float) -> str:
    """A caption in lines that fit over its panel."""
    unbroken = drawable(caption, 400).replace(" %", "\N{NO-BREAK SPACE}%")
    return textwrap.fill(unbroken, width=max(12, int(inches / _LETTER_INCHES) - 2))
