"""A point a head in both colourings, a tree with every head, and distances in the order of the tree."""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from headatlas.views.figures import similarity
from headatlas.views.figures.similarity import head_distances_figure, head_map_figure, head_tree_figure
from headatlas.views.figures.style import FAINT, save_figure
from tests.views.synthetic_tables import heads_of

SHAPES = [heads_of(2, 2), heads_of(6, 12), [12, 3, 1, 8]]


def tables(heads, clusters=3, seed=0):
    """`head_distances` and `head_map` of heads in heaps of the plane."""
    names = [(layer, head) for layer, number in enumerate(heads, 1) for head in range(1, number + 1)]
    dice = np.random.default_rng(seed)
    cluster = np.arange(len(names)) % clusters + 1
    points = np.array([[0, 0], [9, 0], [0, 9]])[cluster - 1] + dice.normal(size=(len(names), 2))
    pairs = [
        (*names[a], *names[b], float(((points[a] - points[b]) ** 2).sum()), 4)
        for a in range(len(names))
        for b in range(a + 1, len(names))
    ]
    distances = pd.DataFrame(pairs, columns=["layer_a", "head_a", "layer_b", "head_b", "value", "count"])
    head_map = pd.DataFrame(names, columns=["layer", "head"]).assign(x=points[:, 0], y=points[:, 1], cluster=cluster)
    return distances, head_map


def all_figures(heads):
    distances, head_map = tables(heads)
    labels = {(1, 1): "next token", (1, 2): "中 $x_1$", (2, 1): "next token"}
    yield head_map_figure(head_map)
    yield head_map_figure(head_map, labels)
    yield head_tree_figure(distances, head_map)
    yield head_distances_figure(distances, head_map)


def points_of(axes):
    return [len(points.get_offsets()) for points in axes.collections]


@pytest.mark.parametrize("heads", SHAPES, ids=str)
def test_a_point_a_head_by_layer(heads):
    _, head_map = tables(heads)
    axes = head_map_figure(head_map).axes[0]
    assert points_of(axes) == [sum(heads)]
    np.testing.assert_array_equal(axes.collections[0].get_offsets(), head_map[["x", "y"]])
    np.testing.assert_array_equal(axes.collections[0].get_array(), head_map["layer"])


def test_labels_the_most_frequent_first_and_the_rest_faint():
    _, head_map = tables(heads_of(2, 5))
    labels = {(1, 1): "b", (1, 2): "c", (2, 1): "c", (2, 2): "a", (9, 9): "of no head here"}
    axes = head_map_figure(head_map, labels).axes[1]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["none of these", "c", "a", "b"]
    assert points_of(axes) == [6, 2, 1, 1]
    looks = {
        (tuple(points.get_facecolor()[0]), points.get_paths()[0].vertices.tobytes()) for points in axes.collections
    }
    assert len(looks) == 4


def test_more_labels_than_looks_hide_no_head():
    _, head_map = tables(heads_of(10, 10))
    labels = {(row.layer, row.head): f"{row.layer}-{row.head}" for row in head_map.itertuples()}
    assert sum(points_of(head_map_figure(head_map, labels).axes[1])) == 100


def test_heads_without_a_place_are_counted():
    distances, head_map = tables(heads_of(2, 4))
    head_map.loc[[1, 6], ["x", "y"]] = np.nan
    head_map.loc[[1, 6], "cluster"] = 0
    axes = head_map_figure(head_map).axes[0]
    assert axes.get_title(loc="left") == "by layer (without a place: 2)"
    assert points_of(axes) == [6]
    names = [text.get_text() for text in head_tree_figure(distances, head_map).axes[0].get_yticklabels()]
    assert sorted(names) == ["1-1", "1-3", "1-4", "2-1", "2-2", "2-4"]
    assert head_distances_figure(distances, head_map).axes[0].images[0].get_array().shape == (6, 6)


@pytest.mark.parametrize("heads", SHAPES, ids=str)
def test_the_tree_names_every_head_and_joins_them_all(heads):
    axes = head_tree_figure(*tables(heads)).axes[0]
    names = [text.get_text() for text in axes.get_yticklabels()]
    assert sorted(names) == sorted(f"{layer}-{head}" for layer, n in enumerate(heads, 1) for head in range(1, n + 1))
    assert len(axes.collections[0].get_segments()) == sum(heads) - 1


