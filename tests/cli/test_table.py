"""headatlas table, as typed."""

from __future__ import annotations

import io

import pandas as pd
import pytest

from headatlas.errors import HeadatlasError
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
    assert table(atlas.folder, "dependencies", "--out", out).strip() == str(out)
    assert mark in out.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing"], "It has: dependencies, dependency_best"),
        (["dependencies", "--format", "html"], '"terminal", "csv", "markdown", "latex"'),
        (["dependencies", "--sort", "beauty"], "published_accuracy"),
        (["dependencies", "--rows", "0"], "at least 1"),
        (["dependencies", "--out", "nowhere/t.csv"], "nowhere"),
    ],
)
def test_mistakes_are_explained(atlas, arguments, message):
    with pytest.raises(HeadatlasError, match=message):
        table(atlas.folder, *arguments)
