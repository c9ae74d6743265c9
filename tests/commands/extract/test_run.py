"""Stores end to end on tiny models: extracted, stopped, damaged, imported, read, and surveyed without the model."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import headatlas as ha
from headatlas.commands.extract import run as work
from headatlas.errors import AtlasError, SettingError, SurveyInterruptedError
from headatlas.models import model as models
from headatlas.store import writing


def files_of(folder: Path):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_words_of_a_treebank(extract, load_tiny, treebank):
    store = extract(dtype_stored="float32", hidden_states=True)
    assert (len(store), store.level, store.has_trees) == (15, "words", True)
    from headatlas.corpora.treebanks.read import read_treebank
    from headatlas.encoding.word_segments import parsed_segments

    model = load_tiny("bert")
    sample = parsed_segments(read_treebank([treebank]), model.tokenizer, max_tokens=60)
    seen = ha.observe_words(model, sample.segments, sample.relations, batch_tokens=60, states=True)
    for given, stored in zip(seen, store, strict=True):
        assert (given.id, given.document, given.words, given.relations) == (
            stored.id,
            stored.document,
            stored.words,
            stored.relations,
        )
        for name in ("heads", "maps", "to_special", "from_special", "states"):
            np.testing.assert_array_equal(getattr(given, name), getattr(stored, name))
    assert store.index.corpora["treebank"]["left_out"] == {"word_without_tokens": 3}
    assert store["0.1.0"].words == store[5].words == store[-10].words
    with pytest.raises(IndexError, match="example 15 of a store of 15"):
        store[15]
    with pytest.raises(KeyError, match="no example"):
        store["9.9.9"]


def test_tokens_of_a_text(extract, text):
    store = extract(text=text, segments=5, hidden_states=True)
    first = store[0]
    size = len(first.example)
    assert first.maps.shape == (2, 4, size, size)
    assert first.states.shape == (3, size, 32)
    assert first.maps.dtype == np.float16
    assert first.example.tokens[0] == "[CLS]"
    assert first.example.words is None
    np.testing.assert_allclose(first.maps.sum(-1, dtype=np.float32), 1, atol=2e-3)
    np.testing.assert_array_equal(store.layer(0, 1), first.maps[1])
    with pytest.raises(SettingError, match="between tokens"):
        store.word_maps()


def test_a_larger_sample_of_sentences_holds_the_smaller(extract, tmp_path):
    samples = {count: extract(sentences=count, seed=3, out=tmp_path / str(count)) for count in (2, 4)}
    small, large = ([example.id for example in store.examples] for store in samples.values())
    assert len(small) == 2
    assert set(small) < set(large)
    every = [example.id for example in extract(out=tmp_path / "all").examples]
    assert [name for name in every if name in large] == large, "in the order of the treebank"
    left_out = samples[2].index.corpora["treebank"]["left_out"]
    assert left_out["sentence_not_drawn"] == len(every) - 2


def test_layers_with_fewer_heads_are_filled_with_zeros(extract):
    store = extract(level="tokens")
    model = json.loads((store.folder / "index.json").read_text())["model"]
    assert model["heads"] == [4, 4]
    store.index.model["heads"] = [5, 3]
    store = ha.Store(store.folder, store.index)
    maps = store[0].maps
    assert maps.shape[:2] == (2, 5)
    assert not maps[1, 3:].any()
    np.testing.assert_array_equal(np.concatenate([maps[0], maps[1, :3]]), store.maps_of(0))


def test_a_stopped_extraction_goes_on_to_the_same_bytes(extract, small_shards, tmp_path, monkeypatch):
    whole = extract(out=tmp_path / "whole")
    assert len(whole.index.files) > 3
    write, left = writing._write_file, [2]

    def stopping(path, examples):
        if left[0] == 0:
            raise SurveyInterruptedError("stopped")
        left[0] -= 1
        return write(path, examples)

    with monkeypatch.context() as patch:
        patch.setattr(writing, "_write_file", stopping)
        with pytest.raises(SurveyInterruptedError):
            extract()
    with pytest.raises(AtlasError, match=r"not complete\. Run the same extract command again"):
        ha.open_store(tmp_path / "maps")
    observed = []
    observe = models.Model.observe
    monkeypatch.setattr(
        models.Model, "observe", lambda self, batch, *rest: (observed.append(batch), observe(self, batch, *rest))
    )
    extract()
    assert sum(len(batch.segments) for batch in observed) == len(whole) - sum(map(len, whole.index.plan()[:2]))
    assert files_of(tmp_path / "maps") == files_of(tmp_path / "whole")
    observed.clear()
    extract()
    assert not observed, "a finished extraction is opened, not run"


def test_a_shard_that_is_lost_is_made_again(extract, small_shards, tmp_path):
    before = files_of(extract().folder)
    (tmp_path / "maps" / "maps-00001.safetensors").unlink()
    extract()
    assert files_of(tmp_path / "maps") == before


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"dtype_stored": "float32"}, "dtype stored float16 instead of float32"),
        ({"level": "tokens"}, "level"),
        ({"model": "roberta"}, "model"),
    ],
)
def test_a_folder_of_other_maps_is_left_alone(extract, change, named):
    before = files_of(extract().folder)
    with pytest.raises(AtlasError, match=f"holds other maps.*{named}"):
        extract(**change)
    assert files_of(extract().folder) == before


def test_damage_is_found(extract, small_shards, tmp_path):
    folder = extract().folder
    shard = folder / "maps-00001.safetensors"
    content = shard.read_bytes()
    ha.open_store(folder).verify()
    shard.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(AtlasError, match=r"altered since written: maps-00001\.safetensors"):
        ha.open_store(folder).verify()
    shard.write_bytes(content[:-7])
    with pytest.raises(AtlasError, match=r"maps-00001\.safetensors: this file has .* bytes, not the"):
        ha.open_store(folder)
    shard.write_bytes(b"\xff" * len(content))
    with pytest.raises(AtlasError, match=r"maps-00001\.safetensors: cannot be read"):
        list(ha.open_store(folder))
    shard.unlink()
    with pytest.raises(AtlasError, match=r"maps-00001\.safetensors: this file is missing"):
        ha.open_store(folder)
    with pytest.raises(AtlasError, match="no store of maps here"):
        ha.open_store(tmp_path)


@pytest.mark.parametrize(
    "damage",
    [
        lambda index: index.pop("files"),
        lambda index: index["examples"].pop(),
        lambda index: index["examples"][0]["words"].pop(),
        lambda index: index["examples"][0].update(heads=[7] * 7),
        lambda index: index["examples"][0].update(kinds=[9] * 9),
        lambda index: index["examples"][1].update(id=index["examples"][0]["id"]),
        lambda index: index["examples"][1].update(words=None),
        lambda index: index["model"].update(heads=[0]),
        lambda index: index["model"].update(heads=[1] * 20_000),
        lambda index: index["model"].update(heads=[200_000]),
        lambda index: index["corpora"]["treebank"]["files"][0].pop("file"),
        lambda index: index["corpora"]["treebank"].update(files=["trees.conllu"]),
        lambda index: index.update(states=10**12),
        lambda index: index.update(level="letters"),
        lambda index: index["files"][0].update(file="../../passwords"),
        lambda index: index["files"][0].update(bytes=None),
        lambda index: index.update(format="other"),
        lambda index: index.update(more=1),
    ],
)
def test_a_damaged_index_is_a_clear_error(words, tmp_path, damage):
    path = Path(shutil.copytree(words, tmp_path / "copy")) / "index.json"
    index = json.loads(path.read_text())
    damage(index)
    path.write_text(json.dumps(index))
    with pytest.raises(AtlasError, match=r"index\.json: (damaged|not the index)"):
        ha.open_store(path.parent)


def test_an_index_that_declares_more_than_its_shards_hold(words, tmp_path):
    path = Path(shutil.copytree(words, tmp_path / "copy")) / "index.json"
    index = json.loads(path.read_text())
    path.write_text(json.dumps(index | {"states": 100}))
    with pytest.raises(
        AtlasError, match=r"index\.json: damaged \(its examples need [\d,]+ bytes in maps-00000\.safetensors, "
    ):
        ha.open_store(path.parent)


def test_an_input_beyond_the_memory_is_refused_before_it_is_read(words, tmp_path):
    """A sparse shard has the size that the index tells of it, and takes no room on the disk."""
    path = Path(shutil.copytree(words, tmp_path / "copy")) / "index.json"
    index = json.loads(path.read_text())
    shape = {"tokens": ["a"] * 40_000, "kinds": [0] * 40_000, "word_of": [0] * 40_000}
    index["examples"] = [index["examples"][0] | shape | dict.fromkeys(("words", "heads", "relations"))]
    index |= {"level": "tokens", "files": [index["files"][0] | {"examples": 1, "bytes": 8 * 40_000**2 * 2 + 8}]}
    path.write_text(json.dumps(index))
    with (path.parent / "maps-00000.safetensors").open("r+b") as shard:
        shard.truncate(index["files"][0]["bytes"])
    with pytest.raises(
        AtlasError, match=r"index\.json: damaged \(one layer's maps .* 40,000 tokens, take 25\.6 GB, more"
    ):
        ha.open_store(path.parent)


def test_what_could_not_be_read_is_not_written(extract, tmp_path, monkeypatch):
    monkeypatch.setattr("headatlas.store.index.LARGEST_MAPS", 100)
    with pytest.raises(AtlasError, match=r"nothing is written: one layer's maps of example 0\.0\.0, 9 tokens, take"):
        extract()
    assert not (tmp_path / "maps").exists()


def test_without_room_nothing_begins(extract, tmp_path, monkeypatch):
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(writing.shutil, "disk_usage", lambda _: usage._replace(free=10_000))
    with pytest.raises(AtlasError, match=r"the maps take about [\d.]+ kB, but only 10\.0 kB are free.*--out"):
        extract()
    assert not (tmp_path / "maps").exists()


def test_the_predicted_size_is_told_and_true(extract, capsys, monkeypatch):
    told = []
    monkeypatch.setattr(work, "bytes_to_write", lambda index: told.append(writing.bytes_to_write(index)) or told[0])
    folder = extract(level="tokens", hidden_states=True, progress=True).folder
    assert "Storing maps of 15 examples" in capsys.readouterr().err
    real = sum(path.stat().st_size for path in folder.iterdir())
    assert told[0] == pytest.approx(real, rel=0.2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"treebank": None}, "There is nothing to extract maps from"),
        ({"text": "a.txt", "treebank": "b.conllu"}, "--treebank and --text are given"),
        ({"dtype_stored": "int4"}, 'Invalid value "int4" for --dtype-stored'),
        ({"shard_megabytes": 0}, "--shard-megabytes must be at least 1"),
        ({"max_tokens": 65}, "more than the 64 positions"),
        ({"attention": "cross"}, "Cross attention lies between two"),
    ],
)
def test_bad_settings(extract, options, message):
    with pytest.raises(SettingError, match=message):
        extract(**options)


def test_text_has_no_words(extract, text):
    with pytest.raises(SettingError, match="--level words needs a --treebank"):
        extract(text=text, level="words")


# --- surveys of stored maps ---------------------------------------------------------------------------------------
