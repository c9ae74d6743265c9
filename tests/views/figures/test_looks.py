"""Figures to adapt: results or tables, a panel of one's own, titles, sizes, styles and words; rcParams stay."""

from __future__ import annotations

import inspect
import re

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

import headatlas as ha
from headatlas.errors import AtlasError, SettingError
from headatlas.views.figures import fonts
from headatlas.views.figures.similarity import head_map_figure
from tests.views.synthetic_atlas import SyntheticAtlas, synthetic_atlas
from tests.views.synthetic_layers import layer_tables
from tests.views.synthetic_tables import maps
from typed import typed

ONE_PANEL = ("positions_figure", "gradients_figure", "head_map_figure", "head_tree_figure", "head_distances_figure")


@pytest.fixture(scope="module")
def atlas(tmp_path_factory):
    return synthetic_atlas(tmp_path_factory.mktemp("atlas"), [4, 3, 4])


def texts_of(figure):
    figure.draw_without_rendering()
    return [text.get_text() for text in figure.findobj(Text) if text.get_text() and text.get_visible()]


def test_every_public_figure_is_explained():
    names = [name for name in dir(ha.figures) if name.endswith("_figure") and name != "save_figure"]
    assert len(names) > 25
    for name in names:
        function = getattr(ha.figures, name)
        assert "Args:\n    results: " in inspect.getdoc(function), name
        assert {"title", "size", "style", "words"} <= set(inspect.signature(function).parameters)


def test_a_table_a_folder_and_results_give_the_same_figure(atlas):
    draw = ha.figures.positions_figure
    points = [draw(data).axes[0].collections[0].get_offsets() for data in (atlas, atlas.tables["positions"])]
    np.testing.assert_array_equal(*points)
    with pytest.raises(AtlasError, match="has no table layer_mix, which layer_scores_figure draws"):
        ha.figures.layer_scores_figure(atlas)


@pytest.mark.parametrize("name", ONE_PANEL)
def test_one_panel_is_drawn_into_an_ax(atlas, name):
    own = Figure(layout="constrained")
    left, right = own.subplots(1, 2)
    left.set_title("layer")
    words = {"layer": "Schicht", "Mine": "Meins"}
    assert getattr(ha.figures, name)(atlas, ax=right, title="Mine", words=words) is own
    assert right.get_title(loc="left").startswith("Meins")
    assert not any(re.search(r"\blayer\b", label) for label in (right.get_xlabel(), right.get_ylabel()))
    assert right.has_data()
    assert left.get_title() == "layer"
    assert not left.has_data()
    assert own.get_suptitle() == ""


def test_a_panel_of_a_figure_within_a_figure_will_do(atlas):
    own = Figure(layout="constrained")
    axes = own.subfigures(1, 2)[1].subplots()
    assert ha.figures.head_map_figure(atlas, ax=axes) is own


def test_several_panels_do_not_fit_one_ax(atlas):
    axes = Figure().subplots()
    with pytest.raises(SettingError, match="has 2 panels"):
        ha.figures.entropy_figure(atlas, ax=axes)
    with pytest.raises(SettingError, match="heads_figure draws several panels, so it takes no ax"):
        ha.figures.heads_figure(atlas, ax=axes)
    with pytest.raises(SettingError, match="Omit size, or omit ax"):
        ha.figures.positions_figure(atlas, ax=axes, size=(2, 2))


def test_titles_name_model_and_corpus(atlas):
    assert ha.figures.positions_figure(atlas).get_suptitle() == "made-up on a.txt"
    assert ha.figures.heads_figure(atlas).get_suptitle() == "made-up on a.txt"
    assert ha.figures.positions_figure(atlas, title="").get_suptitle() == ""
    assert ha.figures.positions_figure(atlas, title="中\nb").get_suptitle() == "中⏎b"
    assert ha.figures.positions_figure(atlas.tables["positions"]).get_suptitle() == ""


def test_a_title_stands_over_a_legend_of_all_panels():
    figure = ha.figures.layer_mix_figure([("", layer_tables())], title="Mine")
    assert [text.get_text() for text in figure.legends[0].findobj(Text)].count("Mine") == 1
    assert figure.get_suptitle() == ""


def test_a_title_over_a_panel_leaves_room_to_its_legend(atlas):
    axes = Figure(layout="constrained").subplots()
    figure = ha.figures.positions_figure(atlas, ax=axes, title="Mine")
    figure.draw_without_rendering()
    (title,) = [text for text in axes.findobj(Text) if text.get_text() == "Mine"]
    assert title.get_window_extent().y0 >= axes.get_legend().get_window_extent().y1 - 1


def test_what_the_user_set_stays(atlas):
    with matplotlib.rc_context({"font.size": 14, "font.family": "serif", "axes.spines.top": True, "text.color": "red"}):
        figure = ha.figures.positions_figure(atlas)
        drawn = ha.figures.attention_lines_figure(["a", "b"], [("Head 1-1", maps(2, 2))])
    axes = figure.axes[0]
    assert axes.xaxis.label.get_fontfamily()[0] == "serif"
    assert axes.get_xticklabels()[0].get_fontsize() == pytest.approx(14 * 0.875)
    assert axes.get_legend().get_texts()[0].get_color() == "red"
    assert drawn.axes[0].texts[0].get_fontsize() == pytest.approx(14)
    assert drawn.axes[0].texts[0].get_color() == "red"
    usual = ha.figures.positions_figure(atlas).axes[0]
    assert usual.get_xticklabels()[0].get_fontsize() == pytest.approx(7)
    assert usual.xaxis.label.get_fontfamily() == ["DejaVu Sans"]


