"""Surveys of stored maps: the tables of the model, and what maps cannot answer."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest

import headatlas as ha
from headatlas.errors import AtlasError, SettingError
from headatlas.studies import STUDIES
from store.altering import altered_store


@pytest.mark.parametrize("model", ["bert", "gpt2", "t5"])
def test_a_survey_of_text_maps_equals_that_of_the_model(extract, tiny_folder, text, tmp_path, model):
    store = extract(model, text=text, segments=6, dtype_stored="float32")
    half = extract(model, text=text, segments=6, out=tmp_path / "half")
    options = {"segments": 6, "max_tokens": 60, "device": "cpu", "progress": False}
    expected = ha.survey(str(tiny_folder(model)), text=text, out=tmp_path / "a", **options)
    found = ha.survey(maps=store.folder, out=tmp_path / "b", device="cpu", progress=False)
    rough = ha.survey(maps=half.folder, out=tmp_path / "c", device="cpu", progress=False)
    studied = {"positions", "token_kinds", "entropy", "max_attention", "head_distances"}
    studied |= {"token_kinds_layers", "entropy_layers"}
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
def test_a_survey_of_treebank_maps_equals_that_of_the_model(extract, tiny_folder, treebank, tmp_path, level):
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
        ({"control": "fresh"}, "--control was decided"),
        ({"attention": "decoder"}, "--attention was decided"),
        ({"dtype": "float16"}, "--dtype was decided"),
        ({"random_weights": "fresh"}, "--random-weights was decided"),
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
