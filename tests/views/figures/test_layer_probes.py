"""Figures of layers: what the bars and outlines show, and text that no font or XML likes."""

import numpy as np
import pytest
from matplotlib.colors import to_hex

from headatlas.engine.run_folder import write_manifest
from headatlas.errors import AtlasError
from headatlas.results.folder import Results, write_tables
from headatlas.views.figures.probes import layer_examples_figure, layer_mix_figure, layer_scores_figure
from headatlas.views.figures.style import BLUE, PURPLE
from headatlas.views.figures.write import write_beside, write_figures
from headatlas.views.words.findings import findings
from tests.views.synthetic_layers import layer_tables


@pytest.fixture
def tables():
    return layer_tables()


def heights(axes, colour, edge):
    chosen = [
        bar
        for bar in axes.patches
        if hasattr(bar, "get_height")
        and to_hex(bar.get_edgecolor() if edge else bar.get_facecolor()) == to_hex(colour)
        and bar.get_width() == pytest.approx(0.8)
    ]
    return [bar.get_height() for bar in chosen]


def test_bars_are_weights_and_outlines_shares_of_the_gains(tables):
    figure = layer_mix_figure([("", tables)])
    first = figure.axes[0]
    rows = tables["layer_mix"].query("task == 'pos' and mix == 'layers' and weights == 'pretrained'")
    assert heights(first, BLUE, edge=False) == pytest.approx(rows["weight"].tolist())
    gains = rows["differential"].to_numpy()
    wanted = gains / gains[gains > 0].sum()
    np.testing.assert_allclose(heights(first, PURPLE, edge=True), wanted)
    assert (wanted[1:] < 0).any()


def test_two_models_of_different_depth_and_tasks_stand_side_by_side(tables):
    other = layer_tables(layers=9, tasks=("pos", "srl"))
    figure = layer_mix_figure([("small", tables), ("large", other)])
    assert len(figure.axes) == 2 * 3
    texts = [text.get_text() for axes in figure.axes for text in axes.texts]
    assert texts.count("not asked") == 2


def test_every_figure_draws(tables, tmp_path):
    results = Results(tmp_path)
    results.__dict__ |= {"tables": tables, "manifest": {}}
    assert {path.stem for path in write_figures(results, formats=("svg",))} == {
        "layers_figure2_mix",
        "layers_scores",
        "layers_figure3_examples",
        "layers_heads",
    }
    assert len(layer_scores_figure(tables["layer_mix"]).axes[0].lines) == 4  # two tasks, heads of one, random of one


def test_an_example_shows_its_span_within_a_long_text(tables):
    examples = tables["layer_examples"].assign(text="word " * 60 + "[1 toronto] wins\u202e " + "word " * 40)
    title = layer_examples_figure(examples).axes[0].get_title(loc="left")
    assert "[1 toronto]" in title
    assert "\u202e" not in title
    assert len(title) < 110


def test_spans_far_apart_are_both_shown(tables):
    text = "[2 she] " + "word " * 60 + "and then [1 her dog] ran " + "word " * 9
    title = layer_examples_figure(tables["layer_examples"].assign(text=text)).axes[0].get_title(loc="left")
    assert "[2 she] word" in title
    assert "then [1 her dog] ran" in title
    assert "… " in title
    assert title.endswith("…")


def test_findings_name_the_order_and_how_sure_it_is(tables):
    said = list(map(str, findings(tables)))
    (score, centre, expected) = (sentence for sentence in said if sentence.startswith("Task pos, mix of layers:"))
    assert score.startswith("Task pos, mix of layers: micro F1 90.0 % (")
    assert "shuffled labels 10 %; untrained weights 90 %; 90.0 % right, always the commonest answer 60.0 %" in score
    assert "centre of gravity at layer 1.00 (95 % CI 0.90 to 1.20; shuffled labels 1.50; untrained" in centre
    assert "the expected layer is not determined" in expected
    assert (
        "By centre of gravity, 1 of 1 pair of tasks is settled (p < 0.05, two-sided, Holm over pairs): pos below arcs "
        "by 1.00 layers (0.50 to 1.50). Shuffled labels: 0 settled." in said
    )
    (localised,) = (sentence for sentence in said if sentence.startswith("Localised or spread out"))
    assert "pos 0.20 (95 % CI 0.15 to 0.25), shuffled labels 0.05, localised" in localised


def test_nothing_is_said_of_the_layers_of_a_task_that_learns_nothing(tables):
    poor = {name: tables[name].copy() for name in tables}
    poor["layer_summary"]["lead_low"] = -0.1
    poor["layer_order"] = poor["layer_order"].assign(withheld="pos does not beat its majority answer", settled=False)
    said = list(map(str, findings(poor)))
    assert not any("centre of gravity" in sentence or "Localised" in sentence for sentence in said)
    assert "No order is given for pos and arcs: pos does not beat its majority answer." in said


def test_a_random_network_is_only_scored(tables):
    random = tables["layer_summary"].query("weights == 'random'")
    (said,) = map(str, findings({"layer_mix": tables["layer_mix"], "layer_summary": random}))
    assert said.startswith("Task pos, mix of layers, random weights: micro F1")
    assert "centre" not in said


def test_layers_of_two_folders_are_drawn_to_one_file(tmp_path, tables):
    for name in ("a", "b"):
        rows = write_tables(tmp_path / name, tables)
        write_manifest(
            tmp_path / name, {"command": "layers", "complete": True, "model": {"name": name}, "tables": rows}
        )
    (path,) = write_beside(tmp_path / "a", tmp_path / "b", formats=("png",))
    assert path == tmp_path / "a" / "figures" / "layers_figureA3_beside.png"
    assert path.stat().st_size > 10_000
    (tmp_path / "c").mkdir()
    write_manifest(tmp_path / "c", {"command": "layers", "complete": True, "model": {"name": "c"}, "tables": {}})
    with pytest.raises(AtlasError, match="no layers to draw"):
        write_beside(tmp_path / "a", tmp_path / "c")