def test_styles(atlas):
    plain = ha.figures.positions_figure(atlas, style=None).axes[0]
    assert plain.xaxis.label.get_fontsize() == matplotlib.rcParams["font.size"]
    dark = ha.figures.positions_figure(atlas, style="dark_background")
    assert dark.get_facecolor()[:3] == (0, 0, 0)
    assert ha.figures.positions_figure(atlas, style={"figure.facecolor": "red"}).get_facecolor()[:3] == (1, 0, 0)
    with pytest.raises(SettingError, match=r"There is no style nowhere\. Choose from: headatlas, "):
        ha.figures.positions_figure(atlas, style="nowhere")


def test_size(atlas):
    assert tuple(ha.figures.entropy_figure(atlas, size=(3, 5)).get_size_inches()) == (3, 5)


def test_words_are_replaced_in_labels_and_not_in_texts(atlas):
    words = {"attends": "schaut", "next token": "nächstes Token", "The": "Der"}
    said = texts_of(ha.figures.heads_figure(atlas, words=words))
    assert any("schaut" in text for text in said)
    assert not any("attends" in text for text in said)
    assert "The" in said
    assert "Der" not in said
    figure = ha.figures.positions_figure(atlas, words={"layer": "Schicht", "lay": "?"})
    assert "Schicht" in texts_of(figure)
    assert not any("?" in text for text in texts_of(figure))
    assert {"mean attention", "previous token"} <= set(ha.figures.label_words(figure))


def test_words_that_occur_nowhere_are_refused(atlas, tmp_path):
    draw = ha.figures.positions_figure
    with pytest.raises(SettingError, match=r"No label has 'previos token'\. headatlas\.figures\.label_words"):
        draw(atlas, words={"previos token": "mot précédent"})
    shared = {"layer": "couche", "entropy": "entropie"}
    assert "couche" in texts_of(draw(atlas, words=shared))
    part = SyntheticAtlas(tmp_path, {"positions": atlas.tables["positions"]}, atlas.manifest, [])
    with pytest.raises(SettingError, match="No label has 'entropy'"):
        ha.write_figures(part, tmp_path, formats=("svg",), words=shared)
    (path,) = ha.write_figures(part, tmp_path, formats=("svg",), words={"layer": "couche"})
    assert "couche" in path.read_text(encoding="utf-8")


def test_words_on_the_command_line(atlas, tmp_path, monkeypatch):
    part = SyntheticAtlas(tmp_path, {"positions": atlas.tables["positions"]}, atlas.manifest, [])
    monkeypatch.setattr("headatlas.results.atlas.open_results", lambda _: part)
    line = ["figures", tmp_path, "--out", tmp_path / "drawn", "--words", "layer=couche"]
    assert typed(*line, "previous token=mot précédent").exit_code == 0
    drawn = (tmp_path / "drawn" / "figure2_positions.svg").read_text(encoding="utf-8")
    assert "couche" in drawn
    assert "mot précédent" in drawn
    assert "No label has 'leyer'" in typed(*line, "leyer=x").output
    assert "such as layer=couche" in typed(*line, "leyer").output


def test_all_figures_of_a_folder_share_their_looks(atlas, tmp_path):
    some = {name: atlas.tables[name] for name in ("positions", "entropy", "head_map", "head_distances")}
    part = SyntheticAtlas(tmp_path, some, atlas.manifest, atlas.examples)
    paths = ha.write_figures(part, tmp_path, formats=("svg",), title="Every one")
    assert len(paths) == 6
    for path in paths:
        assert "Every one" in path.read_text(encoding="utf-8")


def test_a_notebook_shows_a_figure_without_pyplot(atlas):
    assert ha.figures.positions_figure(atlas)._repr_png_().startswith(b"\x89PNG")


def test_labels_of_ticks_get_fonts_that_have_their_letters(atlas, monkeypatch):
    monkeypatch.setattr(fonts, "_fallbacks", lambda characters: (("Some Font",) if characters else (), frozenset()))
    figure = ha.figures.positions_figure(atlas, words={"previous token": "前"})
    legend = figure.axes[0].get_legend().get_texts()
    assert [text.get_fontfamily()[-1] == "Some Font" for text in legend] == [True, False, False]


# --- names on the map of heads ------------------------------------------------------------------------------------


def names_on(axes):
    axes.figure.draw_without_rendering()
    return {text.get_text(): text.get_window_extent() for text in axes.texts}


def test_heads_with_a_role_are_named_beside_their_points(atlas):
    roles = {(1, 1): "a", (2, 3): "b"}
    axes = head_map_figure(atlas.tables["head_map"], roles).axes[1]
    assert set(names_on(axes)) == {"1-1", "2-3"}
    assert axes.get_title(loc="left") == "by what they do"


def test_names_keep_clear_of_each_other_and_rare_roles_come_first(atlas):
    table = atlas.tables["head_map"].copy()
    table[["x", "y"]] = np.random.default_rng(0).normal(size=(len(table), 2)) * 0.01
    table.loc[0, ["x", "y"]] = 9.0
    roles = {(int(layer), int(head)): "often" for layer, head in zip(table["layer"], table["head"], strict=True)}
    roles[2, 1] = "rare"
    axes = head_map_figure(table, roles).axes[1]
    boxes = names_on(axes)
    assert "2-1" in boxes
    assert len(boxes) < len(table)
    assert f"no room for {len(table) - len(boxes)} name" in axes.get_title(loc="left")
    placed = list(boxes.values())
    frame = axes.get_window_extent()
    for number, box in enumerate(placed):
        assert frame.x0 - 1 <= box.x0
        assert box.x1 <= frame.x1 + 1
        for other in placed[:number]:
            overlap = min(box.x1, other.x1) - max(box.x0, other.x0), min(box.y1, other.y1) - max(box.y0, other.y0)
            assert min(overlap) < 2  # of its pixels: sizes are estimated before fonts are loaded
