"""Surveys end to end on tiny models: same tables however run, and clear errors for bad input."""

from __future__ import annotations

import errno
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import torch

import headatlas as ha
from headatlas import checksums
from headatlas.commands.survey import run as surveying
from headatlas.errors import AtlasError, CorpusError, ModelError, SettingError

LINES = (
    "The old man saw a little dog, and the dog ran.",
    "She sat by the river.",
    "They have not been there, but the child was in the big red house by the water.",
    "It was night, and the fire was red.",
    "A cat ate.",
)


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text.txt"
    documents = ("\n".join(LINES[start:] + LINES[:start]) for start in range(5))
    path.write_text("\n\n".join(documents) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def survey(tiny_folder, text, tmp_path):
    """Survey the tiny BERT quietly; keyword arguments change the call."""

    def call(model="bert", **options):
        folder = str(tiny_folder(model)) if model in ("bert", "gpt2", "t5", "bart", "deberta-v2", "roberta") else model
        defaults = {"text": text, "out": tmp_path / "atlas", "segments": 8, "max_tokens": 40, "device": "cpu"}
        return ha.survey(folder, progress=False, **defaults | options)

    return call


def tables_of(atlas):
    return {name: atlas.tables[name] for name in atlas.tables}


def test_a_masked_language_model_gives_every_table(survey):
    atlas = survey()
    surface = {"positions", "token_kinds", "entropy", "max_attention", "gradients"}
    surface |= {"token_kinds_layers", "entropy_layers", "gradients_layers"}
    alike = {"head_distances", "head_map", "layer_distances", "similarity", "behaviours"}
    assert set(atlas.tables) == surface | alike
    assert atlas.manifest["complete"]
    assert len(atlas.tables["positions"]) == 2 * 4 * 3
    shares = atlas.tables["token_kinds"].query("kind in ['cls', 'sep', 'period_comma', 'other']")
    assert shares.groupby(["layer", "head"])["value"].sum().round(5).eq(1).all()
    assert (atlas.tables["gradients"]["value"] > 0).all()
    assert atlas.example.maps.shape[:2] == (2, 4)


def test_the_manifest_says_what_was_done(survey, text):
    manifest = survey().manifest
    assert manifest["corpora"]["text"]["files"][0]["sha256"] == ha.files.sha256(text)
    assert manifest["corpora"]["text"]["documents"] == 5
    assert manifest["corpora"]["text"]["segments"] == 6
    assert manifest["corpora"]["text"]["segments_available"] == 6
    assert manifest["model"]["heads"] == [4, 4]
    assert manifest["computed_in"] == {"text": "fused tiles"}
    assert list(manifest["model"]["weights_sha256"]) == ["model.safetensors"]
    assert manifest["versions"]["torch"] == torch.__version__
    assert "left_out" in manifest["corpora"]["text"]


@pytest.mark.parametrize("model", ["gpt2", "t5", "bart", "deberta-v2", "roberta"])
def test_other_families(survey, model):
    atlas = survey(model)
    kinds = atlas.tables["token_kinds"].groupby("kind")["count"].max()
    assert kinds["other"] == atlas.manifest["corpora"]["text"]["segments"]
    assert (kinds["sep"] == 0) == (model == "gpt2")
    assert ("gradients" in atlas.tables) == (model not in ("t5", "bart"))
    assert atlas.tables["entropy"]["value"].max() <= atlas.tables["entropy"]["expected"].max()


def test_a_causal_models_heads_never_see_the_next_token(survey):
    table = survey("gpt2").tables["positions"]
    assert (table.query("offset == 1")["value"] == 0).all()


def test_the_decoder_of_an_encoder_decoder(survey, tmp_path):
    encoder, decoder = survey("bart"), survey("bart", attention="decoder", out=tmp_path / "decoder")
    assert encoder.manifest["model"]["layers"] == 2
    assert decoder.manifest["model"]["layers"] == 3
    assert (decoder.tables["positions"].query("offset == 1")["value"] == 0).all()
    with pytest.raises(SettingError, match="Cross attention lies between two"):
        survey("bart", attention="cross", out=tmp_path / "cross")


def test_same_seed_same_tables_other_seed_others(survey, tmp_path):
    first, again, other = (survey(seed=seed, out=tmp_path / name) for seed, name in ((0, "a"), (0, "b"), (1, "c")))
    for name, table in tables_of(first).items():
        pd.testing.assert_frame_equal(table, again.tables[name], check_exact=True)
    assert not first.tables["entropy"].equals(other.tables["entropy"])


def test_random_weights_are_another_model(survey, tmp_path):
    trained, control = survey(), survey(random_weights="fresh", out=tmp_path / "control")
    assert not trained.tables["entropy"].equals(control.tables["entropy"])
    assert control.manifest["model"]["random_weights"] == {"kind": "fresh", "seed": 0}


def test_as_published_text_has_one_token_type_and_measures_are_smoothed(survey, tmp_path, monkeypatch):
    seen = {}

    def observing(model, segments, studies, **options):
        if "similarity" in studies:
            seen["types"] = {int(number) for segment in segments for number in segment.type_ids}
            seen["entropy"], seen["similarity"] = studies["entropy"].smoothing, vars(studies["similarity"])
        return run(model, segments, studies, **options)

    run = surveying.run_studies
    monkeypatch.setattr(surveying, "run_studies", observing)
    plain = survey()
    assert (seen["types"], seen["entropy"], seen["similarity"]["_smoothing"]) == ({0, 1}, 0, 0)
    assert seen["similarity"]["_map_distance"] == "sqrt_js"
    published = survey(as_published=True, out=tmp_path / "published")
    assert (seen["types"], seen["entropy"], seen["similarity"]["_smoothing"]) == ({0}, 0.0001, 0.001)
    assert seen["similarity"]["_map_distance"] == "js"
    for name in ("entropy", "head_distances", "head_map"):
        assert not published.tables[name].equals(plain.tables[name])


def test_distances_are_given_as_sums_and_per_token(survey):
    table = survey().tables["head_distances"]
    assert list(table)[4:] == ["value", "per_token", "count"]
    assert (table["per_token"] <= 0.6932).all()
    assert (table["value"] > table["per_token"]).all()


def test_a_loaded_model_can_be_given(load_tiny, text, tmp_path):
    atlas = ha.survey(load_tiny("bert"), text=text, out=tmp_path / "atlas", max_tokens=40, progress=False)
    assert atlas.complete


def test_a_finished_survey_is_opened_not_run(survey, monkeypatch):
    first = survey()
    monkeypatch.setattr(surveying, "run_studies", lambda *_, **__: pytest.fail("it ran again"))
    assert survey().manifest == first.manifest


def test_no_head_is_said_and_an_explicit_wish_is_an_error(save_tiny, text, tmp_path):
    folder = str(save_tiny("bert", head=False))
    options = {"text": text, "max_tokens": 40, "progress": False}
    atlas = ha.survey(folder, out=tmp_path / "a", **options)
    assert "gradients" not in atlas.tables
    assert "no masked language model head" in atlas.manifest["studies_skipped"]["gradients"]
    with pytest.raises(SettingError, match=r"'gradients' cannot run.*no masked language model head"):
        ha.survey(folder, out=tmp_path / "b", studies=["gradients"], **options)


KILLED = """
import os, sys
import headatlas as ha
from headatlas import checksums
from headatlas.engine import run as engine
from headatlas.engine.job import Observer
observe, left = Observer.observe, [int(sys.argv[4])]
def dying(self, batch):
    if left[0] == 0:
        os.kill(os.getpid(), 9)
    left[0] -= 1
    observe(self, batch)
Observer.observe = dying
run = engine.run_studies
import headatlas.commands.survey.run as s
s.run_studies = lambda *a, **k: run(*a, **k, seconds_between_saves=0)
ha.survey(sys.argv[1], text=sys.argv[2], out=sys.argv[3], segments=8, max_tokens=40, device="cpu", batch_tokens=40,
          progress=False)
"""


def test_a_process_killed_for_good_is_continued_to_the_same_tables(survey, tiny_folder, text, tmp_path):
    undisturbed = survey(batch_tokens=40, out=tmp_path / "undisturbed")
    arguments = [str(tiny_folder("bert")), str(text), str(tmp_path / "killed"), "2"]
    killed = subprocess.run([sys.executable, "-c", KILLED, *arguments], capture_output=True, check=False)
    assert killed.returncode == -9, killed.stderr.decode()
    assert not json.loads((tmp_path / "killed" / "manifest.json").read_text())["complete"]
    continued = survey(batch_tokens=40, out=tmp_path / "killed")
    for name, table in tables_of(undisturbed).items():
        pd.testing.assert_frame_equal(table, continued.tables[name], check_exact=True)


# --- bad input ----------------------------------------------------------------------------------------------------


def write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "has no text"),
        (b"\n \n\n", "has no text"),
        (b"\x00\x01\x02", "binary"),
        ("caf\xe9 au lait\n".encode("latin-1"), "line 1: is not UTF-8"),
        (b"word " * 300_000, "line 1: has more than"),
        ("\u200b\n\u200b\n".encode(), "no tokens"),
    ],
    ids=["empty", "blank", "binary", "latin-1", "giant line", "no tokens"],
)
def test_bad_text_is_a_clear_error(survey, tmp_path, content, message):
    with pytest.raises(CorpusError, match=message):
        survey(text=write(tmp_path / "bad.txt", content))
    assert not (tmp_path / "atlas").exists(), "a survey that cannot start must not claim the folder"


