"""Shards of maps put together: the store of the single extraction."""

from __future__ import annotations

import json
import re
import shutil

import numpy as np
import pytest

import headatlas as ha
from headatlas.errors import AtlasError, SettingError
from typed import typed

OF = 3


@pytest.fixture(scope="module")
def stores(tiny_folder, tmp_path_factory):
    """The single store and its shards, with small files so that there are several of each."""
    folder = tmp_path_factory.mktemp("stores")
    trees = folder / "trees.conllu"
    sentences = ha.sample_treebank().read_text(encoding="utf-8").split("\n\n")[:30]
    trees.write_text("\n\n".join(sentences) + "\n\n", encoding="utf-8")

    def extract(name, shard=None, **options):
        common = {
            "treebank": trees,
            "hidden_states": True,
            "dtype_stored": "float32",
            "shard_megabytes": 1,
            "max_tokens": 64,
        }
        model = str(tiny_folder("bert"))
        return ha.extract(model, out=folder / name, shard=shard, device="cpu", progress=False, **common | options)

    whole = extract("whole")
    for number in range(1, OF + 1):
        extract(f"part{number}", f"{number}/{OF}")
    extract("other", f"1/{OF}", max_tokens=32)
    return whole, folder


@pytest.fixture
def parts(stores):
    return [stores[1] / f"part{number}" for number in range(1, OF + 1)]


def test_the_maps_are_those_of_the_single_run(stores, parts, tmp_path):
    whole, merged = stores[0], ha.merge(parts[::-1], out=tmp_path / "maps", progress=False)
    assert [example.id for example in merged.examples] == [example.id for example in whole.examples]
    assert merged.index.settings == whole.index.settings
    assert merged.index.corpora == whole.index.corpora
    assert [shard.examples for shard in merged.index.files] == [shard.examples for shard in whole.index.files]
    for one, other in zip(merged, whole, strict=True):
        assert one.words == other.words
        np.testing.assert_allclose(one.maps, other.maps, atol=1e-6)
        np.testing.assert_allclose(one.states, other.states, atol=1e-5)
    merged.verify()


def test_merged_maps_are_surveyed(parts, tmp_path):
    ha.merge(parts, out=tmp_path / "maps", progress=False)
    atlas = ha.survey(maps=tmp_path / "maps", out=tmp_path / "atlas", bootstrap=10, progress=False)
    assert "dependencies" in atlas.tables


def test_a_shard_is_a_store_of_its_own(parts):
    assert 0 < len(ha.open_store(parts[0])) < 30


def test_more_shards_than_inputs(tiny_folder, tmp_path):
    common = {"treebank": ha.sample_treebank(), "sentences": 4, "max_tokens": 64, "device": "cpu", "progress": False}
    folders = [tmp_path / str(number) for number in range(1, 7)]
    for number, folder in enumerate(folders, 1):
        ha.extract(str(tiny_folder("bert")), out=folder, shard=f"{number}/6", **common)
    whole = ha.extract(str(tiny_folder("bert")), out=tmp_path / "whole", **common)
    merged = ha.merge(folders, out=tmp_path / "maps", progress=False)
    assert [example.id for example in merged.examples] == [example.id for example in whole.examples]


def test_shards_that_do_not_belong_together(stores, parts, tmp_path):
    with pytest.raises(AtlasError, match="is a shard of another run"):
        ha.merge([stores[1] / "other", *parts[1:]], out=tmp_path / "maps")
    with pytest.raises(AtlasError, match=r"^1 shard missing: 2\. Run"):
        ha.merge([parts[0], parts[2]], out=tmp_path / "maps")


def test_an_altered_shard_is_refused(parts, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(parts[0], copy)
    file = copy / "maps-00000.safetensors"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    with pytest.raises(AtlasError, match="altered since written"):
        ha.merge([copy, *parts[1:]], out=tmp_path / "maps")


@pytest.mark.parametrize(
    "damage",
    [
        lambda _: [],
        lambda places: places[:1] * len(places),
        lambda _: None,
        lambda _: 7,
        lambda places: [[]] * len(places),
        lambda places: ["0", *places[1:]],
    ],
    ids=["none", "twice", "null", "a number", "lists", "a text"],
)
def test_an_index_without_its_places(parts, tmp_path, damage):
    copy = tmp_path / "copy"
    shutil.copytree(parts[0], copy)
    index = json.loads((copy / "index.json").read_text(encoding="utf-8"))
    own = index["corpora"]["treebank"]
    own["places"] = damage(own["places"])
    (copy / "index.json").write_text(json.dumps(index), encoding="utf-8")
    with pytest.raises(AtlasError, match=r"places of its examples are missing|hold the same examples"):
        ha.merge([copy, *parts[1:]], out=tmp_path / "maps")


def test_whole_stores_are_no_shards(stores, tmp_path):
    with pytest.raises((AtlasError, SettingError), match="not a shard"):
        ha.merge([stores[1] / "whole"], out=tmp_path / "maps")


def test_the_commands(tiny_folder, tmp_path):
    for number in (1, 2):
        options = ["--treebank", str(ha.sample_treebank()), "--sentences", "6", "--max-tokens", "64", "--device", "cpu"]
        shard = ["--shard", f"{number}/2", "--out", str(tmp_path / f"part{number}")]
        ran = typed("extract", str(tiny_folder("bert")), *options, *shard)
        assert ran.exit_code == 0, ran.output
        assert f"(shard {number}/2).\nNext: headatlas merge DIR..." in ran.output
    ran = typed("merge", *(str(tmp_path / f"part{n}") for n in (1, 2)), "--out", str(tmp_path / "maps"))
    assert ran.exit_code == 0, ran.output
    assert re.search(r"maps between words of \d examples", ran.output)
