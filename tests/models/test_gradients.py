"""dL/da: against plain autograd and finite differences, and a segment's own whatever its batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import transformers
from torch import Tensor
from torch.nn.functional import cross_entropy
from transformers.models.bert import modeling_bert

from headatlas.encoding.batches import Batch
from headatlas.encoding.masking import IGNORED, Masker
from headatlas.errors import ModelError
from headatlas.models.language_model import differentiate_loss, next_tokens
from headatlas.models.loading import load_model
from headatlas.models.model import Model

MASKED = ["bert", "mpnet", "deberta-v2", "modernbert"]
CAUSAL = ["gpt2", "llama", "gemma2"]
TIGHT = {"atol": 1e-9, "rtol": 1e-6}  # in float64
IN_SINGLE = ["modernbert", "gemma2"]  # whose windows make transformers' own float64 NaN on padding
WITHIN_SINGLE = {"atol": 1e-5, "rtol": 1e-4}  # families that take their softmax in float32 whatever the dtype

LoadDouble = Callable[[str], Model]
BatchFor = Callable[..., Batch]


@pytest.fixture(scope="module")
def load_double(tiny_folder: Callable[[str], Path]) -> LoadDouble:
    """A tiny model in float64 where that works, the same all through this file."""
    models: dict[str, Model] = {}

    def load(family: str) -> Model:
        if family not in models:
            dtype = "float32" if family in IN_SINGLE else "float64"
            models[family] = load_model(str(tiny_folder(family)), device="cpu", dtype=dtype)
        return models[family]

    return load


@pytest.fixture(scope="module")
def eager_twin(tiny_folder: Callable[[str], Path]) -> Callable[[Model, str], Any]:
    """The same weights as transformers loads them by itself."""

    def twin(model: Model, family: str) -> Any:
        network_class = getattr(transformers, type(model.network).__name__)
        return network_class.from_pretrained(tiny_folder(family), attn_implementation="eager", dtype=model.dtype).eval()

    return twin


def masker_of(model: Model) -> Masker | None:
    return Masker(model.tokenizer, seed=3) if model.language_model == "masked" else None


def gradients(model: Model, batch: Batch) -> list[Tensor]:
    """The gradients shown, first layer first, after checking that they came last layer first."""
    shown: list[tuple[int, Tensor]] = []
    model.observe_gradients(batch, lambda layer, gradient, _mask: shown.append((layer, gradient)), masker_of(model))
    assert [layer for layer, _ in shown] == [1, 0]
    return [gradient for _, gradient in reversed(shown)]


def plain_loss(network: Any, model: Model, batch: Batch) -> tuple[Tensor, Any]:
    """Each segment's mean loss, token by token; their sum, and the network's outputs."""
    masker = masker_of(model)
    masked = masker(batch) if masker else None
    ids = batch.input_ids if masked is None else masked.input_ids
    inputs: dict[str, Any] = {"input_ids": ids, "attention_mask": batch.mask.long()}
    if model.network.config.model_type == "bert":
        inputs["token_type_ids"] = batch.type_ids
    outputs = network(**inputs, output_attentions=True)
    total = torch.zeros((), dtype=torch.float64)
    for row, length in enumerate(batch.lengths.tolist()):
        losses = []
        for place in range(length):
            if masked is None:
                if place + 1 < length:
                    losses.append(-outputs.logits[row, place].log_softmax(-1)[batch.input_ids[row, place + 1]])
            elif masked.labels[row, place] != IGNORED:
                losses.append(-outputs.logits[row, place].log_softmax(-1)[masked.labels[row, place]])
        total = total + torch.stack(losses).mean()
    return total, outputs


@pytest.mark.parametrize("family", [*MASKED, *CAUSAL])
def test_gradients_equal_plain_autograd(
    family: str, load_double: LoadDouble, eager_twin: Callable[..., Any], batch_for: BatchFor
) -> None:
    model = load_double(family)
    batch = batch_for(model)
    loss, outputs = plain_loss(eager_twin(model, family), model, batch)
    for weights in outputs.attentions:
        weights.retain_grad()
    loss.backward()
    for ours, weights in zip(gradients(model, batch), outputs.attentions, strict=True):
        assert ours.abs().max() > 1e-3
        torch.testing.assert_close(ours, weights.grad, **WITHIN_SINGLE if family in IN_SINGLE else TIGHT)


def test_gradients_equal_finite_differences(
    load_double: LoadDouble, eager_twin: Callable[..., Any], batch_for: BatchFor, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = load_double("bert")
    batch = batch_for(model)
    twin = eager_twin(model, "bert")
    shown = gradients(model, batch)

    def loss_with(layer: int, place: tuple[int, ...], change: float) -> float:
        calls: list[int] = []

        def attend(
            module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Tensor, **_: Any
        ) -> tuple[Tensor, Tensor]:
            scores = query @ key.transpose(2, 3) * query.shape[-1] ** -0.5
            weights = (scores + mask).softmax(-1)
            if len(calls) == layer:
                weights[place] += change
            calls.append(layer)
            return (weights @ value).transpose(1, 2).contiguous(), weights

        monkeypatch.setattr(modeling_bert, "eager_attention_forward", attend)
        with torch.no_grad():
            return float(plain_loss(twin, model, batch)[0])

    step = 1e-6
    for layer, place in [(0, (0, 1, 2, 3)), (0, (2, 3, 20, 7)), (1, (1, 0, 0, 5)), (1, (2, 2, 11, 24))]:
        slope = (loss_with(layer, place, step) - loss_with(layer, place, -step)) / (2 * step)
        assert float(shown[layer][place]) == pytest.approx(slope, rel=1e-4, abs=1e-8)


@pytest.mark.parametrize("family", ["bert", "mpnet", "llama"])
def test_batch_and_padding_change_nothing(family: str, load_double: LoadDouble, batch_for: BatchFor) -> None:
    model = load_double(family)
    batch = batch_for(model)
    together = gradients(model, batch)
    close = WITHIN_SINGLE if family == "llama" else TIGHT
    for row, segment in enumerate(batch.segments):
        length = len(segment)
        alone = gradients(model, batch_for(model, segments=[segment]))
        for ours, theirs in zip(together, alone, strict=True):
            torch.testing.assert_close(ours[row, :, :length, :length], theirs[0], **close)
            assert (ours[row, :, length:] == 0).all(), "no loss depends on what padding attends to"


@pytest.mark.parametrize("family", ["bert", "mpnet", "gpt2"])
def test_parameters_get_no_gradient_and_no_hook_stays(
    family: str, load_double: LoadDouble, batch_for: BatchFor
) -> None:
    model = load_double(family)
    gradients(model, batch_for(model))
    assert all(parameter.grad is None and not parameter.requires_grad for parameter in model.network.parameters())
    assert not model.network.get_input_embeddings()._forward_hooks


def test_no_hook_stays_after_an_error(load_double: LoadDouble, batch_for: BatchFor) -> None:
    model = load_double("bert")

    def stop(*_: object) -> None:
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        model.observe_gradients(batch_for(model), stop, masker_of(model))
    assert not model.network.get_input_embeddings()._forward_hooks


def test_gradients_work_inside_no_grad(load_double: LoadDouble, batch_for: BatchFor) -> None:
    model = load_double("bert")
    with torch.no_grad():
        assert gradients(model, batch_for(model))[0].abs().max() > 0


def test_a_model_without_head_has_no_gradients(save_tiny: Callable[..., Path], batch_for: BatchFor) -> None:
    model = load_model(str(save_tiny("bert", head=False)), device="cpu")
    with pytest.raises(ModelError, match="no language model head"):
        model.observe_gradients(batch_for(model), lambda *_: None, Masker(model.tokenizer, 0))


def test_a_masked_model_without_masker_is_refused(load_double: LoadDouble, batch_for: BatchFor) -> None:
    """Its next-token loss would be that of a model which sees the next token."""
    model = load_double("bert")
    with pytest.raises(ValueError, match="masked language model"):
        model.observe_gradients(batch_for(model), lambda *_: None, None)


def test_a_causal_model_with_masker_is_refused(load_double: LoadDouble, batch_for: BatchFor) -> None:
    model = load_double("gpt2")
    with pytest.raises(ValueError, match="causal language model"):
        model.observe_gradients(batch_for(model), lambda *_: None, Masker(load_double("bert").tokenizer, 0))


@pytest.mark.parametrize("family", ["bert", "albert", "deberta-v2", "modernbert", "gpt2", "llama", "gemma2"])
@pytest.mark.parametrize("most", [1, 1000, 10**9])
def test_logits_in_blocks_change_nothing(family: str, most: int, load_double: LoadDouble, batch_for: BatchFor) -> None:
    """Of one token at once, of a few, of all."""
    model, batch = load_double(family), batch_for(load_double(family))
    labels, inputs = next_tokens(batch), model.inputs(batch)
    states: list[Tensor] = []

    def start(_module: Any, _arguments: Any, output: Tensor) -> Tensor:
        states.append(output.detach().requires_grad_())
        return states[-1]

    hook = model.network.get_input_embeddings().register_forward_hook(start)
    sizes: list[int] = []
    seeing = model.network.register_forward_hook(lambda _m, _a, outputs: sizes.append(outputs.logits.shape[1]))
    try:
        differentiate_loss(model.network, lambda: model.network(**inputs), inputs, labels, most)
        seeing.remove()
        logits = model.network(**inputs).logits
    finally:
        hook.remove()
    expected = sum(
        cross_entropy(row[known != IGNORED], known[known != IGNORED]) for row, known in zip(logits, labels, strict=True)
    )
    torch.autograd.backward(expected)
    close = WITHIN_SINGLE if model.dtype == torch.float32 or family == "llama" else TIGHT
    torch.testing.assert_close(states[0].grad, states[-1].grad, **close)
    assert max(sizes) == max(1, min(most // model.network.config.vocab_size, int((labels != IGNORED).sum())))


def test_nothing_to_predict_gives_gradients_of_zero(load_double: LoadDouble, batch_for: BatchFor) -> None:
    model = load_double("gpt2")
    batch = batch_for(model)
    alone = replace(batch, mask=batch.mask & (torch.arange(batch.mask.shape[1]) == 0))
    assert all((gradient == 0).all() for gradient in gradients(model, alone))


def test_the_next_token_is_none_at_the_end_and_in_padding() -> None:
    ids, mask = torch.tensor([[5, 6, 7], [8, 9, 0]]), torch.tensor([[True] * 3, [True, True, False]])
    batch = SimpleNamespace(input_ids=ids, mask=mask)
    assert next_tokens(batch).tolist() == [[6, 7, IGNORED], [9, IGNORED, IGNORED]]  # type: ignore[arg-type]