def test_documents_of_one_line_make_no_pairs(survey, tmp_path):
    text = write(tmp_path / "one.txt", b"the dog ran by the river.\n\nthe cat sat.\n")
    assert survey(text=text).manifest["corpora"]["text"]["segment_style"] == "single"
    with pytest.raises(CorpusError, match=r"2 documents of one line.*--format text=paragraphs"):
        survey(text=text, segment_style="pair", out=tmp_path / "pairs")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"text": "nowhere.txt"}, CorpusError, "nowhere.txt: no such file"),
        ({"text": "."}, CorpusError, "is a folder"),
        ({"text": []}, SettingError, "--text"),
        ({"segments": 0}, SettingError, "--segments must be at least 1"),
        ({"max_tokens": 4}, SettingError, "no room for text"),
        ({"max_tokens": 65}, SettingError, "more than the 64 positions"),
        ({"studies": ["positions", "moods"]}, SettingError, "Unknown study: moods"),
        ({"studies": []}, SettingError, "No study"),
        ({"format": {"text": "docx"}}, SettingError, "--format text=docx is not available"),
        ({"segment_style": "triple"}, SettingError, 'Invalid value "triple" for --segment-style'),
        ({"device": "abacus"}, SettingError, "--device abacus"),
        ({"dtype": "int3"}, SettingError, 'Invalid value "int3" for --dtype'),
        ({"attention": "decoder"}, SettingError, "has no decoder attention"),
        ({"model": "./nowhere"}, ModelError, "no such folder"),
        ({"model": "gpt2", "segment_style": "pair"}, SettingError, "no separator.*--segment-style single"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_bad_settings_are_clear_errors(survey, options, error, message):
    with pytest.raises(error, match=message):
        survey(**options)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"seed": 5}, "seed 0 instead of 5"),
        ({"max_tokens": 30}, "max tokens 40 instead of 30"),
        ({"format": {"text": "documents"}}, "format text auto instead of documents"),
        ({"model": "roberta"}, "model"),
    ],
)
def test_a_folder_of_another_survey_is_left_alone(survey, change, named):
    before = survey()
    with pytest.raises(AtlasError, match=f"holds other results.*{named}"):
        survey(**change)
    assert survey().manifest == before.manifest


