"""Which heads are similar: their map in two colourings (figure 6), the tree of their clusters, and all distances."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import Bbox
from numpy.typing import NDArray
from scipy.cluster.hierarchy import dendrogram

from headatlas.results.tables import distance_matrix
from headatlas.statistics.clusters import order_of, tree_of
from headatlas.views.figures.fonts import width_in_ems
from headatlas.views.figures.style import (
    FAINT,
    INK,
    LOOKS,
    Picture,
    drawable,
    figure_of,
    ink,
    points,
    say,
    single_panel,
    styled,
)
from headatlas.wording import counted

_UNPLACED = 0  # the cluster of heads that have no place
_PANEL_INCHES = 3.4
_TALLEST_INCHES = 14.0
_MOST_LEAVES = 400  # heads, up to which a tree has a line for each
_BRANCHES = 100  # of the tree of more heads: each leaf stands for as many heads as are beside it
_MOST_ROWS = 1024  # of the picture of all distances, which has no more dots; of more heads, neighbours are averaged
_LONGEST_LABEL = 28


@styled
def head_map_figure(
    head_map: pd.DataFrame, roles: Mapping[tuple[int, int], str] | None = None, ax: Axes | None = None
) -> Figure:
    """Figure 6: the heads in the plane, coloured by layer, and beside it by the roles of (layer, head), if given.

    Heads that have a role are named, as far as their names fit. With `ax`, only the last of the two is drawn.
    """
    placed = head_map[head_map["x"].notna()]
    if ax is not None:
        if roles is None:
            _by_layer(ax, placed, len(head_map) - len(placed))
        else:
            _by_label(ax, placed, roles)
        return figure_of(ax)
    panels = 1 if roles is None else 2
    figure = Picture(figsize=(0.7 + panels * _PANEL_INCHES, _PANEL_INCHES + 0.35), layout="constrained")
    left, *right = figure.subplots(1, panels, squeeze=False)[0]
    _by_layer(left, placed, len(head_map) - len(placed))
    for axes in right:
        _by_label(axes, placed, roles or {})
    return figure


@styled
def head_tree_figure(head_distances: pd.DataFrame, head_map: pd.DataFrame, ax: Axes | None = None) -> Figure:
    """The tree of clusters, nearest heads first, in the colours of the map's clusters; joints between them are grey.

    Of a large model it shows only the uppermost branches, each with the number of its heads.
    """
    names, distances, clusters = _placed(head_distances, head_map)
    if len(names) < 2:
        return _nothing(ax)
    whole = len(names) <= _MOST_LEAVES
    tree = tree_of(np.sqrt(distances), ordered=whole)
    looks, of_node = _cluster_colours(clusters), _clusters_of_nodes(tree, clusters)
    shape: dict[str, Any] = {} if whole else {"truncate_mode": "lastp", "p": _BRANCHES}
    drawn = dendrogram(tree, no_plot=True, link_color_func=lambda node: looks[of_node[node]], **shape)
    leaves = [
        names[leaf] if leaf < len(names) else f"{tree[leaf - len(names), 3]:.0f} heads" for leaf in drawn["leaves"]
    ]
    inches = min(_TALLEST_INCHES, 0.5 + 0.1 * len(leaves))
    figure, axes = single_panel(4.6, max(1.6, inches), ax)
    lines = [list(zip(x, y, strict=True)) for x, y in zip(drawn["dcoord"], drawn["icoord"], strict=True)]
    axes.add_collection(LineCollection(lines, colors=drawn["color_list"], linewidths=0.8))
    axes.set_xlim(0, 1.04 * float(tree[:, 2].max() or 1))
    axes.set_ylim(10 * len(leaves), 0)
    axes.set_xlabel(
        "mean distance √JS where joined" + ("" if whole else f"; {len(names):,} heads in {len(leaves)} branches")
    )
    axes.spines["left"].set_visible(False)
    letter = min(7.0, 0.85 * 72 * (inches - 0.5) / len(leaves))  # points of type that fit beside each leaf
    axes.set_yticks(5 + 10 * np.arange(len(leaves)), leaves, fontsize=letter)
    axes.tick_params(axis="y", length=0, pad=2)
    for text, leaf in zip(axes.get_yticklabels(), drawn["leaves"], strict=True):
        text.set_color(looks[of_node[leaf]])
    return figure


@styled
def head_distances_figure(head_distances: pd.DataFrame, head_map: pd.DataFrame, ax: Axes | None = None) -> Figure:
    """All distances, similar heads side by side, with lines between the clusters and their numbers at the side."""
    names, distances, clusters = _placed(head_distances, head_map)
    if len(names) < 2:
        return _nothing(ax)
    order = order_of(tree_of(np.sqrt(distances), ordered=len(names) <= _MOST_LEAVES))
    figure, axes = single_panel(4.9, 4.2, ax)
    extent = (-0.5, len(order) - 0.5, len(order) - 0.5, -0.5)
    shown = _averaged(distances[np.ix_(order, order)])
    image = axes.imshow(shown, cmap="viridis", interpolation="nearest", vmin=0, extent=extent)
    edges = [0, *(np.flatnonzero(np.diff(clusters[order])) + 1), len(order)]
    for edge in edges[1:-1]:
        axes.axhline(edge - 0.5, color="white", linewidth=0.8)
        axes.axvline(edge - 0.5, color="white", linewidth=0.8)
    wide = [(start, end) for start, end in pairwise(edges) if end - start >= len(order) / 30]
    axes.set_yticks([(start + end - 1) / 2 for start, end in wide], [str(clusters[order[start]]) for start, _ in wide])
    axes.set_xticks([])
    axes.tick_params(axis="y", length=0)
    axes.set_ylabel("cluster")
    axes.set_xlabel(f"{len(order):,} heads")
    axes.spines[:].set_visible(False)
    how = ", summed over tokens" if np.nanmax(distances) > np.log(2) else ""
    figure.colorbar(image, ax=axes, label=f"Jensen-Shannon divergence{how} (nats)", shrink=0.8, aspect=28)
    return figure


def _averaged(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Distances in the order that is shown, means of neighbouring rows and columns where there are too many to show."""
    step = -(-len(distances) // _MOST_ROWS)
    if step == 1:
        return distances
    firsts = np.arange(0, len(distances), step)
    sizes = np.diff([*firsts, len(distances)])
    sums = np.add.reduceat(np.add.reduceat(distances, firsts, axis=0), firsts, axis=1)
    return np.asarray(sums / np.outer(sizes, sizes))


def _by_layer(axes: Axes, placed: pd.DataFrame, left_out: int) -> None:
    _plane(axes, placed, "by layer" + (f" (without a place: {left_out})" if left_out else ""))
    if not len(placed):
        return
    last = int(placed["layer"].max())
    colours = colormaps["viridis"].resampled(last)
    points = axes.scatter(
        placed["x"], placed["y"], c=placed["layer"], cmap=colours, vmin=0.5, vmax=last + 0.5, **_point(len(placed))
    )
    bar = axes.figure.colorbar(points, ax=axes, label="layer", shrink=0.7, aspect=24)
    bar.ax.yaxis.set_major_locator(MaxNLocator(12, integer=True))
    bar.ax.tick_params(length=0)


def _by_label(axes: Axes, placed: pd.DataFrame, labels: Mapping[tuple[int, int], str]) -> None:
    """The most frequent label first; heads without one are faint."""
    _plane(axes, placed, "by what they do")
    label_of = pd.Series([labels.get(head) for head in zip(placed["layer"], placed["head"], strict=True)], placed.index)
    by_frequency = sorted(Counter(label_of.dropna()).items(), key=lambda item: (-item[1], item[0]))
    ranked = [label for label, _ in by_frequency[: len(LOOKS)]]
    rest = placed[~label_of.isin(ranked)]
    axes.scatter(rest["x"], rest["y"], c=FAINT, marker=".", label="none of these", alpha=0.6, linewidths=0, s=12)
    for label, (colour, marker) in zip(ranked, LOOKS, strict=False):
        points = placed[label_of == label]
        name = drawable(label, _LONGEST_LABEL)
        axes.scatter(points["x"], points["y"], c=colour, marker=marker, label=name, **_point(len(placed)))
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1), borderaxespad=0, handletextpad=0.2)
    rank = label_of.map({label: place for place, (label, _) in enumerate(by_frequency)})
    rarest_first = [int(row) for row in np.argsort(-rank.to_numpy(float), kind="stable") if label_of.notna().iloc[row]]
    if unnamed := name_heads(axes, placed, rarest_first):
        axes.set_title(f"by what they do (no room for {counted(unnamed, 'name')})", loc="left")


