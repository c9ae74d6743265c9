"""The atlas folder: tables in both formats and manifest, whole or refused."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from headatlas.engine.run_folder import write_manifest
from headatlas.errors import AtlasError
from headatlas.results.atlas import Atlas, Comparison, open_atlas, open_results
from headatlas.results.folder import Results, write_tables
from headatlas.results.tables import TABLES
from random_maps import TEXT_STUDIES, batch_of, random_segments, show


@pytest.fixture
def tables():
    batches = [batch_of(random_segments([5, 3]))]
    studies = [show(study(replicates=20), batches) for study in TEXT_STUDIES.values()]
    return {name: table for study in studies for name, table in study.frames().items()}


@pytest.fixture
def folder(tmp_path, tables):
    rows = write_tables(tmp_path, tables)
    write_manifest(tmp_path, {"command": "survey", "complete": True, "tables": rows})
    return tmp_path


def test_every_study_has_a_schema_and_keeps_it(tables):
    assert TEXT_STUDIES.keys() <= tables.keys() <= TABLES.keys()
    for name, table in tables.items():
        assert list(TABLES[name].conform(table)) == TABLES[name].names


def test_the_promised_columns():
    columns = {name: table.names for name, table in TABLES.items()}
    beside = ["low", "high", "count", "expected", "control"]
    assert columns["positions"] == ["layer", "head", "offset", "value", *beside]
    assert columns["token_kinds"] == ["layer", "head", "kind", "value", *beside]
    assert columns["entropy"] == ["layer", "head", "source", "value", "low", "high", "expected", "count", "control"]
    assert columns["gradients"] == [name for name in columns["token_kinds"] if name != "expected"]
    assert columns["token_kinds_layers"] == ["layer", "kind", "value", "low", "high", "control"]
    assert columns["head_distances"] == ["layer_a", "head_a", "layer_b", "head_b", "value", "per_token", "count"]
    assert columns["head_map"] == ["layer", "head", "x", "y", "cluster"]
    assert columns["behaviours"] == ["layer", "head", "label", "strength", "evidence", "kind"]


def test_a_table_with_other_columns_is_refused(tables):
    with pytest.raises(AtlasError, match="positions"):
        TABLES["positions"].conform(tables["positions"].drop(columns="count"))


def test_parquet_and_csv_hold_the_same_numbers(folder, tables):
    atlas = open_atlas(folder)
    for name in tables:
        from_csv = pd.read_csv(folder / "tables" / f"{name}.csv")
        pd.testing.assert_frame_equal(atlas.tables[name], from_csv, check_dtype=False)
        pd.testing.assert_frame_equal(atlas.tables[name], TABLES[name].conform(tables[name]), check_dtype=False)


def test_a_very_long_table_is_in_parquet_alone(tmp_path, tables, monkeypatch):
    monkeypatch.setattr("headatlas.results.folder.MOST_CSV_ROWS", len(tables["positions"]) - 1)
    rows = write_tables(tmp_path, {name: tables[name] for name in ("positions", "max_attention")})
    assert sorted(path.name for path in (tmp_path / "tables").glob("*.csv")) == ["max_attention.csv"]
    write_manifest(tmp_path, {"command": "survey", "complete": True, "tables": rows})
    pd.testing.assert_frame_equal(Atlas(tmp_path).tables["positions"], TABLES["positions"].conform(tables["positions"]))


def test_whether_a_table_exists_is_known_without_reading_it(folder):
    for path in (folder / "tables").iterdir():
        path.unlink()
    assert "positions" in Atlas(folder).tables
    assert "unknown" not in Atlas(folder).tables


def test_an_unknown_table_names_those_there_are(folder):
    with pytest.raises(KeyError, match="positions"):
        open_atlas(folder).tables["posit"]


def test_a_folder_without_manifest_is_no_atlas(tmp_path):
    with pytest.raises(AtlasError, match=r"no results here.*headatlas survey"):
        open_atlas(tmp_path)


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "{}", '{"format": "other"}', '{"format": "headatlas-run-1"}', "\x00\xff"]
)
def test_a_damaged_manifest_is_refused(tmp_path, content):
    (tmp_path / "manifest.json").write_text(content, encoding="utf-8")
    with pytest.raises(AtlasError, match="manifest"):
        open_atlas(tmp_path)


def test_an_unfinished_run_is_not_opened_and_not_called_a_survey(tmp_path):
    write_manifest(tmp_path, {"command": "ablate", "complete": False})
    with pytest.raises(AtlasError, match=r"this run has not finished\. Run the same command again") as error:
        open_results(tmp_path)
    assert "survey" not in str(error.value).removeprefix(str(tmp_path))


def test_a_damaged_table_is_refused(folder):
    (folder / "tables" / "positions.parquet").write_bytes(b"PAR1 no more")
    with pytest.raises(AtlasError, match=r"positions\.parquet"):
        _ = open_atlas(folder).tables["positions"]


def test_the_manifest_is_readable_json(folder):
    assert json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["tables"]["positions"] == 18


def test_a_table_is_measured_before_it_is_read(folder, tables, monkeypatch):
    path = folder / "tables" / "positions.parquet"
    frame = pd.read_parquet(path)
    pd.concat([frame] * 50).to_parquet(path, index=False)
    monkeypatch.setattr(pd, "read_parquet", lambda _: pytest.fail("it was read"))
    rows = len(tables["positions"])
    with pytest.raises(AtlasError, match=rf"positions\.parquet: .* {50 * rows:,} rows, but the manifest says {rows}\)"):
        open_atlas(folder).tables["positions"]
    manifest = json.loads((folder / "manifest.json").read_text())
    write_manifest(folder, manifest | {"tables": manifest["tables"] | {"positions": 50 * rows}})
    monkeypatch.setattr("headatlas.results.folder.MOST_CELLS", 300 * rows)
    with pytest.raises(AtlasError, match=r"positions\.parquet: .* cells, more than .*HEADATLAS_LIMITS=10"):
        open_atlas(folder).tables["positions"]


@pytest.mark.parametrize("name", ["examples", "relation_examples"])
def test_a_sparse_file_of_examples_is_refused_unread(folder, name):
    with (folder / f"{name}.safetensors").open("wb") as file:
        file.truncate(60_000_000_000)
    with pytest.raises(AtlasError, match=rf"{name}\.safetensors: damaged \(it has 60,000,000,000 bytes, more than"):
        open_atlas(folder).relation_examples if name == "relation_examples" else open_atlas(folder).examples


def test_a_sparse_manifest_is_refused_unread(folder):
    with (folder / "manifest.json").open("wb") as file:
        file.truncate(60_000_000_000)
    with pytest.raises(AtlasError, match=r"manifest\.json: cannot be read \(it has 60,000,000,000 bytes"):
        open_atlas(folder)


@pytest.mark.parametrize(
    ("command", "opened"),
    [("survey", Atlas), ("compare", Comparison), ("layers", Results), ("ablate", Results), ("probe", Results)],
)
def test_results_are_opened_as_what_their_command_makes(tmp_path, command, opened):
    write_manifest(tmp_path, {"command": command, "complete": True})
    assert type(open_results(tmp_path)) is opened


@pytest.mark.parametrize("command", ["layers", "ablate", "compare"])
def test_results_of_other_commands_are_not_a_survey(tmp_path, command):
    write_manifest(tmp_path, {"command": command, "complete": True})
    with pytest.raises(AtlasError, match=rf"holds the results of {command}, not a survey\. .*headatlas survey"):
        open_atlas(tmp_path)
