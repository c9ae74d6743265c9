"""Lines between two columns: which are drawn, how dark, and whether any token can break the figure."""

import warnings
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from headatlas.errors import SettingError
from headatlas.views.figures.lines import Panel, attention_lines, attention_lines_figure, panels_figure
from headatlas.views.figures.style import RED, save_figure
from tests.views.synthetic_tables import maps

HOSTILE = [
    "$x_1$",
    "$\\frac{",
    "a_b",
    "\\",
    "^",
    "##ing",
    "Ġthe",
    "▁the",
    "<s>",
    "&amp;",
    "]]>",
    '"',
    "中文",
    "ไทย",
    "🙂",
]


def drawn(weights, **options):
    axes = Figure().subplots()
    lines = attention_lines(axes, Panel("", [f"t{i}" for i in range(len(weights))], weights, **options))
    return axes, lines


def ends(lines):
    return {(int(a[1]), int(b[1])) for a, b in lines.get_segments()}


def test_a_line_for_each_weight_of_at_least_a_hundredth():
    weights = np.array([[0.0, 0.009, 0.991], [0.5, 0.5, 0.0], [0.01, np.nan, 0.99]])
    _, lines = drawn(weights)
    assert ends(lines) == {(0, 2), (1, 0), (1, 1), (2, 0), (2, 2)}


def test_darkness_is_the_weight():
    _, lines = drawn(np.array([[0.25, 0.75], [1.0, 0.0]]))
    darkness = {
        (int(a[1]), int(b[1])): colour[3]
        for (a, b), colour in zip(lines.get_segments(), lines.get_colors(), strict=True)
    }
    assert darkness == {(0, 0): 0.25, (0, 1): 0.75, (1, 0): 1.0}


def test_red_tokens_and_the_lines_that_leave_them():
    axes, lines = drawn(np.full((3, 3), 1 / 3), red={1})
    red = np.all(lines.get_colors()[:, :3] == to_rgb(RED), axis=1)
    starts = np.array([int(a[1]) for a, _ in lines.get_segments()])
    assert (red == (starts == 1)).all()
    assert [text.get_text() for text in axes.texts if text.get_color() == RED] == ["t1", "t1"]


def test_red_lines_and_their_two_ends():
    axes, lines = drawn(np.full((3, 3), 1 / 3), red_lines={(1, 2)}, hidden={0})
    red = {
        (int(a[1]), int(b[1]))
        for (a, b), colour in zip(lines.get_segments(), lines.get_colors(), strict=True)
        if tuple(colour[:3]) == to_rgb(RED)
    }
    assert red == {(0, 1)}
    coloured = [(text.get_text(), text.get_ha()) for text in axes.texts if text.get_color() == RED]
    assert coloured == [("t1", "right"), ("t2", "left")]


def test_hidden_tokens_vanish_with_their_lines():
    axes, lines = drawn(np.full((4, 4), 0.25), hidden={0, 2})
    assert [text.get_text() for text in axes.texts] == ["t1", "t1", "t3", "t3"]
    assert len(lines.get_segments()) == 4


def test_a_map_of_another_size_is_refused():
    with pytest.raises(SettingError, match=r"\[3, 3\]"):
        Panel("", ["a", "b", "c"], np.eye(2))


def test_hostile_tokens_are_text_in_the_svg_and_raise_no_warnings(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = attention_lines_figure(HOSTILE, [("costs $5 & $6 <b>", maps(len(HOSTILE), len(HOSTILE)))])
        svg, *_ = save_figure(figure, tmp_path / "hostile")
    texts = [element.text for element in ElementTree.parse(svg).iter("{http://www.w3.org/2000/svg}text")]
    assert all(texts.count(token) == 2 for token in HOSTILE)
    assert "costs $5 & $6 <b>" in texts


@pytest.mark.parametrize("token", ["\x00", "\x1b[31m", "\ud800", "\uffff", "\n\n", ""])
def test_characters_xml_forbids_still_give_a_valid_svg(tmp_path, token):
    (svg,) = save_figure(attention_lines_figure([token, "a"], [("h", np.eye(2))]), tmp_path / "f", ("svg",))
    ElementTree.parse(svg)


def inside(figure):
    """Whether each text lies within the figure, after layout."""
    figure.draw_without_rendering()
    page = figure.bbox
    boxes = [text.get_window_extent() for axes in figure.axes for text in (*axes.texts, axes.title)]
    return all(box.x0 >= -1 and box.y0 >= -1 and box.x1 <= page.x1 + 1 and box.y1 <= page.y1 + 1 for box in boxes)


@pytest.mark.parametrize("length", [1, 10, 60])
@pytest.mark.parametrize("word", ["a", "WWWWWWWWWWWWWWWWWWWW"])
def test_nothing_is_cut_off_and_columns_do_not_overlap(length, word):
    tokens = [word] * length
    figure = attention_lines_figure(
        tokens, [(f"Head 1-{i} attends to the next token", maps(length, length)) for i in "12345"], red={0}
    )
    assert inside(figure)
    assert all(axes.get_window_extent().width > 40 for axes in figure.axes)
    rows = sorted({text.get_window_extent().y0 for text in figure.axes[0].texts})
    heights = figure.axes[0].texts[0].get_window_extent().height
    assert all(above - below >= 0.6 * heights for below, above in pairwise(rows))


@pytest.mark.parametrize(("number", "shape"), [(1, (1, 1)), (4, (1, 4)), (5, (2, 3)), (9, (3, 3))])
def test_heads_wrap_into_rows_of_at_most_four(number, shape):
    figure = attention_lines_figure(["a", "b"], [(f"h{i}", np.eye(2)) for i in range(number)])
    assert len(figure.axes) == number
    assert figure.axes[0].get_gridspec().get_geometry() == shape


def test_rows_of_panels_are_as_high_as_their_longest_and_words_stand_equally_far_apart():
    panels = [Panel(f"h{n}", ["word"] * n, maps(n, n)) for n in (3, 12, 5, 2, 4)]
    figure = panels_figure(panels)
    assert inside(figure)
    pitches = []
    for axes in figure.axes:
        rows = sorted({round(text.get_window_extent().y0, 2) for text in axes.texts})
        pitches += [above - below for below, above in pairwise(rows)]
    assert max(pitches) < 1.25 * min(pitches)


def test_no_heads_is_an_error_and_all_hidden_is_not(tmp_path):
    with pytest.raises(SettingError):
        attention_lines_figure(["a"], [])
    save_figure(attention_lines_figure(["a"], [("h", np.eye(1))], hidden={0}), tmp_path / "empty", ("png",))
