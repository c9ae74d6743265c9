"""Shards of an ablation: the scores of the single run, from which the same tables and curves are made."""

from __future__ import annotations

import json
import shutil

import pandas as pd
import pytest

import headatlas as ha
from headatlas.commands.ablate.passes import HeadRemoval
from headatlas.errors import AtlasError, SettingError
from typed import typed

OF = 2
QUICK = {"max_tokens": 64, "bootstrap": 50, "steps": 2, "random_orders": 2, "batch_tokens": 128, "device": "cpu"}


@pytest.fixture(scope="module")
def runs(tiny_folder, tmp_path_factory):
    folder = tmp_path_factory.mktemp("ablations")
    pairs = [("she sat by the river", "she sat the by river"), ("the dog ran", "dog the ran"), ("a cat", "cat a")]
    lines = (json.dumps({"sentence_good": good, "sentence_bad": bad}) for good, bad in pairs)
    (folder / "order.jsonl").write_text("\n".join(lines), encoding="utf-8")

    def run(out, shard=None, **options):
        common = {"text": ha.sample_text(), "pairs": folder / "order.jsonl", "task": ["masked-lm", "minimal-pairs"]}
        common |= {"examples": 8, "kind": "mean", "progress": False}
        return ha.ablate(str(tiny_folder("bert")), out=out, shard=shard, **QUICK | common | options)

    whole = run(folder / "whole")
    parts = [folder / f"part{number}" for number in range(1, OF + 1)]
    for number, part in enumerate(parts, 1):
        run(part, f"{number}/{OF}")
    return run, whole, parts


def test_the_tables_are_those_of_the_single_run(runs, tmp_path, monkeypatch):
    run, whole, parts = runs
    assert ha.merge(parts[::-1], out=tmp_path / "all") == tmp_path / "all"

    def no_more(*_arguments):
        raise AssertionError("every score is there already")

    monkeypatch.setattr(HeadRemoval, "_without", no_more)
    found = run(tmp_path / "all")
    assert set(found.tables) == set(whole.tables) == {"ablation", "importance", "removal_curve", "removable_heads"}
    for name in whole.tables:
        pd.testing.assert_frame_equal(found.tables[name], whole.tables[name], rtol=1e-9, atol=1e-12)
    assert found.manifest["summary"] == whole.manifest["summary"]
    assert ha.merge(parts, out=tmp_path / "all") == tmp_path / "all", "finished: nothing to do"


def test_every_shard_does_a_part(runs):
    sizes = [json.loads((part / "manifest.json").read_text(encoding="utf-8"))["pieces"] for part in runs[2]]
    assert all(sizes)


def test_a_shard_has_no_tables(runs):
    with pytest.raises(AtlasError, match=r"holds a shard of the results of ablate.*headatlas merge"):
        ha.open_results(runs[2][0])


def test_a_lost_piece_is_missed(runs, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(runs[2][0], copy)
    next((copy / "state").rglob("*.safetensors")).unlink()
    with pytest.raises(AtlasError, match=r"of its \d+ pieces"):
        ha.merge([copy, *runs[2][1:]], out=tmp_path / "all")


def test_what_is_trained_here_is_not_shared(tiny_folder, tmp_path):
    data = tmp_path / "data.tsv"
    data.write_text("text\tlabel\n" + "the dog ran\tdog\nthe cat sat\tcat\n" * 6, encoding="utf-8")
    with pytest.raises(SettingError, match="--shard is not available for classification"):
        ha.ablate(
            str(tiny_folder("bert")), task="classification", data=data, out=tmp_path / "out", shard="1/2", **QUICK
        )


@pytest.mark.parametrize("shard", ["0/2", "3/2", "half"])
def test_shares_that_do_not_exist(tiny_folder, tmp_path, shard):
    with pytest.raises(SettingError, match="is not valid"):
        ha.ablate("any", task="masked-lm", text=ha.sample_text(), out=tmp_path / "out", shard=shard)


def test_the_commands(runs, tiny_folder, tmp_path):
    common = ["ablate", str(tiny_folder("bert")), "--task", "masked-lm", "--text", str(ha.sample_text())]
    common += ["--examples", "4", "--max-tokens", "64", "--bootstrap", "20", "--device", "cpu", "--heads", "1-1"]
    for number in (1, 2):
        ran = typed(*common, "--shard", f"{number}/2", "--out", str(tmp_path / f"part{number}"))
        assert ran.exit_code == 0, ran.output
        assert f"(shard {number}/2).\nNext: headatlas merge DIR..." in ran.output
    ran = typed("merge", *(str(tmp_path / f"part{n}") for n in (1, 2)), "--out", str(tmp_path / "all"))
    assert ran.exit_code == 0, ran.output
    assert "without --shard" in ran.output
    ran = typed(*common, "--out", str(tmp_path / "all"))
    assert ran.exit_code == 0, ran.output