def _plane(axes: Axes, placed: pd.DataFrame, title: str) -> None:
    """Only distances have a meaning, so the axes have equal scales and no numbers."""
    axes.set_title(title, loc="left")
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set(visible=True, color=FAINT, linewidth=0.4)
    axes.margins(0.06)
    if not len(placed):
        say(axes)


def _point(heads: int) -> dict[str, Any]:
    return {"s": float(np.clip(4000 / max(1, heads), 6, 26)), "linewidths": 0.3, "edgecolors": "white", "alpha": 0.9}


def _placed(
    head_distances: pd.DataFrame, head_map: pd.DataFrame
) -> tuple[list[str], NDArray[np.float64], NDArray[np.int64]]:
    """Names, distances and clusters of the heads that have a place."""
    heads, matrix = distance_matrix(head_distances)
    cluster = {(row.layer, row.head): row.cluster for row in head_map.itertuples()}
    clusters = np.array([cluster.get(head, _UNPLACED) for head in heads], dtype=np.int64)
    placed = np.flatnonzero(clusters != _UNPLACED)
    names = [f"{heads[place][0]}-{heads[place][1]}" for place in placed]
    return names, matrix if len(placed) == len(heads) else matrix[np.ix_(placed, placed)], clusters[placed]


def _cluster_colours(clusters: Iterable[int]) -> dict[int, str]:
    """A colour per cluster of several heads; single heads and heads without a cluster (0) are grey."""
    sizes = Counter(clusters)
    several = [int(cluster) for cluster in sorted(sizes) if sizes[cluster] > 1]
    colours = {cluster: LOOKS[place][0] for place, cluster in enumerate(several[: len(LOOKS)])}
    return {int(cluster): colours.get(int(cluster), INK) for cluster in sizes} | {_UNPLACED: FAINT}


