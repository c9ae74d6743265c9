"""What `Model.observe` shows is what the network computes: the eager maps, whole, in order, and nothing of padding."""

from __future__ import annotations

import contextlib
import copy
import weakref
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from torch import Tensor, nn
from transformers.models.bert import modeling_bert

from headatlas.encoding.batches import Batch
from headatlas.errors import ModelError
from headatlas.models import attention
from headatlas.models.loading import load_model
from headatlas.models.model import Model
from headatlas.models.stacks import Stack

ENCODERS = ["bert", "roberta", "distilbert", "albert", "electra", "xlm-roberta", "modernbert"]
FALLBACK = ["mpnet", "deberta-v2", "xlnet"]
DECODERS = ["gpt2", "gpt-neox", "opt", "llama", "qwen3", "gemma2", "gpt-oss"]
BOTH = ["t5", "bart"]
FAMILIES = [*ENCODERS, *FALLBACK, *DECODERS, *BOTH]
STACKS: list[tuple[str, Stack]] = [
    *((family, "encoder") for family in (*ENCODERS, *FALLBACK, *BOTH)),
    *((family, "decoder") for family in (*DECODERS, *BOTH)),
    *((family, "cross") for family in BOTH),
]
CLOSE = {"atol": 2e-5, "rtol": 1e-4}

Load = Callable[[str], Model]
BatchFor = Callable[..., Batch]


def observed(model: Model, batch: Batch, stack: Stack | None = None) -> list[Tensor]:
    """The maps shown, after checking that layers came in order."""
    maps: list[Tensor] = []

    def see(layer: int, weights: Tensor, mask: Tensor | None) -> None:
        assert layer == len(maps)
        maps.append(weights.clone())

    model.observe(batch, see, stack)
    return maps


def plain_inputs(model: Model, batch: Batch) -> dict[str, Any]:
    """The forward arguments, put together here and not by the code under test."""
    inputs: dict[str, Any] = {"input_ids": batch.input_ids, "attention_mask": batch.mask.long()}
    if model.network.config.model_type in ("bert", "albert", "electra"):
        inputs["token_type_ids"] = batch.type_ids
    if model.is_encoder_decoder:
        inputs |= {"decoder_input_ids": batch.input_ids, "decoder_attention_mask": batch.mask.long()}
    return inputs


@pytest.fixture(scope="session")
def run_eager(tiny_folder: Callable[[str], Path], load_tiny: Load) -> Callable[[str, Batch], Any]:
    """Run the same weights as transformers does by itself, with eager attention and all maps returned."""

    @cache
    def network_of(family: str) -> Any:
        network_class = getattr(transformers, type(load_tiny(family).network).__name__)
        return network_class.from_pretrained(tiny_folder(family), attn_implementation="eager").eval()

    def run(family: str, batch: Batch) -> Any:
        with torch.no_grad():
            return network_of(family)(**plain_inputs(load_tiny(family), batch), output_attentions=True)

    return run


def maps_of(outputs: Any, family: str, stack: Stack) -> tuple[Tensor, ...]:
    key = {"encoder": "encoder_attentions", "decoder": "decoder_attentions", "cross": "cross_attentions"}[stack]
    return outputs[key if family in BOTH else "attentions"]


def on_padding(maps: list[Tensor], batch: Batch) -> float:
    """The most weight a real token puts on padding."""
    pairs = batch.mask[:, None, :, None] & ~batch.mask[:, None, None, :]
    return max(float((weights * pairs).abs().max()) for weights in maps)


