"""The masked language model that ships with headatlas: it is what its card says, fills masks, and gives figure 3."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest
import torch

import headatlas as ha
from headatlas.errors import ModelError
from headatlas.files import sha256
from headatlas.models.embedded import EMBEDDED
from headatlas.models.model import Model
from headatlas.models.sources import ADAPTER_WEIGHTS, FIT_RECORD, find_source

pytestmark = pytest.mark.weights
FOLDER = EMBEDDED["embedded-mlm"].adapter
LARGEST_BYTES = 2_500_000


@pytest.fixture(scope="module")
def model(load_embedded: Callable[[str], Model]) -> Model:
    return load_embedded("embedded-mlm")


def guesses(model: Model, text: str, count: int = 5) -> list[str]:
    encoded = model.tokenizer(text, return_tensors="pt")
    place = encoded.input_ids[0].tolist().index(model.tokenizer.mask_token_id)
    with torch.inference_mode():
        best = model.network(**encoded).logits[0, place].topk(count).indices
    return list(model.tokenizer.convert_ids_to_tokens(best.tolist()))


def test_it_fills_masks(model: Model) -> None:
    assert model.language_model == "masked"
    assert guesses(model, "He was born [MASK] 1950 in London.", 1) == ["in"]
    assert guesses(model, "The king and the [MASK] lived in a castle.", 20).count("queen") == 1
    assert {"is", "was"} & set(guesses(model, "Paris [MASK] the capital of France."))


def test_file_base_record_and_card_belong_together() -> None:
    record = json.loads((FOLDER / FIT_RECORD).read_text(encoding="utf-8"))
    card = (FOLDER / "README.md").read_text(encoding="utf-8")
    adapter = sha256(FOLDER / ADAPTER_WEIGHTS)
    assert record["complete"]
    assert record["adapter_sha256"] == adapter
    assert list(record["model"]["weights_sha256"].values()) == [EMBEDDED["embedded"].sha256]
    assert adapter in card
    assert EMBEDDED["embedded"].sha256 in card
    assert f"{100 * record['held_out']['top1']:.1f} %" in card
    assert f"{100 * record['held_out_unigram']['top1']:.1f} %" in card
    assert f"{record['tokens_seen']:,}" in card
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) <= LARGEST_BYTES
    assert not re.search(r"/(work|home|tmp|root)/", (FOLDER / FIT_RECORD).read_text(encoding="utf-8"))


def test_another_file_in_its_place_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    from dataclasses import replace

    for path in FOLDER.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    weights = tmp_path / ADAPTER_WEIGHTS
    weights.write_bytes(weights.read_bytes()[:-1] + b"\1")
    monkeypatch.setitem(EMBEDDED, "embedded-mlm", replace(EMBEDDED["embedded-mlm"], adapter=tmp_path))
    with pytest.raises(
        ModelError, match=r"embedded-mlm: adapter_model.safetensors is not the file that fit.json describes"
    ):
        find_source("embedded-mlm")


def test_the_gradient_study_end_to_end(tmp_path) -> None:
    atlas = ha.survey(
        "embedded-mlm",
        text=ha.sample_text(),
        segments=24,
        studies=["gradients"],
        out=tmp_path / "atlas",
        progress=False,
    )
    table = atlas.tables["gradients"]
    assert len(table) == 6 * 12 * 4
    assert (table["value"] > 0).all()
    manifest = atlas.manifest["model"]
    assert manifest["kind"] == "embedded"
    assert manifest["base"]["name"] == "embedded"
    assert "fitted by headatlas fit-mlm" in manifest["about"]
    assert "figure3_gradients.svg" in {path.name for path in ha.write_figures(atlas)}
