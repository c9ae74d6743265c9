"""Stores end to end on tiny models: extracted, stopped, damaged, imported, read, and surveyed without the model."""

from __future__ import annotations

import json
import pickle
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import headatlas as ha
from headatlas.commands.extract import run as work
from headatlas.errors import AtlasError, SettingError, SurveyInterruptedError
from headatlas.models import model as models
from headatlas.store import writing
from headatlas.studies import STUDIES
from store.altering import altered_store
from store.conftest import text, treebank  # noqa: F401  (fixtures)


@pytest.fixture
def extract(tiny_folder, treebank, tmp_path):  # noqa: F811
    def call(model="bert", **options):
        defaults = {"out": tmp_path / "maps", "max_tokens": 60, "batch_tokens": 60, "device": "cpu", "progress": False}
        if "text" not in options:
            defaults["treebank"] = treebank
        return ha.extract(str(tiny_folder(model)), **defaults | options)

    return call


@pytest.fixture(scope="module")
def words(tiny_folder, treebank, tmp_path_factory):  # noqa: F811
    """A folder with the tiny BERT's word maps; not to be altered."""
    out = tmp_path_factory.mktemp("store") / "maps"
    options = {"max_tokens": 60, "device": "cpu", "progress": False}
    return ha.extract(str(tiny_folder("bert")), treebank=treebank, out=out, **options).folder


@pytest.fixture
def small_shards(monkeypatch):
    """Shards of a few examples each."""
    from headatlas.store import index

    plan = index.windows
    monkeypatch.setattr(index, "windows", lambda sizes, _budget: plan(sizes, 4000))


def files_of(folder: Path):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_words_of_a_treebank(extract, load_tiny, treebank):  # noqa: F811
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


def test_tokens_of_a_text(extract, text):  # noqa: F811
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
    assert "15 examples, maps between tokens: about" in capsys.readouterr().err
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


def test_text_has_no_words(extract, text):  # noqa: F811
    with pytest.raises(SettingError, match="--level words needs a --treebank"):
        extract(text=text, level="words")


# --- surveys of stored maps ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["bert", "gpt2", "t5"])
def test_a_survey_of_text_maps_equals_that_of_the_model(extract, tiny_folder, text, tmp_path, model):  # noqa: F811
    store = extract(model, text=text, segments=6, dtype_stored="float32")
    half = extract(model, text=text, segments=6, out=tmp_path / "half")
    options = {"segments": 6, "max_tokens": 60, "device": "cpu", "progress": False}
    expected = ha.survey(str(tiny_folder(model)), text=text, out=tmp_path / "a", **options)
    found = ha.survey(maps=store.folder, out=tmp_path / "b", device="cpu", progress=False)
    rough = ha.survey(maps=half.folder, out=tmp_path / "c", device="cpu", progress=False)
    studied = {"positions", "token_kinds", "entropy", "max_attention", "head_distances"}
    assert set(found.tables) == {*studied, "head_map", "layer_distances", "similarity", "behaviours"}
    for name in studied:
        pd.testing.assert_frame_equal(found.tables[name], expected.tables[name], rtol=1e-5, atol=1e-6)
        pd.testing.assert_frame_equal(rough.tables[name], expected.tables[name], rtol=5e-3, atol=5e-3)
    assert "no loss" in found.manifest["studies_skipped"]["gradients"]
    assert "no dependency trees" in found.manifest["studies_skipped"]["dependencies"]
    assert found.manifest["model"]["heads"] == expected.manifest["model"]["heads"]
    assert "only the model can cut one" in found.manifest["studies_skipped"]["figure 1"]
    assert ha.survey(maps=store.folder, out=tmp_path / "b", device="cpu", progress=False).manifest == found.manifest
    with pytest.raises(AtlasError, match=r"holds other results.*other maps"):
        ha.survey(maps=half.folder, out=tmp_path / "b", device="cpu", progress=False)


@pytest.mark.parametrize("level", ["words", "tokens"])
def test_a_survey_of_treebank_maps_equals_that_of_the_model(extract, tiny_folder, treebank, tmp_path, level):  # noqa: F811
    store = extract(dtype_stored="float32", level=level)
    options = {"least_count": 1, "bootstrap": 20, "device": "cpu", "progress": False}
    expected = ha.survey(str(tiny_folder("bert")), treebank=treebank, max_tokens=60, out=tmp_path / "a", **options)
    found = ha.survey(maps=store.folder, out=tmp_path / "b", **options)
    for name in ("dependencies", "dependency_best"):
        pd.testing.assert_frame_equal(found.tables[name], expected.tables[name])
    assert ("positions" in found.tables) == (level == "tokens") == (found.example is not None)
    assert len(found.relation_examples) == len(expected.relation_examples) > 0
    for one, other in zip(found.relation_examples, expected.relation_examples, strict=True):
        assert (one.words, one.pairs) == (other.words, other.pairs)
        np.testing.assert_allclose(one.weights, other.weights, atol=1e-3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "bert"}, "MODEL was decided when the maps were extracted"),
        ({"text": "wiki.txt"}, "--text was decided"),
        ({"segments": 5}, "--segments was decided"),
        ({"control": True}, "--control was decided"),
        ({"attention": "decoder"}, "--attention was decided"),
        ({"dtype": "float16"}, "--dtype was decided"),
        ({"random_weights": True}, "--random-weights was decided"),
        ({"format": {"text": "wikitext"}}, "--maps reads no text"),
        ({"workers": 2}, "--maps are read by one process"),
        ({"studies": ["gradients"]}, "'gradients' cannot run: stored maps have no loss"),
        ({"studies": ["positions"]}, "'positions' cannot run: the stored maps are between words"),
        ({"studies": ["coreference"]}, "'coreference' cannot run: stored inputs have no mentions"),
        ({"studies": ["keyphrases"]}, "'keyphrases' cannot run: stored inputs have no keyphrases"),
        ({"studies": ["moods"]}, "Unknown study: moods"),
        ({"studies": []}, "No study"),
        ({"as_published": True}, "--as-published needs the attention from the first token"),
    ],
)
def test_what_stored_maps_cannot_do(words, tmp_path, options, message):
    with pytest.raises(SettingError, match=message):
        ha.survey(maps=words, out=tmp_path / "atlas", progress=False, **options)
    assert not (tmp_path / "atlas").exists()


