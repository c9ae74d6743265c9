"""Whole fits: they learn, they can be stopped at any step, and what they write is what others load."""

from __future__ import annotations

import json
import logging
import shutil

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForMaskedLM

import headatlas as ha
from headatlas.commands.fit_mlm import training
from headatlas.errors import AtlasError, CorpusError, ModelError, SettingError, SurveyInterruptedError
from headatlas.models.loading import load_model

ADAPTER = "adapter_model.safetensors"


def tensors(fit):
    return load_file(fit.folder / ADAPTER)


def same(one, other):
    return one.keys() == other.keys() and all(torch.equal(one[key], other[key]) for key in one)


@pytest.fixture(scope="module")
def once(headless, easy_text, tmp_path_factory):
    """One finished fit for all tests that only look at it."""
    return ha.fit_mlm(
        str(headless("bert")),
        text=easy_text,
        out=tmp_path_factory.mktemp("once") / "fitted",
        tokens=12_000,
        max_tokens=24,
        batch_tokens=240,
        learning_rate=1e-2,
        rank=4,
        alpha=8,
        device="cpu",
        progress=False,
    )


def test_it_learns_what_is_easy(once):
    record = once.record
    assert record["held_out"]["loss"] < 0.5 * record["held_out_unigram"]["loss"]
    assert record["held_out"]["top1"] > 2 * record["held_out_unigram"]["top1"]
    losses = [entry["training_loss"] for entry in record["history"]]
    assert len(losses) == 9
    assert losses[-1] < losses[0]


def test_the_record_says_what_was_done(once, headless):
    record = json.loads((once.folder / "fit.json").read_text())
    assert record == json.loads(json.dumps(once.record))
    assert record["complete"]
    assert list(record["model"]["weights_sha256"]) == ["model.safetensors"]
    assert record["tokens_seen"] >= 12_000
    assert record["settings"]["rank"] == 4
    assert record["corpus"]["lines"] == 240
    assert {"torch", "peft", "transformers"} <= set(record["versions"])
    assert sorted(path.name for path in once.folder.iterdir()) == ["adapter_config.json", ADAPTER, "fit.json"]


def test_the_file_is_small_and_holds_no_embeddings(once, headless):
    found = tensors(once)
    assert {tensor.dtype for tensor in found.values()} == {torch.float16}
    vocabulary = len(load_model(str(headless("bert")), device="cpu").tokenizer)
    assert [key for key, tensor in found.items() if vocabulary in tensor.shape] == [
        "base_model.model.cls.predictions.decoder.bias"
    ]
    assert not any(key.endswith("bias") and ".encoder." in key for key in found)
    assert sum("lora_" in key for key in found) == 2 * 2 * 6
    config = json.loads((once.folder / "adapter_config.json").read_text())
    assert config["base_model_name_or_path"] == str(headless("bert"))


@pytest.mark.parametrize("family", ["bert", "roberta", "distilbert", "albert", "electra", "modernbert", "mpnet"])
@pytest.mark.parametrize("freeze", [False, True])
def test_plain_peft_loads_the_very_model(fit, headless, family, freeze):
    from peft import PeftModel

    made = fit(headless(family), freeze=freeze, tokens=600, learning_rate=1e-2)
    ours = load_model(str(made.folder), device="cpu")
    assert ours.language_model == "masked"
    plain = PeftModel.from_pretrained(AutoModelForMaskedLM.from_pretrained(headless(family)), made.folder).eval()
    inputs = {"input_ids": torch.arange(60, 80)[None]}
    with torch.inference_mode():
        expected = plain(**inputs).logits
        found = ours.network(**inputs).logits
        again = PeftModel.from_pretrained(AutoModelForMaskedLM.from_pretrained(headless(family)), made.folder).eval()
        assert torch.equal(again(**inputs).logits, expected)
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-3)
    bias = next(tensor for key, tensor in tensors(made).items() if tensor.shape == expected.shape[-1:])
    assert torch.equal(plain.get_base_model().get_output_embeddings().bias, bias.float())
    if freeze:
        assert not any("lora_" in key for key in tensors(made))


def test_the_folder_holds_what_was_scored(once, easy_text):
    """The float16 file, loaded as a model, predicts as the record says the network in training did."""
    model = load_model(str(once.folder), device="cpu")
    ids = model.tokenizer("the old man saw a [MASK] dog .", return_tensors="pt")["input_ids"]
    with torch.inference_mode():
        guess = model.network(input_ids=ids).logits[0, 6].argmax()
    assert model.tokenizer.convert_ids_to_tokens(int(guess)) == "little"