def test_a_folder_of_another_corpus_is_left_alone(survey, text):
    survey()
    text.write_text("\n".join(LINES), encoding="utf-8")
    with pytest.raises(AtlasError, match="other files for text"):
        survey()


def test_changed_weights_under_the_same_name_are_noticed(survey, copy_of_tiny, save_tiny):
    folder = copy_of_tiny("bert")
    survey(str(folder))
    shutil.copy(save_tiny("bert", seed=1) / "model.safetensors", folder)
    with pytest.raises(AtlasError, match="other weights"):
        survey(str(folder))


def test_a_file_in_place_of_the_folder(survey, tmp_path):
    with pytest.raises(AtlasError, match="is a file"):
        survey(out=write(tmp_path / "file", b""))


def test_a_full_disk_keeps_what_was_saved(survey, monkeypatch, tmp_path):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(checksums, "_parts", full)
        with pytest.raises(AtlasError, match=r"disk is full.*run the same command again"):
            survey()
    assert not list((tmp_path / "atlas").glob(".*.tmp"))
    assert survey().complete


def test_a_state_file_cut_short_is_named_with_its_remedy(survey, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(surveying, "write_tables", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            survey()
    state = tmp_path / "atlas" / "state" / "text.safetensors"
    state.write_bytes(state.read_bytes()[:-20])
    with pytest.raises(AtlasError, match=r"text\.safetensors: the saved state is damaged.*Delete this file"):
        survey()
    state.unlink()
    assert survey().complete


def test_importing_headatlas_does_not_import_torch():
    code = "import sys, headatlas, headatlas.cli.app; sys.exit('torch' in sys.modules or 'transformers' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
