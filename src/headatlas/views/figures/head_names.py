"""Names beside the points of heads, where they fit without covering a point or another name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import NDArray

from headatlas.views.figures.fonts import width_in_ems
from headatlas.views.figures.style import figure_of, ink, points

_SHARE = 0.7  # of the size of type
_AWAY = 3.5  # points from the centre of a head
_SIDES = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1))  # in order of preference
_ANCHORS = {1: "left", 0: "center", -1: "right"}, {1: "bottom", 0: "center", -1: "top"}


def name_heads(axes: Axes, heads: pd.DataFrame, wanted: Sequence[int]) -> int:
    """Write layer-head beside heads that have room for it; return how many have none.

    heads: layer, head and place (x, y) of all heads that are drawn. wanted: rows of those to name, in order.
    """
    if not wanted:
        return 0
    figure_of(axes).draw_without_rendering()  # so that the axes have their final size
    to_points = 72 / figure_of(axes).dpi
    places: NDArray[Any] = axes.transData.transform(heads[["x", "y"]].to_numpy(float)) * to_points
    size = _SHARE * points()
    frame = axes.get_window_extent()
    edges = frame.x0 * to_points, frame.y0 * to_points, frame.x1 * to_points, frame.y1 * to_points
    taken = [_box(place, 0, 0, 4.0, 4.0) for place in places]
    left = 0
    for row in wanted:
        name = f"{heads['layer'].iloc[row]}-{heads['head'].iloc[row]}"
        width = width_in_ems(name) * size
        for x, y in _SIDES:
            box = _box(places[row], x, y, width, size)
            others = (other for number, other in enumerate(taken) if number != row)
            if _within(box, edges) and not any(_overlap(box, other) for other in others):
                taken.append(box)
                _write(axes, heads.iloc[row], name, x, y, size)
                break
        else:
            left += 1
    return left


def _box(place: NDArray[Any], x: int, y: int, width: float, height: float) -> tuple[float, float, float, float]:
    """Left, bottom, right and top of a text on one side of a place, in points."""
    centre_x = place[0] + x * (_AWAY + width / 2)
    centre_y = place[1] + y * (_AWAY + height / 2)
    return centre_x - width / 2, centre_y - height / 2, centre_x + width / 2, centre_y + height / 2


def _within(box: tuple[float, ...], edges: tuple[float, ...]) -> bool:
    return box[0] >= edges[0] and box[1] >= edges[1] and box[2] <= edges[2] and box[3] <= edges[3]


def _overlap(a: tuple[float, ...], b: tuple[float, ...]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _write(axes: Axes, head: pd.Series[Any], name: str, x: int, y: int, size: float) -> None:
    across, up = _ANCHORS
    axes.annotate(
        name,
        (head["x"], head["y"]),
        xytext=(x * _AWAY, y * _AWAY),
        textcoords="offset points",
        ha=across[x],
        va=up[y],
        fontsize=size,
        color=ink(),
    )