def test_seeds(fit, tmp_path):
    made = [tensors(fit(seed=seed, out=tmp_path / f"{number}")) for number, seed in enumerate((0, 0, 1))]
    assert same(made[0], made[1])
    assert not same(made[0], made[2])


class KilledError(Exception):
    """What a pulled plug looks like from inside."""


@pytest.mark.parametrize("steps", [(1,), (4,), (7, 2, 1), (12,)])
@pytest.mark.parametrize("save_every", [0.0, 1e9])
def test_a_killed_fit_goes_on_to_the_same_bits(fit, tmp_path, monkeypatch, steps, save_every):
    undisturbed = tensors(fit(out=tmp_path / "undisturbed", seed=3))
    whole = training.Trainer.step
    for kill_at in steps:
        done = []

        def step(self, *arguments, done=done, kill_at=kill_at):
            if len(done) == kill_at:
                raise KilledError
            done.append(1)
            return whole(self, *arguments)

        monkeypatch.setattr(training.Trainer, "step", step)
        with pytest.raises(KilledError):
            fit(out=tmp_path / "killed", seed=3, save_every=save_every)
        assert (tmp_path / "killed" / "state.safetensors").exists() == (save_every == 0)
        assert not (tmp_path / "killed" / "adapter_config.json").exists()
    monkeypatch.setattr(training.Trainer, "step", whole)
    assert same(tensors(fit(out=tmp_path / "killed", seed=3)), undisturbed)
    assert not (tmp_path / "killed" / "state.safetensors").exists()


def test_ctrl_c_saves_and_the_same_call_continues(fit, tmp_path, monkeypatch):
    import signal

    undisturbed = tensors(fit(out=tmp_path / "undisturbed"))
    whole = training.Trainer.step

    def step(self, batch, seen):
        if seen > 500:
            signal.raise_signal(signal.SIGINT)
        return whole(self, batch, seen)

    monkeypatch.setattr(training.Trainer, "step", step)
    with pytest.raises(SurveyInterruptedError, match="of 1,500 tokens; the same command resumes"):
        fit()
    monkeypatch.setattr(training.Trainer, "step", whole)
    with pytest.raises(AtlasError, match="rank 4 instead of 8"):
        fit(rank=8)
    assert same(tensors(fit()), undisturbed)


def test_a_damaged_state_is_named(fit, tmp_path):
    fit()
    record = json.loads((tmp_path / "fitted" / "fit.json").read_text())
    (tmp_path / "fitted" / "fit.json").write_text(json.dumps(record | {"complete": False}))
    (tmp_path / "fitted" / "state.safetensors").write_bytes(b"no tensors")
    with pytest.raises(AtlasError, match="damaged"):
        fit()


def test_a_finished_fit_is_opened_and_another_refused(fit, monkeypatch):
    made = fit()
    monkeypatch.setattr("headatlas.commands.fit_mlm.run.train", None)
    assert fit().record == made.record
    with pytest.raises(AtlasError, match="seed 0 instead of 5"):
        fit(seed=5)


def test_epochs_count_the_text(fit):
    made = fit(tokens=None, epochs=2, batch_tokens=480)
    assert made.record["tokens_seen"] == 2 * made.record["corpus"]["tokens"]


# --- what cannot work -------------------------------------------------------------------------------------------


def test_a_model_with_a_head_is_said_to_have_one(fit, tiny_folder):
    with pytest.raises(ModelError, match=r"has a masked language model head already.*--force"):
        fit(tiny_folder("bert"))
    assert fit(tiny_folder("bert"), force=True).record["complete"]


@pytest.mark.parametrize(
    ("family", "words"), [("gpt2", "no masked language model class"), ("bart", "encoder-decoder"), ("t5", "encoder-d")]
)
def test_decoders_are_refused(fit, tiny_folder, family, words):
    with pytest.raises(ModelError, match=words):
        fit(tiny_folder(family))


