"""Shards of a survey put together: the tables of the single run, and clear words where that cannot be."""

from __future__ import annotations

import json
import shutil

import pandas as pd
import pytest

import headatlas as ha
from headatlas.commands.survey.reopen import reopen_studies
from headatlas.corpora.sample import sample_treebank
from headatlas.engine.run_folder import read_manifest
from headatlas.errors import AtlasError, SettingError
from typed import typed

OF = 3


@pytest.fixture(scope="module")
def surveys(tiny_folder, tmp_path_factory):
    """The single run and its shards, on a text, a treebank with control, and coreference."""
    folder = tmp_path_factory.mktemp("shards")
    trees = folder / "trees.conllu"
    sentences = sample_treebank().read_text(encoding="utf-8").split("\n\n")[:40]
    trees.write_text("\n\n".join(sentences) + "\n\n", encoding="utf-8")

    def survey(name, shard=None, **options):
        defaults = {"text": ha.sample_text(), "treebank": trees, "coreference": trees, "segments": 12, "bootstrap": 20}
        defaults |= {"max_tokens": 64, "control": "fresh", "device": "cpu", "examples": 6}
        return ha.survey(str(tiny_folder("bert")), out=folder / name, shard=shard, progress=False, **defaults | options)

    whole = survey("whole")
    for number in range(1, OF + 1):
        survey(f"part{number}", f"{number}/{OF}")
    survey("other", f"1/{OF}", seed=1)
    return whole, folder


@pytest.fixture
def parts(surveys):
    return [surveys[1] / f"part{number}" for number in range(1, OF + 1)]


@pytest.mark.parametrize("order", [slice(None), slice(None, None, -1)], ids=["in order", "backwards"])
def test_the_tables_are_those_of_the_single_run(surveys, parts, tmp_path, order):
    whole = surveys[0]
    merged = ha.merge(parts[order], out=tmp_path / "atlas")
    assert set(merged.tables) == set(whole.tables)
    for name in whole.tables:
        pd.testing.assert_frame_equal(merged.tables[name], whole.tables[name], rtol=1e-9, atol=1e-12)
    counted = [name for name in whole.tables if "count" in whole.tables[name]]
    assert len(counted) > 5
    for name in counted:
        assert merged.tables[name]["count"].tolist() == whole.tables[name]["count"].tolist()
    assert merged.manifest["corpora"] == whole.manifest["corpora"]
    assert merged.manifest["settings"] == whole.manifest["settings"]
    assert [one.tokens for one in merged.examples] == [one.tokens for one in whole.examples]


def test_what_is_merged_can_be_merged_and_reopened_again(parts, tmp_path):
    merged = ha.merge(parts, out=tmp_path / "atlas")
    finished = merged.manifest["finished"]
    assert ha.merge(parts, out=tmp_path / "atlas").manifest["finished"] == finished
    found = {name for study in reopen_studies(merged) for name in study.frames()}
    assert found == set(merged.tables) - {"behaviours"}


def test_a_shard_is_not_an_atlas_yet(parts):
    with pytest.raises(AtlasError, match=r"holds a shard of the results of survey.*headatlas merge"):
        ha.open_atlas(parts[0])
    assert not (parts[0] / "tables").exists()


def test_a_missing_shard_is_named(parts, tmp_path):
    with pytest.raises(AtlasError, match=r"^1 shard missing: 2\. Run"):
        ha.merge([parts[0], parts[2]], out=tmp_path / "atlas")


def test_a_shard_named_twice_is_refused(parts, tmp_path):
    with pytest.raises(AtlasError, match=r"is shard 1/3, and so is"):
        ha.merge([*parts, parts[0]], out=tmp_path / "atlas")


def test_a_shard_of_another_run_is_refused(surveys, parts, tmp_path):
    with pytest.raises(AtlasError, match=r"another run.*seed 0 instead of 1"):
        ha.merge([*parts[1:], surveys[1] / "other"], out=tmp_path / "atlas")


