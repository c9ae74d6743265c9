"""Summaries that a notebook shows: tables, sizes and what they answer, and hostile names stay text."""

import json

import pytest

from headatlas.errors import AtlasError
from headatlas.results.atlas import Atlas
from headatlas.results.comparison import Comparison

HOSTILE = "<script>alert(1)</script>"


def write(folder, form, **manifest):
    (folder / "manifest.json").write_text(json.dumps({"format": form, **manifest}), encoding="utf-8")
    return folder


def test_an_atlas_tells_its_tables(tmp_path):
    model = {"name": HOSTILE, "heads": [4, 3]}
    folder = write(tmp_path, "headatlas-atlas-1", model=model, tables={"positions": 42})
    html = Atlas(folder)._repr_html_()
    assert "7 heads in 2 layers" in html
    assert "<td>42</td>" in html
    assert "previous" in html
    assert "<script" not in html


@pytest.mark.parametrize("name", [HOSTILE, "../secret", "", "a b"])
def test_a_table_whose_name_is_no_name_is_refused(tmp_path, name):
    atlas = Atlas(write(tmp_path, "headatlas-atlas-1", tables={name: 1}))
    with pytest.raises(AtlasError, match=r"manifest\.json: cannot be read \(its tables are not names"):
        len(atlas.tables)


def test_a_comparison_names_both_models(tmp_path):
    sides = {side: {"model": {"name": f"{side}<b>"}} for side in "ab"}
    html = Comparison(write(tmp_path, "headatlas-comparison-1", tables={"differences": 9}, **sides))._repr_html_()
    assert "Comparison of a&lt;b&gt; and b&lt;b&gt;" in html
    assert "<td>9</td>" in html
