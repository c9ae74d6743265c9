"""headatlas table, as typed."""

from __future__ import annotations

import io
import json
import math

import pandas as pd
import pytest

from headatlas.errors import HeadatlasError
from headatlas.results.view import plain_view
from tests.views.published.surveyed_tables import all_tables, write_atlas
from typed import typed


@pytest.fixture
def atlas(tmp_path):
    return write_atlas(tmp_path / "atlas", all_tables())


def table(*arguments, columns="200"):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", columns)
        ended = typed("table", *arguments)
    if ended.exit_code:
        raise HeadatlasError(" ".join(ended.stderr.split()))
    return ended.stdout


def test_the_comparison_on_a_screen(atlas):
    shown = table(atlas.folder, "dependencies")
    assert "Published: BERT-base uncased" in shown
    (row,) = [line for line in shown.splitlines() if line.startswith("obj ")]
    assert " ".join(row.split()) == "obj 999 3-2 h->d 51.0 [48.0, 52.0] 49.0 40.0 (-2) dobj 8-10 d->h 86.8 40.0 (-2)"


@pytest.mark.parametrize("name", ["dependencies", "coreference", "dependency_best"])
def test_eighty_columns_are_enough_and_cut_nothing(atlas, name):
    narrow, wide = table(atlas.folder, name, columns="80"), table(atlas.folder, name)
    assert max(map(len, narrow.splitlines())) <= 80
    assert set(wide.replace("-", " ").split()) <= set(narrow.replace("-", " ").split())
    assert "…" not in narrow


def test_raw_sorted_cut_csv(atlas):
    shown = table(atlas.folder, "coreference", "--raw", "--format", "csv", "--sort", "accuracy", "--rows", 2)
    frame = pd.read_csv(io.StringIO(shown))
    best = atlas.tables["coreference"].sort_values("accuracy", ascending=False, kind="stable").head(2)
    assert frame["accuracy"].tolist() == best["accuracy"].tolist()
    assert table(atlas.folder, "coreference", "--raw", "--sort", "-accuracy", "--rows", 1).count("\n") > 3


@pytest.mark.parametrize(("suffix", "mark"), [("tex", "\\toprule"), ("md", "| ---"), ("csv", "published_layer")])
def test_a_file_by_its_suffix(atlas, tmp_path, suffix, mark):
    out = tmp_path / f"table.{suffix}"
    assert table(atlas.folder, "dependencies", "--out", out).strip().startswith(f"Wrote {out}.\nNext: ")
    assert mark in out.read_text(encoding="utf-8")


def test_json_has_every_row_with_all_digits(atlas):
    record = json.loads(table(atlas.folder, "coreference", "--raw", "--json", "--sort", "accuracy", "--rows", 2))
    best = atlas.tables["coreference"].sort_values("accuracy", ascending=False, kind="stable").head(2)
    assert record["command"] == "table"
    assert [row["accuracy"] for row in record["rows"]] == best["accuracy"].tolist()
    assert list(record["rows"][0]) == list(best)
    listed = json.loads(table(atlas.folder, "--json"))["rows"]
    assert {row["table"]: row["rows"] for row in listed} == {name: len(rows) for name, rows in atlas.tables.items()}
    assert all(row["about"] for row in listed)


def test_json_has_no_number_that_json_lacks():
    frame = pd.DataFrame({"a": [1, 2, 3], "b": [math.nan, math.inf, 1e-300], "c": ["x", None, "y"]})
    assert plain_view(frame).records() == [
        {"a": 1, "b": None, "c": "x"},
        {"a": 2, "b": None, "c": None},
        {"a": 3, "b": 1e-300, "c": "y"},
    ]


def test_a_file_and_json_name_the_file(atlas, tmp_path):
    out = tmp_path / "table.csv"
    assert json.loads(table(atlas.folder, "dependencies", "--out", out, "--json"))["files"] == [str(out)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing"], "It has: dependencies, dependency_best"),
        (["dependencies", "--format", "html"], '"terminal", "csv", "markdown", "latex"'),
        (["dependencies", "--sort", "beauty"], "published_accuracy"),
        (["dependencies", "--format", "csv", "--json"], "Remove one of the two options"),
        (["dependencies", "--rows", "0"], "at least 1"),
        (["dependencies", "--out", "nowhere/t.csv"], "nowhere"),
    ],
)
def test_mistakes_are_explained(atlas, arguments, message):
    with pytest.raises(HeadatlasError, match=message):
        table(atlas.folder, *arguments)