def test_an_atlas_is_no_shard(surveys, tmp_path):
    with pytest.raises(AtlasError, match=r"is not a shard\. Make shards with --shard"):
        ha.merge([surveys[0].folder], out=tmp_path / "atlas")


def test_an_unfinished_shard_is_refused(parts, tmp_path):
    unfinished = tmp_path / "unfinished"
    shutil.copytree(parts[0], unfinished)
    manifest = read_manifest(unfinished) | {"complete": False}
    (unfinished / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(AtlasError, match="has not finished"):
        ha.merge([unfinished, *parts[1:]], out=tmp_path / "atlas")


def test_a_shard_without_its_sums_is_refused(parts, tmp_path):
    broken = tmp_path / "broken"
    shutil.copytree(parts[0], broken)
    (broken / "state" / "treebank-control.safetensors").unlink()
    with pytest.raises(AtlasError, match=r"treebank-control\.safetensors: is missing"):
        ha.merge([broken, *parts[1:]], out=tmp_path / "atlas")


def test_nothing_to_merge_is_refused(tmp_path):
    with pytest.raises(SettingError, match="No shard is given"):
        ha.merge([], out=tmp_path / "atlas")


def test_a_share_without_inputs_counts_as_nothing(surveys, tiny_folder, tmp_path):
    def survey(name, shard=None):
        out = tmp_path / name
        options = {"segments": 2, "max_tokens": 40, "bootstrap": 5, "device": "cpu", "progress": False}
        return ha.survey(str(tiny_folder("bert")), text=ha.sample_text(), out=out, shard=shard, **options)

    for number in range(1, 9):
        survey(f"part{number}", f"{number}/8")
    merged = ha.merge([tmp_path / f"part{number}" for number in range(1, 9)], out=tmp_path / "atlas")
    whole = survey("whole")
    pd.testing.assert_frame_equal(merged.tables["entropy"], whole.tables["entropy"], rtol=1e-9, atol=1e-12)


def test_from_the_command_line(parts, tmp_path):
    called = typed("merge", *map(str, parts), "--out", str(tmp_path / "atlas"), "--no-figures")
    assert called.exit_code == 0, called.output
    assert "Not run: figure 5" in called.output
    assert (tmp_path / "atlas" / "tables" / "entropy.parquet").exists()


def test_every_shard_resamples_the_documents_of_the_whole(tiny_folder, tmp_path):
    """24 documents, of which no shard of four has 20: all resample documents, and the sums are those of one run."""
    lines = [f"The old man saw {number} dogs, and they ran." for number in range(4)]
    text = tmp_path / "text.txt"
    text.write_text("\n\n".join("\n".join(lines) for _ in range(24)) + "\n", encoding="utf-8")
    options = {"text": text, "studies": ["positions"], "segments": 60, "max_tokens": 24, "bootstrap": 50}
    options |= {"device": "cpu", "progress": False, "examples": 1}
    whole = ha.survey(str(tiny_folder("bert")), out=tmp_path / "whole", **options)
    parts = [tmp_path / f"part{number}" for number in range(1, 5)]
    for number, part in enumerate(parts, 1):
        ha.survey(str(tiny_folder("bert")), out=part, shard=f"{number}/4", **options)
        about = read_manifest(part)["corpora"]["text"]
        assert (about["resampled_by"], about["resampled"]) == ("document", 24)
    merged = ha.merge(parts, out=tmp_path / "merged", progress=False)
    pd.testing.assert_frame_equal(merged.tables["positions"], whole.tables["positions"])
    drawn = [next(iter(reopen_studies(atlas))).replicates()["positions"] for atlas in (whole, merged)]
    pd.testing.assert_frame_equal(*map(pd.DataFrame, drawn))
    assert whole.tables["positions"]["count"].iloc[0] > 24