def test_every_study_of_stored_maps_runs_or_is_told_as_skipped(words, tmp_path):
    atlas = ha.survey(maps=words, out=tmp_path / "atlas", least_count=1, bootstrap=10, progress=False)
    ran, skipped = atlas.manifest["settings"]["studies"], set(atlas.manifest["studies_skipped"])
    assert ran == ["dependencies"]
    assert skipped == set(STUDIES) - set(ran)


@pytest.mark.parametrize("family", ["bert", "gpt-oss", "gpt2"])
@pytest.mark.parametrize("level", ["words", "tokens"])
def test_only_maps_of_a_model_with_a_sink_may_sum_to_less(extract, tmp_path, family, level):
    """A model without [CLS] has a row of zeros in its place; a learned sink takes a share of every row."""
    store = extract(family, level=level)
    assert store.model.get("learned_sink", False) == (family == "gpt-oss")
    assert len(list(store)) == 15
    halved = altered_store(store.folder, tmp_path / "halved", lambda maps: maps * 0.5)
    options = {"out": tmp_path / "atlas", "least_count": 1, "bootstrap": 10, "device": "cpu", "progress": False}
    if family == "gpt-oss":
        assert ha.survey(maps=halved, **options).complete
    else:
        with pytest.raises(AtlasError, match=r"maps-00000\.safetensors: example .* sums to 0\.500, not 1\. .*again\.$"):
            ha.survey(maps=halved, **options)


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (lambda maps: maps * 30_000, "a row that sums to"),
        (lambda maps: maps * 0, r"a row that sums to 0\.000, not 1"),
        (lambda maps: maps * np.nan, "NaN or infinite"),
        (lambda maps: maps - 0.5, "negative weights"),
    ],
)
def test_stored_maps_that_are_no_attention_are_refused(words, tmp_path, damage, problem):
    folder = altered_store(words, tmp_path / "maps", damage)
    ha.open_store(folder).verify()
    with pytest.raises(AtlasError, match=rf"maps-00000\.safetensors: example 0\.0\.4: head 1-1 .*{problem}"):
        ha.survey(maps=folder, out=tmp_path / "atlas", device="cpu", progress=False)
    with pytest.raises(AtlasError, match=rf"maps-00000\.safetensors: example .*{problem}"):
        ha.open_store(folder).maps_of(3)  # as probes read them
    with pytest.raises(AtlasError, match=problem):
        list(ha.open_store(folder))


def test_hidden_states_that_are_not_finite_are_refused(extract, tmp_path):
    store = extract(hidden_states=True)
    folder = altered_store(store.folder, tmp_path / "nan", states=lambda states: states * np.inf)
    with pytest.raises(
        AtlasError, match=r"maps-00000\.safetensors: example 0\.0\.0: the hidden states hold NaN or inf"
    ):
        ha.open_store(folder).states_of(0)


def test_a_survey_of_nothing(tmp_path):
    with pytest.raises(SettingError, match=r"No model given.*--maps"):
        ha.survey(out=tmp_path)


def test_released_maps_are_imported_and_surveyed(extract, tmp_path):
    """The store's own word maps, written as the paper's code writes them, give the same tables when they come back."""
    store = extract(dtype_stored="float32")
    examples = []
    for sentence in store:
        if all(np.isfinite(sentence.maps).ravel()) and "\u200b" not in sentence.words:
            size = len(sentence.words)
            units = store.maps_of(sentence.id).reshape(2, 4, size + 2, size + 2)
            order = [size, *range(size), size + 1]
            record = {"words": list(sentence.words), "heads": [int(head) + 1 for head in sentence.heads]}
            record |= {"relns": list(sentence.relations), "attns": units[:, :, order][..., order]}
            examples.append(record)
    path = tmp_path / "dev_attn.pkl"
    path.write_bytes(pickle.dumps(examples, 2))
    imported = ha.import_maps(path, out=tmp_path / "imported", dtype_stored="float32", progress=False)
    assert (len(imported), imported.level, imported.shape.heads) == (12, "words", (4, 4))
    np.testing.assert_array_equal(imported[0].maps, store[0].maps)
    np.testing.assert_array_equal(imported[0].from_special, store[0].from_special)
    atlas = ha.survey(maps=imported.folder, out=tmp_path / "atlas", least_count=1, bootstrap=10, progress=False)
    words = atlas.tables["dependencies"].query("relation == 'all'")["count"].unique()
    assert words.tolist() == [sum(len(record["words"]) for record in examples)]
