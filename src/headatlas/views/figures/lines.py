"""Attention as lines between two columns of the same tokens (figures 1 and 5)."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from numpy.typing import NDArray

from headatlas.errors import SettingError
from headatlas.views.figures.style import FONT_POINTS, INK, VERMILLION, drawable, families_for, styled, width_in_ems

Weights = NDArray[np.floating[Any]]

LIGHTEST = 0.01
LONGEST_TOKEN = 16
MAPS_A_ROW = 4

_PITCH_INCHES = 0.15
_LINES_INCHES = 0.95
_LETTER_INCHES = 0.62 * FONT_POINTS / 72
_NARROWEST_INCHES = 2.1
_BOLDER = 1.12
_BESIDE_RED_LINES = "#606060"
_TALLEST_INCHES = 200.0
_POINTS_A_PITCH = FONT_POINTS / _PITCH_INCHES


@dataclass(frozen=True)
class Panel:
    """One head at work: a map [n, n] (row = from) over its n tokens, under a caption.

    `red` tokens are red in both columns, with the lines that leave them; of `red_lines`, pairs (from, to), the line and
    its two ends are. Tokens in `hidden` are left out with every line from or to them.
    """

    caption: str
    tokens: Sequence[str]
    weights: Weights
    red: Collection[int] = frozenset()
    red_lines: Collection[tuple[int, int]] = frozenset()
    hidden: Collection[int] = frozenset()

    def __post_init__(self) -> None:
        size, shape = len(self.tokens), np.shape(self.weights)
        if shape != (size, size):
            raise SettingError(f"{size} tokens need a map [{size}, {size}], not {list(shape)}.")

    @property
    def shown(self) -> list[int]:
        """The tokens that are not hidden."""
        return [index for index in range(len(self.tokens)) if index not in self.hidden]

    @property
    def texts(self) -> list[str]:
        """The tokens that are not hidden, as they can be drawn."""
        return [drawable(self.tokens[index], LONGEST_TOKEN) for index in self.shown]


def attention_lines(axes: Axes, panel: Panel, font_points: float = FONT_POINTS) -> LineCollection:
    """Draw lines from the left column (attending) to the right (attended), the darker the more attention.

    Tokens that are not hidden close up. Lines under 1 % are not drawn.
    """
    weights, shown, texts = np.asarray(panel.weights), panel.shown, panel.texts
    is_red = np.zeros(weights.shape, dtype=bool)
    is_red[list(panel.red)] = True
    for start, end in panel.red_lines:
        is_red[start, end] = True
    kept = np.ix_(shown, shown)
    lines = _lines(weights[kept], is_red[kept], _BESIDE_RED_LINES if panel.red_lines else "black")
    axes.add_collection(lines, autolim=False)
    axes.set_xlim(-0.04, 1.04)
    axes.set_ylim(max(1, len(shown)) - 0.5, -0.5)
    axes.set_axis_off()
    sides = (
        (-0.05, "right", {*panel.red, *(start for start, _ in panel.red_lines)}),
        (1.05, "left", {*panel.red, *(end for _, end in panel.red_lines)}),
    )
    families = families_for(texts)
    for row, (index, text) in enumerate(zip(shown, texts, strict=True)):
        for x, side, chosen in sides:
            axes.text(
                x,
                row,
                text,
                ha=side,
                va="center_baseline",
                fontsize=font_points,
                family=families,
                color=VERMILLION if index in chosen else INK,
                weight="bold" if index in chosen else "normal",
                parse_math=False,
            )
    return lines


def _lines(weights: Weights, is_red: NDArray[np.bool_], usual: str) -> LineCollection:
    """A line for each weight of at least 1 %, the darker the larger; red and dark ones lie on top."""
    start, end = np.nonzero(weights >= LIGHTEST)
    order = np.lexsort((weights[start, end], is_red[start, end]))
    start, end = start[order], end[order]
    segments = np.stack([np.stack([np.zeros_like(start), start], 1), np.stack([np.ones_like(end), end], 1)], 1)
    colours = np.empty((len(start), 4))
    colours[:, :3] = np.where(is_red[start, end][:, None], to_rgb(VERMILLION), to_rgb(usual))
    colours[:, 3] = weights[start, end].clip(0, 1)
    return LineCollection(list(segments.astype(float)), colors=colours, linewidths=1.1, capstyle="round")


def attention_lines_figure(
    tokens: Sequence[str],
    maps: Sequence[tuple[str, Weights]],
    *,
    red: Collection[int] = frozenset(),
    hidden: Collection[int] = frozenset(),
) -> Figure:
    """Several heads side by side over the same tokens, each under its caption (figure 1)."""
    return panels_figure([Panel(caption, tokens, weights, red, hidden=hidden) for caption, weights in maps])


@styled
def panels_figure(panels: Sequence[Panel]) -> Figure:
    """Heads side by side, each over tokens of its own, in even rows of at most four; a row is as high as it needs."""
    if not panels:
        raise SettingError("A figure of attention lines needs at least one head.")
    rows = math.ceil(len(panels) / MAPS_A_ROW)
    columns = math.ceil(len(panels) / rows)
    in_rows = [panels[first : first + columns] for first in range(0, len(panels), columns)]
    lengths = [max(1, *(len(panel.shown) for panel in row)) for row in in_rows]
    pitch = min(_PITCH_INCHES, _TALLEST_INCHES / sum(lengths))
    points = _POINTS_A_PITCH * pitch
    bolder = _BOLDER if any(panel.red or panel.red_lines for panel in panels) else 1
    widest = max([2.0, *(width_in_ems(text) for panel in panels for text in panel.texts)])
    panel_inches = max(_NARROWEST_INCHES, _LINES_INCHES + 2 * widest * points / 72 * bolder + 0.3)
    captions = [[_wrapped(panel.caption, panel_inches) for panel in row] for row in in_rows]
    heights = [
        length * pitch + (1 + max(caption.count("\n") for caption in row)) * FONT_POINTS * 1.3 / 72 + 0.25
        for length, row in zip(lengths, captions, strict=True)
    ]
    figure = Figure(figsize=(columns * panel_inches, sum(heights)), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.08, h_pad=0.05)  # type: ignore[union-attr, call-arg]
    grid = figure.add_gridspec(rows, columns, height_ratios=lengths)
    for r, row in enumerate(in_rows):
        for c, panel in enumerate(row):
            axes = figure.add_subplot(grid[r, c])
            attention_lines(axes, panel, points)
            axes.set_ylim(lengths[r] - 0.5, -0.5)
            axes.set_title(captions[r][c], parse_math=False, family=families_for([captions[r][c]]), pad=5)
    return figure


def _wrapped(caption: str, inches: float) -> str:
    """A caption in lines that fit over its panel."""
    unbroken = drawable(caption, 400).replace(" %", "\N{NO-BREAK SPACE}%")
    return textwrap.fill(unbroken, width=max(12, int(inches / _LETTER_INCHES) - 2))