# --- the maps ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("family", "stack"), STACKS)
def test_maps_equal_those_of_eager_attention(
    family: str, stack: Stack, load_tiny: Load, batch_for: BatchFor, run_eager: Callable[[str, Batch], Any]
) -> None:
    model = load_tiny(family)
    batch = batch_for(model)
    expected = maps_of(run_eager(family, batch), family, stack)
    shown = observed(model, batch, stack)
    assert len(shown) == len(expected) == model.shapes[stack].layers
    real = (batch.mask[:, None, :, None] & batch.mask[:, None, None, :]).expand_as(expected[0])
    for ours, theirs in zip(shown, expected, strict=True):
        torch.testing.assert_close(ours[real], theirs[real], **CLOSE)
        uniform = 1 / batch.mask.sum(1)[:, None, None, None]
        assert ((ours - uniform).abs()[real] > 0.05).float().mean() > 0.03, "the test's maps say nothing if uniform"


@pytest.mark.parametrize("family", FAMILIES)
def test_being_observed_changes_no_output(
    family: str, load_tiny: Load, batch_for: BatchFor, run_eager: Callable[[str, Batch], Any]
) -> None:
    model = load_tiny(family)
    batch = batch_for(model)
    expected = run_eager(family, batch)
    with torch.no_grad(), attention.observing(model.network, lambda *_: None):
        outputs = model.network(**plain_inputs(model, batch))
    key = "last_hidden_state" if family in BOTH else "logits"
    torch.testing.assert_close(outputs[key][batch.mask], expected[key][batch.mask], **CLOSE)


@pytest.mark.parametrize(("family", "stack"), STACKS)
def test_padding_and_batch_size_change_nothing(family: str, stack: Stack, load_tiny: Load, batch_for: BatchFor) -> None:
    model = load_tiny(family)
    batch = batch_for(model)
    together = observed(model, batch, stack)
    assert on_padding(together, batch) == 0
    for row, segment in enumerate(batch.segments):
        length = len(segment)
        alone = observed(model, batch_for(model, segments=[segment]), stack)
        for ours, theirs in zip(together, alone, strict=True):
            torch.testing.assert_close(ours[row, :, :length, :length], theirs[0], **CLOSE)


@pytest.mark.parametrize(("family", "stack"), STACKS)
def test_causal_maps_are_causal_and_others_are_not(
    family: str, stack: Stack, load_tiny: Load, batch_for: BatchFor
) -> None:
    model = load_tiny(family)
    for weights in observed(model, batch_for(model), stack):
        ahead = weights[2].triu(1)  # the longest segment, without padding
        assert (ahead == 0).all() == (stack == "decoder")


@pytest.mark.parametrize("family", FAMILIES)
def test_rows_sum_to_one_except_with_a_learned_sink(family: str, load_tiny: Load, batch_for: BatchFor) -> None:
    model = load_tiny(family)
    batch = batch_for(model)
    sums = torch.stack([weights.sum(-1).movedim(1, -1)[batch.mask] for weights in observed(model, batch)])
    if family == "gpt-oss":
        assert (sums < 0.99).any()
        assert (sums <= 1 + 1e-5).all()
    else:
        torch.testing.assert_close(sums, torch.ones_like(sums))


def test_sliding_windows_are_kept(load_tiny: Load, batch_for: BatchFor) -> None:
    model = load_tiny("gemma2")
    local, everywhere = (weights[2] for weights in observed(model, batch_for(model)))  # the longest: no padding
    assert (local.tril(-4) == 0).all()
    assert (everywhere.tril(-4) != 0).any()


def test_token_types_reach_the_network(load_tiny: Load, batch_for: BatchFor) -> None:
    model = load_tiny("bert")
    batch = batch_for(model, ["the dog ran.\tshe sat."])
    assert batch.type_ids.any()
    flat = Batch(**{**vars(batch), "type_ids": torch.zeros_like(batch.type_ids)})
    assert not torch.allclose(observed(model, batch)[0], observed(model, flat)[0], atol=1e-3)


