"""One point a head, the layer means as lines, and series without values left out, for models of any size."""

import warnings

import numpy as np
import pandas as pd
import pytest

from headatlas.views.figures.layers import entropy_figure, gradients_figure, positions_figure, token_kinds_figure
from headatlas.views.figures.style import save_figure
from tests.views.synthetic_tables import entropy, gradients, heads_of, positions, token_kinds

SHAPES = [heads_of(1, 1), heads_of(6, 12), heads_of(48, 25), [12, 3, 1, 8]]
DRAW = {
    token_kinds_figure: (token_kinds, [3, 2]),
    positions_figure: (positions, [3]),
    gradients_figure: (gradients, [3]),
    entropy_figure: (entropy, [1, 1]),
}


def legend_labels(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


@pytest.mark.parametrize("heads", SHAPES, ids=lambda heads: f"{len(heads)} layers, {sum(heads)} heads")
@pytest.mark.parametrize("draw", DRAW, ids=lambda draw: draw.__name__)
def test_a_point_a_head_for_every_series(draw, heads):
    table, series = DRAW[draw]
    figure = draw(table(heads))
    assert [len(axes.collections) for axes in figure.axes] == series
    for axes in figure.axes:
        assert axes.get_ylim()[0] == 0
        assert len(legend_labels(axes)) == len(axes.collections)
        for points in axes.collections:
            assert len(points.get_offsets()) == sum(heads)


@pytest.mark.parametrize("heads", SHAPES, ids=lambda heads: f"{len(heads)} layers, {sum(heads)} heads")
def test_points_stay_by_their_layer_and_do_not_hide_each_other(heads):
    table = positions(heads).assign(value=0.5)
    offsets = positions_figure(table).axes[0].collections[0].get_offsets()
    layers = np.repeat(np.arange(1, len(heads) + 1), heads)
    assert (np.abs(offsets[:, 0] - layers) < 0.5).all()
    assert len(np.unique(offsets[:, 0].round(9))) == sum(heads)


def test_the_line_is_the_mean_over_a_layers_heads():
    table = positions([12, 3, 1, 8])
    lines = [line for line in positions_figure(table).axes[0].lines if len(line.get_xdata()) == 4]
    for line, offset in zip(lines, (-1, 0, 1), strict=True):
        for layer, mean in zip(line.get_xdata(), line.get_ydata(), strict=True):
            rows = table[(table.layer == layer) & (table.offset == offset)]
            assert mean == pytest.approx(sum(rows.value) / len(rows))


def test_series_have_their_own_colour_and_marker():
    for draw, (table, _) in DRAW.items():
        for axes in draw(table(heads_of(2, 3))).axes:
            handles = axes.get_legend().legend_handles
            assert len({handle.get_color() for handle in handles}) == len(handles)
            assert len({handle.get_marker() for handle in handles}) == len(handles)


def test_labels_of_another_model():
    figure = token_kinds_figure(token_kinds(heads_of(2, 2)), {"cls": "<s>", "sep": "</s>"})
    assert legend_labels(figure.axes[0]) == ["<s>", "</s>", "periods and commas"]
    assert legend_labels(figure.axes[1]) == ["</s> → </s>", "other → </s>"]


def test_a_kind_without_values_is_left_out():
    table = token_kinds(heads_of(2, 2))
    table.loc[table.kind == "cls", ["value", "count"]] = [np.nan, 0]
    assert legend_labels(token_kinds_figure(table).axes[0]) == ["[SEP]", "periods and commas"]


def test_the_lower_panel_is_left_out_where_there_is_no_separator():
    table = token_kinds(heads_of(2, 2))
    table.loc[table.kind.isin(["sep", "sep_to_sep", "other_to_sep"]), "value"] = np.nan
    (axes,) = token_kinds_figure(table).axes
    assert legend_labels(axes) == ["[CLS]", "periods and commas"]


@pytest.mark.parametrize("absent", [True, False])
def test_entropy_from_cls_is_left_out_where_there_is_none(absent):
    table = entropy(heads_of(2, 2))
    if absent:
        table = table[table.source == "all"]
    else:
        table.loc[table.source == "cls", ["value", "expected"]] = np.nan
    (axes,) = entropy_figure(table).axes
    assert legend_labels(axes) == ["from all tokens"]


def test_what_uniform_attention_gives_each_kind_is_a_line_of_its_colour():
    table = token_kinds(heads_of(2, 2))
    table["expected"] = table["kind"].map({"cls": 0.01, "sep": 0.02, "period_comma": 0.08})
    axes = token_kinds_figure(table).axes[0]
    dashed = {line.get_color(): line.get_ydata()[0] for line in axes.lines if line.get_linestyle() == "--"}
    means = {line.get_label(): line.get_color() for line in axes.lines if line.get_linestyle() == "-"}
    assert [dashed[means[kind]] for kind in ("[CLS]", "[SEP]", "periods and commas")] == pytest.approx(
        [0.01, 0.02, 0.08]
    )


def test_uniform_entropy_is_drawn_and_labelled():
    for axes in entropy_figure(entropy(heads_of(2, 2))).axes:
        assert any(np.allclose(line.get_ydata(), np.log(128)) for line in axes.lines)
        assert [text.get_text() for text in axes.texts] == ["uniform attention: 4.85"]


def test_half_is_marked_and_in_view_even_if_all_attention_is_small():
    axes = positions_figure(positions(heads_of(2, 2)).assign(value=0.01)).axes[0]
    assert axes.get_ylim()[1] > 0.5
    assert any(list(line.get_ydata()) == [0.5, 0.5] for line in axes.lines)


def test_small_gradients_are_labelled_in_powers_of_ten():
    axes = gradients_figure(gradients(heads_of(2, 2)).assign(value=2e-4)).axes[0]
    assert axes.get_ylabel() == "mean |∂L/∂a| (\N{MULTIPLICATION SIGN} 10⁻⁴)"
    assert gradients_figure(gradients(heads_of(2, 2)).assign(value=0.5)).axes[0].get_ylabel() == "mean |∂L/∂a|"


@pytest.mark.parametrize("layers", [1, 6, 12, 24, 48, 130, 2000])
def test_layer_ticks_are_thinned(layers):
    ticks = positions_figure(positions(heads_of(layers, 1))).axes[0].get_xticks()
    assert 1 <= len(ticks) <= 17
    assert set(ticks) <= set(range(1, layers + 1))


@pytest.mark.parametrize("draw", DRAW, ids=lambda draw: draw.__name__)
def test_tables_without_values_say_so(tmp_path, draw):
    table = DRAW[draw][0](heads_of(2, 2))
    for empty in (table[:0], table.assign(value=np.nan), table.assign(value=0.0)):
        save_figure(draw(empty), tmp_path / "empty", ("svg",))
    assert [text.get_text() for text in draw(table[:0]).axes[0].texts] == ["no values"]


@pytest.mark.parametrize("draw", DRAW, ids=lambda draw: draw.__name__)
@pytest.mark.parametrize("heads", [heads_of(1, 1), heads_of(6, 12), heads_of(48, 25)], ids=len)
def test_nothing_is_cut_off_at_the_edges(draw, heads):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = draw(DRAW[draw][0](heads))
        figure.draw_without_rendering()
    tight, page = figure.get_tightbbox(), figure.get_size_inches()
    assert tight.x0 >= -0.01
    assert tight.y0 >= -0.01
    assert tight.x1 <= page[0] + 0.01
    assert tight.y1 <= page[1] + 0.01
    assert all(axes.get_window_extent().width > 0.7 * figure.bbox.width for axes in figure.axes)


def test_same_table_same_svg_in_any_row_order(tmp_path):
    table = positions(heads_of(3, 4))
    shuffled = table.sample(frac=1, random_state=0)
    first, again = (
        save_figure(positions_figure(t), tmp_path / n, ("svg",))[0] for t, n in ((table, "a"), (table, "b"))
    )
    assert first.read_bytes() == again.read_bytes()
    other = positions_figure(shuffled).axes[0].collections[0].get_offsets()
    same = positions_figure(table).axes[0].collections[0].get_offsets()
    assert sorted(map(tuple, other)) == sorted(map(tuple, same))


def test_the_table_is_left_alone():
    table = entropy(heads_of(2, 2))
    before = table.copy()
    entropy_figure(table)
    pd.testing.assert_frame_equal(table, before)
