"""The comparison of two checkouts finds every kind of difference between their results, and no others."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import save_file

from scripts.compare_checkouts import (
    COMMANDS,
    compare_results,
    compare_tables,
    compare_values,
    flatten,
    sources,
    with_sources,
)

TABLE = pd.DataFrame(
    {"layer": [1, 1, 2], "kind": ["cls", None, "sep"], "value": [0.25, np.nan, 0.5], "seconds": [1.0, 2.0, 3.0]}
)


def differences(new: pd.DataFrame, tolerance: float = 0.0) -> list[str]:
    return list(compare_tables(TABLE, new, tolerance))


def test_equal_tables_are_equal_with_nan_and_other_times():
    assert differences(TABLE.copy()) == []
    assert differences(TABLE.assign(seconds=[7.0, 8.0, 9.0])) == []


@pytest.mark.parametrize(
    ("new", "words"),
    [
        (TABLE.assign(value=[0, np.nan, 0.5]),
         "column value: 1 of 3 cells differ, largest difference 0.25, first at [0]"),
        (TABLE.assign(value=[0.25, 0.5, 0.5]),
         "column value: 1 of 3 cells differ, largest difference inf, first at [1]"),
        (TABLE.assign(value=[0.25, np.nan, np.nan]),
         "column value: 1 of 3 cells differ, largest difference inf, first at [2]"),
        (TABLE.assign(kind=["cls", "comma", "sep"]), "column kind: 1 of 3 cells differ, first at [1]"),
        (TABLE.assign(layer=[1, 1, 3]), "column layer: 1 of 3 cells differ, largest difference 1, first at [2]"),
        (TABLE.assign(more=0), "column more is new"),
        (TABLE.drop(columns="kind"), "column kind is missing"),
        (TABLE[["kind", "layer", "value"]], "the order of columns changed"),
        (TABLE.astype({"layer": "int32"}), "column layer: int64 became int32"),
        (TABLE[:2], "3 rows became 2"),
        (TABLE[::-1].reset_index(drop=True), "the order of rows changed; compared in the order of layer, kind"),
    ],
)  # fmt: skip
def test_each_kind_of_difference_is_named(new, words):
    assert differences(new) == [words]


def test_cells_are_compared_although_rows_moved():
    moved = TABLE.assign(value=[0.25, np.nan, 0.75])[::-1].reset_index(drop=True)
    assert len(differences(moved)) == 2
    assert "largest difference 0.25" in differences(moved)[1]


def test_a_tolerance_allows_that_much_and_no_more():
    moved = TABLE.assign(value=[0.25, np.nan, 0.5 + 1e-9])
    assert len(differences(moved)) == 1
    assert differences(moved, tolerance=1e-8) == []
    assert len(differences(moved, tolerance=1e-10)) == 1


def test_infinities_and_large_integers_are_compared_exactly():
    endless = np.array([np.inf, -np.inf])
    assert compare_values(endless, endless.copy()) is None
    assert compare_values(endless, -endless) is not None
    large = np.array([2**60, 2**60])
    assert compare_values(large, large + np.array([0, 1])) is not None


def test_manifests_are_compared_by_path():
    values = flatten({"text": {"segments": 3, "files": ["a"], "left": [None, True]}})
    assert list(values) == ["text.segments", "text.left.0", "text.left.1"]


def write_results(folder, value=1.0, count=3):
    (folder / "probe" / "tables").mkdir(parents=True)
    (folder / "probe" / "state").mkdir()
    TABLE.to_parquet(folder / "probe" / "tables" / "kinds.parquet")
    weights = {"maps": np.array([value, np.nan], np.float32)}
    save_file(weights, folder / "probe" / "maps.safetensors", {"examples": json.dumps([{"tokens": ["a"]}])})
    save_file({"sums": np.array([value])}, folder / "probe" / "state" / "text.safetensors")
    manifest = {"seconds": value, "summary": {"count": count, "words": "three"}}
    (folder / "probe" / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    return folder


def test_results_are_compared_file_by_file(tmp_path, capsys):
    old, same = write_results(tmp_path / "old"), write_results(tmp_path / "same")
    assert compare_results(old, same, "probe") == 0
    assert capsys.readouterr().out == "probe: 3 of 3 files are equal\n"

    new = write_results(tmp_path / "new", value=1.5, count=4)
    (new / "probe" / "tables" / "kinds.parquet").unlink()
    assert compare_results(old, new, "probe") == 3
    printed = capsys.readouterr().out
    assert "tables/kinds.parquet: is missing" in printed
    assert "maps.safetensors: maps: 1 of 2 cells differ, largest difference 0.5" in printed
    assert "manifest.json: summary.count: 3 became 4" in printed
    assert compare_results(old, new, "layers") == 1, "neither checkout made them"


def test_commands_run_after_those_they_read_from():
    order = list(COMMANDS)
    for name in order:
        assert all(order.index(source) < order.index(name) for source in sources(name)), name
    assert with_sources(["merge"]) == ["shard-1", "shard-2", "merge"]