@pytest.mark.parametrize("family", ["gemma2", "modernbert"])
def test_float64_does_not_turn_padding_outside_a_window_into_nan(
    family: str, load_tiny: Load, tiny_folder: Callable[[str], Path], batch_for: BatchFor
) -> None:
    single = load_tiny(family)
    double = load_model(str(tiny_folder(family)), device="cpu", dtype="float64")
    batch = batch_for(single)
    real = batch.mask[:, None, :, None].expand(-1, 4, -1, batch.mask.shape[1])
    for ours, theirs in zip(observed(double, batch), observed(single, batch), strict=True):
        torch.testing.assert_close(ours[real].float(), theirs[real], **CLOSE)
    with torch.no_grad():  # nor in passes that nobody observes
        assert double.network(**plain_inputs(double, batch)).logits[batch.mask].isfinite().all()


# --- how they are observed --------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES)
def test_which_families_are_on_the_interface(family: str, load_tiny: Load) -> None:
    model = load_tiny(family)
    assert model.uses_interface == (family not in FALLBACK)
    assert model.source["observed_through"] == ("attention interface" if model.uses_interface else "output_attentions")
    assert model.network.config._attn_implementation == "eager"


@pytest.mark.parametrize("family", FAMILIES)
def test_stacks_layers_and_heads_are_seen(family: str, load_tiny: Load) -> None:
    shapes = {stack: shape.heads for stack, shape in load_tiny(family).shapes.items()}
    if family in BOTH:
        assert shapes == {"encoder": (4, 4), "decoder": (4, 4, 4), "cross": (4, 4, 4)}
    else:
        assert shapes == {"decoder" if family in DECODERS else "encoder": (4, 4)}


