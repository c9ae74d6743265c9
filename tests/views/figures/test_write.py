"""The figures of a whole atlas: those with data, in every format, in the right folder."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from headatlas.errors import AtlasError, PluginError
from headatlas.results import atlas as results
from headatlas.results.example import RelationExample
from headatlas.results.folder import write_tables
from headatlas.results.tables import TABLES, Made
from headatlas.tables import ONE_HEAD, Table
from headatlas.views.figures.lines import between_units, clearest, heads_figure
from headatlas.views.figures.write import write_figures
from tests.views.synthetic_tables import all_tables, heads_of, maps


@dataclass
class Text:
    tokens: list[str]
    maps: np.ndarray
    word_of: list[int]
    words: tuple[str, ...]


class Atlas(results.Atlas):
    """An atlas that was never written."""

    def __init__(
        self,
        folder: Path,
        tables: dict[str, pd.DataFrame] | None = None,
        manifest: dict[str, Any] | None = None,
        example: Text | None = None,
        relation_examples: Sequence[RelationExample] = (),
    ) -> None:
        super().__init__(folder)
        self.__dict__ |= {"tables": tables or {}, "manifest": manifest or {}, "relation_examples": relation_examples}
        self.__dict__ |= {"examples": [example] if example else []}


EXAMPLE = Text(["[CLS]", "a", ".", "[SEP]"], maps(3, 4, 4, 4), [-1, 0, 1, -1], ("a", "."))
STEMS = ["figure1_heads", "figure2_positions", "figure2_token_kinds", "figure3_gradients", "figure4_entropy"]


def test_all_figures_in_all_formats(tmp_path):
    paths = write_figures(Atlas(tmp_path, all_tables(heads_of(3, 4)), example=EXAMPLE))
    assert paths == [tmp_path / "figures" / f"{stem}.{form}" for stem in STEMS for form in ("svg", "png", "pdf")]
    assert all(path.stat().st_size > 1000 for path in paths)


def test_only_what_there_is_data_for(tmp_path):
    tables = {"positions": all_tables([2, 1])["positions"], "dependencies": pd.DataFrame()}
    paths = write_figures(Atlas(tmp_path, tables), tmp_path / "elsewhere", formats=("png",))
    assert paths == [tmp_path / "elsewhere" / "figure2_positions.png"]
    assert write_figures(Atlas(tmp_path / "none", example=EXAMPLE)) == []


def draw_sinks(table, labels):
    """Stands for the function of an installed package."""
    if table.empty:
        raise ZeroDivisionError("nothing\nto draw")
    figure = Figure()
    figure.suptitle(f"{len(table)} heads, {labels['cls']}")
    return figure


def test_a_table_brings_its_figure(tmp_path, monkeypatch):
    declared = Table("sinks", "Where does it sink?", ONE_HEAD, figure=("sinks", f"{__name__}:draw_sinks"))
    monkeypatch.setitem(TABLES.made, "sinks", Made(declared, "survey"))
    manifest = {"model": {"special_tokens": {"cls": "<first>"}}}
    table = pd.DataFrame({"layer": [1], "head": [1]})
    (path,) = write_figures(Atlas(tmp_path, {"sinks": table}, manifest), formats=("svg",))
    assert path == tmp_path / "figures" / "sinks.svg"
    with pytest.raises(PluginError, match=r"draw_sinks cannot draw its table \(ZeroDivisionError: nothing\)\. Mend"):
        write_figures(Atlas(tmp_path, {"sinks": table.head(0)}, manifest), formats=("svg",))


def test_figure_1_shows_the_maps_of_the_chosen_heads(tmp_path):
    one_table = {"positions": all_tables(heads_of(3, 4))["positions"].query("offset == 1")}
    best = one_table["positions"].nlargest(1, "value").iloc[0]
    figure = heads_figure(Atlas(tmp_path, one_table, example=EXAMPLE))
    (axes,) = figure.axes
    assert (
        axes.get_title()
        .replace("\n", " ")
        .startswith(f"Head {best.layer:.0f}-{best['head']:.0f} attends to the next token")
    )
    weights = EXAMPLE.maps[int(best.layer) - 1, int(best["head"]) - 1]
    assert np.isclose(axes.collections[0].get_colors()[:, 3].sum(), weights[weights >= 0.01].sum())


def test_figure_1_shows_words_not_the_spelling_of_tokens(tmp_path):
    tables = {"positions": all_tables(heads_of(3, 4))["positions"].query("offset == 1")}
    tokens = ["<s>", "ĠIn", "Ġunh", "app", "ily", "Ġ,"]
    text = Text(tokens, maps(3, 4, 6, 6), [-1, 0, 1, 1, 1, 2], ("In", "unhappily", ","))
    (axes,) = heads_figure(Atlas(tmp_path, tables, example=text)).axes
    assert [drawn.get_text() for drawn in axes.texts][::2] == ["<s>", "In", "unhappily", ","]


def test_attention_between_units_is_the_sum_to_and_the_mean_from():
    weights = maps(1, 2, 4, 4)[0]
    found = between_units(weights, [0, 1, 1, 2], 3)
    np.testing.assert_allclose(found[:, 0, 1], weights[:, 0, 1] + weights[:, 0, 2], rtol=1e-6)
    np.testing.assert_allclose(found[:, 1, 2], (weights[:, 1, 3] + weights[:, 2, 3]) / 2, rtol=1e-6)


def test_a_linked_folder_of_figures_is_refused(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "atlas").mkdir()
    (tmp_path / "atlas" / "figures").symlink_to(tmp_path / "elsewhere")
    atlas = Atlas(tmp_path / "atlas", all_tables([2, 1]))
    with pytest.raises(AtlasError, match=r"figures: is a link to another folder, so nothing is written there\. Delete"):
        write_figures(atlas)
    assert not list((tmp_path / "elsewhere").iterdir())
    assert write_figures(atlas, tmp_path / "elsewhere", formats=("png",))


def test_linked_tables_are_refused(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "tables").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(AtlasError, match="tables: is a link"):
        write_tables(tmp_path, {})


def test_the_manifest_names_the_models_own_tokens(tmp_path):
    atlas = Atlas(tmp_path, all_tables([1]), {"model": {"special_tokens": {"cls": "<s>", "sep": "</s>"}}})
    paths = {path.stem: path.read_text() for path in write_figures(atlas, formats=("svg",))}
    assert "&lt;/s&gt;" in paths["figure2_token_kinds"]
    assert "from &lt;s&gt;" in paths["figure4_entropy"]


def test_figure_5_shows_the_relations_whose_heads_lead_most(tmp_path):
    baseline = np.linspace(0, 0.8, 10)
    scores = {"accuracy": 0.9, "held_out": 0.85, "baseline": baseline, "baseline_held_out": baseline}
    best = pd.DataFrame({"relation": [f"r{n}" for n in range(10)], **scores, "p_corrected": 0.001})
    examples = [
        RelationExample(f"r{n}", 1, 1, "dependent_to_head", ("a", "b"), np.full((2, 2), 0.5), ((0, 1),))
        for n in range(10)
    ]
    faint = RelationExample("faint", 1, 1, "head_to_dependent", ("a", "b"), np.array([[1, 1], [0.1, 1]]), ((0, 1),))
    chosen = clearest([faint, *reversed(examples), *examples], {"dependency_best": best})
    assert [example.relation for example in chosen] == [f"r{n}" for n in range(8)]
    assert not clearest(examples, {"dependency_best": best.assign(p_corrected=0.02)})  # no head may be named
    atlas = Atlas(tmp_path, {"dependency_best": best}, relation_examples=examples)
    assert [path.name for path in write_figures(atlas, formats=("svg",))] == ["figure5_relations.svg"]