def test_a_cluster_has_one_colour_and_its_heads_stand_together():
    distances, head_map = tables(heads_of(3, 4))
    axes = head_tree_figure(distances, head_map).axes[0]
    cluster = {f"{row.layer}-{row.head}": row.cluster for row in head_map.itertuples()}
    shown = [(cluster[text.get_text()], text.get_color()) for text in axes.get_yticklabels()]
    assert len(set(shown)) == 3
    assert sum(one != other for one, other in pairwise(shown)) == 2
    greys = [colour for colour in axes.collections[0].get_colors().tolist() if colour == _rgba(FAINT)]
    assert len(greys) == 2


def test_all_distances_like_heads_side_by_side():
    distances, head_map = tables(heads_of(3, 4))
    axes = head_distances_figure(distances, head_map).axes[0]
    shown = np.asarray(axes.images[0].get_array())
    np.testing.assert_allclose(np.sort(shown[np.triu_indices(12, 1)]), np.sort(distances["value"]))
    assert shown[:4, :4].max() < shown[:4, 4:].min()
    assert len(axes.lines) == 4
    assert sorted(text.get_text() for text in axes.get_yticklabels()) == ["1", "2", "3"]


@pytest.mark.parametrize("heads", SHAPES, ids=str)
def test_nothing_is_cut_off_at_the_edges(heads):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")
        for figure in all_figures(heads):
            figure.draw_without_rendering()
            tight, page = figure.get_tightbbox(), figure.get_size_inches()
            assert tight.x0 >= -0.01
            assert tight.y0 >= -0.01
            assert tight.x1 <= page[0] + 0.01
            assert tight.y1 <= page[1] + 0.01


def test_a_large_model_has_a_tree_of_branches_with_all_its_heads():
    distances, head_map = tables(heads_of(21, 20))
    axes = head_tree_figure(distances, head_map).axes[0]
    texts = axes.get_yticklabels()
    sizes = [int(words[0]) if len(words := text.get_text().split()) == 2 else 1 for text in texts]
    assert (len(sizes), sum(sizes)) == (100, 420)
    assert len(axes.collections[0].get_segments()) == 99
    assert "420 heads in 100 branches" in axes.get_xlabel()
    assert len({text.get_color() for text in texts}) == 3  # of clusters, none of which is divided
    assert all(text.get_fontsize() > 5 for text in texts)


def test_of_a_large_model_neighbours_are_averaged(monkeypatch):
    distances, head_map = tables(heads_of(3, 4))
    whole = np.asarray(head_distances_figure(distances, head_map).axes[0].images[0].get_array())
    monkeypatch.setattr(similarity, "_MOST_ROWS", 4)
    image = head_distances_figure(distances, head_map).axes[0].images[0]
    np.testing.assert_allclose(image.get_array(), whole.reshape(4, 3, 4, 3).mean((1, 3)))
    assert image.get_extent() == [-0.5, 11.5, 11.5, -0.5]
    monkeypatch.setattr(similarity, "_MOST_ROWS", 5)
    uneven = np.asarray(head_distances_figure(*tables([3, 4])).axes[0].images[0].get_array())
    assert uneven.shape == (4, 4)


@pytest.mark.parametrize("heads", [[1], []], ids=str)
def test_nothing_to_compare_is_said(heads):
    distances, head_map = tables(heads)
    for draw in (head_tree_figure, head_distances_figure):
        assert [text.get_text() for text in draw(distances, head_map).axes[0].texts] == ["no values"]


def test_a_map_without_places_says_so(tmp_path):
    _, head_map = tables(heads_of(2, 2))
    empty = head_map.assign(x=np.nan, y=np.nan, cluster=0)
    figure = head_map_figure(empty, {})
    assert [text.get_text() for axes in figure.axes for text in axes.texts] == ["no values"] * 2
    save_figure(figure, tmp_path / "empty", ("svg",))


def test_same_tables_same_bytes(tmp_path):
    paths = [
        [
            save_figure(figure, tmp_path / f"{run}{number}", ("svg",))[0]
            for number, figure in enumerate(all_figures([3, 4]))
        ]
        for run in "ab"
    ]
    assert [path.read_bytes() for path in paths[0]] == [path.read_bytes() for path in paths[1]]


def test_the_tables_are_left_alone():
    distances, head_map = tables([3, 4])
    before = distances.copy(), head_map.copy()
    head_map_figure(head_map, {(1, 1): "x"})
    head_tree_figure(distances, head_map)
    head_distances_figure(distances, head_map)
    pd.testing.assert_frame_equal(distances, before[0])
    pd.testing.assert_frame_equal(head_map, before[1])


def _rgba(colour):
    from matplotlib.colors import to_rgba

    return list(to_rgba(colour))