@pytest.mark.parametrize("family", ["bert", "llama", "t5"])
def test_one_layers_maps_are_alive_at_a_time(
    family: str, load_tiny: Load, batch_for: BatchFor, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = load_tiny(family)
    settings = model.network.config.__dict__  # as with "output_attentions": true in config.json, which keeps maps
    monkeypatch.setitem(settings, "_output_attentions", True)
    seen: list[weakref.ref[Tensor]] = []
    alive: list[int] = []

    def see(_layer: int, weights: Tensor, _mask: Tensor | None) -> None:
        seen.append(weakref.ref(weights))
        alive.append(sum(reference() is not None for reference in seen))

    model.observe(batch_for(model), see)
    assert alive == [1, 1]
    assert all(reference() is None for reference in seen)


@pytest.mark.parametrize("family", ["bert", "llama", "gpt-oss"])
def test_unobserved_the_weights_are_returned(
    family: str, load_tiny: Load, batch_for: BatchFor, run_eager: Callable[[str, Batch], Any]
) -> None:
    model = load_tiny(family)
    batch = batch_for(model)
    expected = run_eager(family, batch).attentions
    returned: list[Tensor] = []
    modules = [module for module in model.network.modules() if type(module).__name__.endswith("Attention")]
    hooks = [m.register_forward_hook(lambda _m, _i, output: returned.append(output[1])) for m in modules]
    try:
        with torch.no_grad():
            model.network(**plain_inputs(model, batch))
    finally:
        for hook in hooks:
            hook.remove()
    weights = [tensor for tensor in returned if isinstance(tensor, Tensor)]
    torch.testing.assert_close(weights[:: len(weights) // 2], list(expected), **CLOSE)


def test_observers_nest_and_leave_nothing_behind(load_tiny: Load) -> None:
    network = load_tiny("bert").network
    own = modeling_bert.eager_attention_forward

    def outer(*_: object) -> None: ...

    def inner(*_: object) -> None: ...

    with attention.observing(network, outer):
        with contextlib.suppress(RuntimeError), attention.observing(network, inner):
            assert attention._observer.get() is inner
            raise RuntimeError
        assert attention._observer.get() is outer
        assert modeling_bert.eager_attention_forward is not own
    assert attention._observer.get() is None
    assert modeling_bert.eager_attention_forward is own


def test_a_subclass_in_another_file_is_observed(load_tiny: Load, batch_for: BatchFor) -> None:
    class Derived(modeling_bert.BertSelfAttention): ...

    model = copy.deepcopy(load_tiny("bert"))
    for layer in model.network.bert.encoder.layer:
        layer.attention.self.__class__ = Derived
    torch.testing.assert_close(observed(model, batch_for(model)), observed(load_tiny("bert"), batch_for(model)))


def test_a_layer_that_does_not_show_its_map_is_an_error(
    load_tiny: Load, batch_for: BatchFor, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = load_tiny("bert")
    monkeypatch.setitem(model.network.config.__dict__, "_attn_implementation_internal", "sdpa")
    with pytest.raises(ModelError, match="0 encoder layers out of 2"):
        observed(model, batch_for(model))


# --- the traps --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", ["albert", "distilbert"])
def test_layers_are_counted_where_modules_do_not_know_theirs(family: str, load_tiny: Load, batch_for: BatchFor) -> None:
    model = load_tiny(family)
    known: list[object] = []

    def note(module: nn.Module, *_: object) -> None:
        known.append(getattr(module, "layer_idx", None))

    with attention.observing(model.network, note), torch.no_grad():
        model.network(input_ids=batch_for(model).input_ids)
    assert known == [None, None], "the trap is gone: this test no longer says anything"
    first, second = observed(model, batch_for(model))
    assert not torch.allclose(first, second, atol=1e-2)


def test_maps_of_a_window_are_refused(tmp_path: Path, tokenizer_of: Any) -> None:
    tokenizer = tokenizer_of("roberta")
    settings = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48}
    config = transformers.LongformerConfig(
        vocab_size=len(tokenizer), attention_window=4, max_position_embeddings=66, pad_token_id=1, **settings
    )
    transformers.LongformerForMaskedLM(config).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    with pytest.raises(ModelError, match="every token to every token"):
        load_model(str(tmp_path))


def test_an_encoder_decoder_with_nested_settings(tmp_path: Path, tokenizer_of: Any, batch_for: BatchFor) -> None:
    tokenizer = tokenizer_of("t5")
    settings = {"hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 48, "num_key_value_heads": 2}
    settings |= {"head_dim": 8, "vocab_size": len(tokenizer)}
    config = transformers.T5GemmaConfig(
        encoder=settings | {"num_hidden_layers": 2},
        decoder=settings | {"num_hidden_layers": 3},
        vocab_size=len(tokenizer),
    )
    transformers.T5GemmaForConditionalGeneration(config).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    model = load_model(str(tmp_path), device="cpu")
    assert {stack: shape.layers for stack, shape in model.shapes.items()} == {"encoder": 2, "decoder": 3, "cross": 3}
    assert len(observed(model, batch_for(model), "cross")) == 3


def test_an_encoder_decoder_off_the_interface(tmp_path: Path, tokenizer_of: Any, batch_for: BatchFor) -> None:
    tokenizer = tokenizer_of("roberta")
    sizes = dict.fromkeys(("src_vocab_size", "tgt_vocab_size"), len(tokenizer))
    sizes |= dict.fromkeys(("encoder_attention_heads", "decoder_attention_heads"), 4)
    sizes |= {"d_model": 32, "encoder_layers": 2, "decoder_layers": 3, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48}
    network = transformers.FSMTForConditionalGeneration(transformers.FSMTConfig(langs=["de", "en"], **sizes)).eval()
    network.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    model = load_model(str(tmp_path), device="cpu")
    assert not model.uses_interface
    batch = batch_for(model)
    with torch.no_grad():
        outputs = network.base_model(**plain_inputs(model, batch), use_cache=False, output_attentions=True)
    stacks: tuple[Stack, ...] = ("encoder", "decoder", "cross")
    for stack in stacks:
        shown = observed(model, batch, stack)
        torch.testing.assert_close(shown, list(maps_of(outputs, "t5", stack)), **CLOSE)
        assert on_padding(shown, batch) == 0
