"""`headatlas extract` as a person meets it."""

from __future__ import annotations

import re

import numpy as np
import pytest

from typed import typed


def run(*arguments):
    done = typed(*arguments)
    assert done.exit_code == 0, done.output
    return done.output


@pytest.fixture
def npz(tmp_path):
    path = tmp_path / "fox.npz"
    np.savez(path, attn=np.full((2, 3, 4, 4), 0.25, np.float32), tokens=np.array(["[CLS]", "a", "fox", "[SEP]"]))
    return path


def test_extract_check_and_survey(tiny_folder, tmp_path):
    trees = tmp_path / "trees.conllu"
    trees.write_text("1\tdogs\t_\t_\t_\t_\t2\tnsubj\t_\t_\n2\tran\t_\t_\t_\t_\t0\troot\t_\t_\n\n", encoding="utf-8")
    options = ["--treebank", trees, "--out", tmp_path / "maps", "--max-tokens", "60", "--device", "cpu"]
    told = run("extract", tiny_folder("bert"), *options)
    assert re.search(r"2 layers x 4 heads, maps between words of 1 example, float16\n", told)
    assert "All files match their checksums." in run("extract", "--check", tmp_path / "maps")
    shard = tmp_path / "maps" / "maps-00000.safetensors"
    shard.write_bytes(bytes(shard.stat().st_size))
    assert "altered since written" in typed("extract", "--check", tmp_path / "maps").output


def test_import_and_survey(npz, tmp_path):
    told = run("extract", "--import", npz, "--out", tmp_path / "maps", "--dtype-stored", "float32")
    assert "fox: 2 layers x 3 heads, maps between tokens of 1 example, float32" in told
    surveyed = run("survey", "--maps", tmp_path / "maps", "--out", tmp_path / "atlas", "--no-figures")
    assert "6 heads, on\n  1 segment (4 tokens)" in surveyed
    assert "Not run: gradients: stored maps have no loss" in surveyed
    assert (tmp_path / "atlas" / "tables" / "token_kinds.csv").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "No model given"),
        (["bert", "--import", "x.npz"], "MODEL and --import exclude each other"),
        (["--import", "x.npz", "--check", "maps"], "--import and --check exclude each other"),
        (["bert"], "There is nothing to extract maps from"),
    ],
)
def test_what_to_extract_must_be_clear(arguments, message):
    done = typed("extract", *arguments)
    assert done.exit_code == 1
    assert message in done.output


def test_several_files_are_imported_into_the_usual_folder(npz, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    other = tmp_path / "other.npz"
    other.write_bytes(npz.read_bytes())
    assert "maps between tokens of 2 examples" in run("extract", "--import", npz, other)
    assert (tmp_path / "maps" / "index.json").exists()