def test_a_tokenizer_without_a_mask_token(fit, save_tiny, tokenizer_of):
    folder = save_tiny("bert", head=False)
    path = folder / "tokenizer_config.json"
    path.write_text(
        json.dumps({key: value for key, value in json.loads(path.read_text()).items() if key != "mask_token"})
    )
    with pytest.raises(ModelError, match="no mask token"):
        fit(folder)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"tokens": 0}, "--tokens must be at least 1"),
        ({"rank": 0}, "--rank"),
        ({"hold_out": 0}, "--hold-out"),
        ({"learning_rate": 0.0}, "--learning-rate"),
        ({"epochs": 2}, "--tokens and --epochs"),
        ({"max_tokens": 100}, "--max-tokens 100 is more than the 64"),
        ({"format": {"text": "odt"}}, "--format text=odt"),
        ({"learning_rate": 1e30}, "not finite"),
    ],
)
def test_settings_that_cannot_work(fit, changes, words):
    with pytest.raises(SettingError, match=words):
        fit(**changes)


def test_text_that_cannot_work(fit, tmp_path, caplog):
    with pytest.raises(CorpusError, match="no such file"):
        fit(text=tmp_path / "none.txt")
    with pytest.raises(SettingError, match="No text"):
        fit(text=[])
    short = tmp_path / "short.txt"
    short.write_text("the dog\n")
    with pytest.raises(CorpusError, match="at least 20"):
        fit(text=short)
    strange = tmp_path / "strange.txt"
    strange.write_text("\n\n".join(["the dog № ☃ ran ."] * 100), encoding="utf-8")
    with caplog.at_level(logging.WARNING):
        made = fit(text=strange)
    rate = made.record["corpus"]["unknown_token_rate"]
    assert rate > 0.05
    assert f"{100 * rate:.1f} % of the tokens of the text are unknown" in made.record["warnings"][0]
    assert made.record["warnings"][0] in caplog.text


def test_folders_of_something_else(fit, tmp_path, headless):
    with pytest.raises(AtlasError, match=r"holds something else already \(config.json\)"):
        fit(out=headless("bert"))
    (tmp_path / "file").write_text("x")
    with pytest.raises(AtlasError, match="is a file"):
        fit(out=tmp_path / "file")


def test_a_fitted_folder_is_not_fitted_again(fit, once):
    with pytest.raises(ModelError, match="is a fitted folder already"):
        fit(once.folder)


# --- loading ----------------------------------------------------------------------------------------------------


def test_a_survey_of_a_fitted_folder_has_gradients(once, easy_text, headless, tmp_path):
    atlas = ha.survey(
        str(once.folder),
        text=easy_text,
        out=tmp_path / "atlas",
        segments=20,
        max_tokens=24,
        segment_style="single",
        device="cpu",
        progress=False,
    )
    assert len(atlas.tables["gradients"])
    model = atlas.manifest["model"]
    assert model["language_model"] == "masked"
    assert model["base"]["name"] == str(headless("bert"))
    assert model["rank"] == 4
    assert model["adapter_sha256"] == once.record["adapter_sha256"]


def test_folders_that_do_not_fit_their_base(fit, save_tiny, monkeypatch):
    base = save_tiny("bert", head=False)
    made = fit(base)
    with monkeypatch.context() as patch:
        patch.setitem(__import__("sys").modules, "peft", None)
        with pytest.raises(ModelError, match=r'pip install "headatlas\[fit\]"'):
            load_model(str(made.folder))
        with pytest.raises(ModelError, match=r'pip install "headatlas\[fit\]"'):
            fit(base, out=made.folder.parent / "other")
    record = (made.folder / "fit.json").read_text()
    (made.folder / "fit.json").unlink()
    with pytest.raises(ModelError, match=r"no fit\.json"):
        load_model(str(made.folder))
    (made.folder / "fit.json").write_text("{")
    with pytest.raises(ModelError, match="cannot be read"):
        load_model(str(made.folder))
    (made.folder / "fit.json").write_text(record)
    save_tiny("bert", head=False, seed=1)
    weights = base / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    with pytest.raises(ModelError, match="other weights"):
        load_model(str(made.folder))
    (made.folder / ADAPTER).unlink()
    with pytest.raises(ModelError, match=f"{ADAPTER} is missing"):
        load_model(str(made.folder))


@pytest.mark.parametrize(("setting", "value"), [("lora_alpha", 1e38), ("r", 10**9), ("r", [4])])
def test_settings_it_was_not_fitted_with_are_refused(once, tmp_path, setting, value):
    folder = shutil.copytree(once.folder, tmp_path / "changed")
    config = json.loads((folder / "adapter_config.json").read_text())
    (folder / "adapter_config.json").write_text(json.dumps(config | {setting: value}))
    with pytest.raises(ModelError, match=rf"says {setting} .*, but the adapter was fitted with [48]"):
        load_model(str(folder), device="cpu")
