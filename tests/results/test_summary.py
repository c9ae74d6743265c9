"""Summaries that a notebook shows: tables, sizes and what they answer, and hostile names stay text."""

import copy

import pandas as pd
import pytest

from headatlas.engine.run_folder import write_manifest
from headatlas.errors import AtlasError
from headatlas.results.atlas import Atlas, Comparison
from headatlas.results.folder import Results

HOSTILE = "<script>alert(1)</script>"


def write(folder, command, **manifest):
    write_manifest(folder, {"command": command, **manifest})
    return folder


def test_an_atlas_tells_its_tables(tmp_path):
    model = {"name": HOSTILE, "heads": [4, 3]}
    folder = write(tmp_path, "survey", model=model, tables={"positions": 42})
    html = Atlas(folder)._repr_html_()
    assert "7 heads in 2 layers" in html
    assert "<td>42</td>" in html
    assert "previous" in html
    assert "<script" not in html


@pytest.mark.parametrize("name", [HOSTILE, "../secret", "", "a b"])
def test_a_table_whose_name_is_no_name_is_refused(tmp_path, name):
    atlas = Atlas(write(tmp_path, "survey", tables={name: 1}))
    with pytest.raises(AtlasError, match=r"manifest\.json: cannot be read \(its tables are not names"):
        len(atlas.tables)


def test_a_comparison_names_both_models(tmp_path):
    sides = {side: {"model": {"name": f"{side}<b>"}, "tables": {}} for side in "ab"}
    html = Comparison(write(tmp_path, "compare", tables={"differences": 9}, **sides))._repr_html_()
    assert "Comparison of a&lt;b&gt; and b&lt;b&gt;" in html
    assert "<td>9</td>" in html


def test_results_name_their_command_and_model(tmp_path):
    html = Results(write(tmp_path, "layers", model={"name": "b<i>", "heads": [4, 3]}, tables={}))._repr_html_()
    assert "Results of layers for b&lt;i&gt;: 7 heads in 2 layers" in html


def test_tables_are_listed_completed_and_read_by_name(tmp_path):
    tables = {"positions": 1, "head_map": 2000}
    frame = pd.DataFrame([{"layer": 1, "head": 1, "offset": -1, "value": 0.5}])
    folder = write(tmp_path, "survey", model={"name": "bert", "heads": [2]}, tables=tables)
    (folder / "tables").mkdir()
    frame.to_parquet(folder / "tables" / "positions.parquet")
    atlas = Atlas(folder)
    said = repr(atlas.tables)
    assert said.startswith('2 tables; tables["positions"] is a pandas frame\n  positions      1 rows  How much')
    assert "head_map   2,000 rows" in said
    assert atlas.tables._ipython_key_completions_() == list(tables)
    assert set(tables) <= set(dir(atlas.tables))
    pd.testing.assert_frame_equal(atlas.tables.positions, frame)
    with pytest.raises(AttributeError, match="no table 'entropy'; the tables are: positions, head_map"):
        _ = atlas.tables.entropy
    assert len(copy.copy(atlas.tables)) == 2
    for step in ('atlas.tables["positions"]', "headatlas.show_atlas(atlas)", "Tables: positions, head_map"):
        assert step in repr(atlas)