def _clusters_of_nodes(tree: NDArray[np.float64], clusters: NDArray[np.int64]) -> list[int]:
    """For each leaf, then each joint of the tree: the cluster that all its leaves belong to, or 0."""
    nodes: list[int] = clusters.tolist()
    for left, right in tree[:, :2].astype(int):
        nodes.append(nodes[left] if nodes[left] == nodes[right] else _UNPLACED)
    return nodes


def _nothing(ax: Axes | None) -> Figure:
    figure, axes = single_panel(3, 1.5, ax)
    axes.axis("off")
    say(axes)
    return figure


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
    edges = Bbox(axes.get_window_extent().get_points() * to_points)
    taken = [_box(place, 0, 0, 4.0, 4.0) for place in places]
    left = 0
    for row in wanted:
        name = f"{heads['layer'].iloc[row]}-{heads['head'].iloc[row]}"
        width = width_in_ems(name) * size
        for x, y in _SIDES:
            box = _box(places[row], x, y, width, size)
            others = (other for number, other in enumerate(taken) if number != row)
            within = edges.contains(*box.min) and edges.contains(*box.max)
            if within and not any(box.fully_overlaps(other) for other in others):
                taken.append(box)
                _write(axes, heads.iloc[row], name, x, y, size)
                break
        else:
            left += 1
    return left


def _box(place: NDArray[Any], x: int, y: int, width: float, height: float) -> Bbox:
    """The box of a text on one side of a place, in points."""
    left, bottom = place[0] + x * _AWAY + (x - 1) * width / 2, place[1] + y * _AWAY + (y - 1) * height / 2
    return Bbox.from_bounds(left, bottom, width, height)


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
