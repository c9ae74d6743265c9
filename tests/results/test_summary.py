"""Summaries that a notebook shows: tables, sizes and what they answer, and hostile names stay text."""

import pytest

from headatlas.engine.run_folder import write_manifest
from headatlas.errors import AtlasError
from headatlas.results.atlas import Atlas
from headatlas.results.comparison import Comparison
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
