"""Cut attention: against attention computed by hand, in every observable family, and with nothing left to attend to."""

from __future__ import annotations

import math
import sys

import pytest
import torch

from headatlas.encoding.batches import make_batch
from headatlas.errors import ModelError
from headatlas.models.gates import Cuts, gates_without
from headatlas.models.replay import LayerReplay
from headatlas.views.figures.sentence import all_maps, read_sentence

FAMILIES = ["bert", "roberta", "distilbert", "albert", "electra", "xlm-roberta", "modernbert"]
FAMILIES += ["gpt2", "gpt-neox", "opt", "llama", "qwen3", "gemma2", "gpt-oss", "t5", "bart"]
TEXT = "the old man saw a little dog."
CPU = torch.device("cpu")
CUT = [(1, 2), (2, 1), (2, 4)]  # heads, from 1


def batch_of(model):
    return make_batch([read_sentence(model, TEXT).segment], model.kinds, model.pad_id)


def cuts_of(model, pairs, heads=CUT):
    shape = model.shapes[model.default_stack]
    return Cuts(gates_without(heads, shape, model.name, CPU), pairs, shape)


def some_pairs(length, blind=False):
    """From the tokens of one span to those of another, both ways; and the first token cut from everything."""
    pairs = torch.zeros(length, length, dtype=torch.bool)
    pairs[5:7, 1:3] = pairs[1:3, 5:7] = True
    pairs[0] |= blind
    return pairs


def by_hand(pairs, causal):
    """Attention with explicit sums over the keys that a token may see; no mask is used."""
    calls = 0

    def attend(module, query, key, value, attention_mask, scaling=None, **_):
        nonlocal calls
        calls += 1
        _, heads, length, size = query.shape
        share = heads // key.shape[1]  # query heads that share a key and value
        output, weights = torch.zeros(1, length, heads, size), torch.zeros(1, heads, length, length)
        for head in range(heads):
            for i in range(length):
                cut = pairs[i] if ((calls - 1) % 2 + 1, head + 1) in CUT else torch.zeros(length, dtype=torch.bool)
                keys = [j for j in range(length) if not cut[j] and not (causal and j > i)]
                scores = [
                    math.exp(float(query[0, head, i] @ key[0, head // share, j]) * (scaling or size**-0.5))
                    for j in keys
                ]
                for j, score in zip(keys, scores, strict=True):
                    weights[0, head, i, j] = score / sum(scores)
                    output[0, i, head] += weights[0, head, i, j] * value[0, head // share, j]
        return output, weights

    return attend


@pytest.mark.parametrize("blind", [False, True])
@pytest.mark.parametrize("family", ["bert", "gpt2", "llama"])
def test_cut_attention_equals_attention_by_hand(family, blind, load_tiny, monkeypatch):
    model = load_tiny(family)
    batch = batch_of(model)
    inputs, pairs = model.inputs(batch), some_pairs(batch.input_ids.shape[1], blind)
    with torch.inference_mode():
        plain = model.network(**inputs).logits
        with model.changing_outputs(cuts_of(model, pairs)):
            cut = model.network(**inputs).logits
            maps = all_maps(model, batch, model.default_stack)
        assert torch.equal(model.network(**inputs).logits, plain), "nothing stays behind"
        file = sys.modules[type(model.network).__module__]
        monkeypatch.setattr(file, "eager_attention_forward", by_hand(pairs, model.language_model == "causal"))
        expected = model.network(**inputs).logits
        expected_maps = all_maps(model, batch, model.default_stack)
    assert (cut - plain).abs().max() > 1e-3
    torch.testing.assert_close(cut, expected, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(torch.from_numpy(maps), torch.from_numpy(expected_maps), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("family", FAMILIES)
def test_in_the_first_layer_what_is_left_of_a_row_is_rescaled(family, load_tiny):
    model = load_tiny(family)
    stack, batch = model.default_stack, batch_of(model)
    pairs = some_pairs(batch.input_ids.shape[1], blind=True)
    plain = torch.from_numpy(all_maps(model, batch, stack))
    with model.changing_outputs(cuts_of(model, pairs)):
        maps = torch.from_numpy(all_maps(model, batch, stack))
    left = plain[0, 1].masked_fill(pairs, 0)
    sink = plain[0, 1].sum(-1, keepdim=True)  # below 1 where a head has a learned sink
    expected = left / (1 - sink + left.sum(-1, keepdim=True)).clamp(min=1e-9)
    torch.testing.assert_close(maps[0, 1], expected, atol=1e-5, rtol=1e-3)
    torch.testing.assert_close(maps[0, [0, 2, 3]], plain[0, [0, 2, 3]], atol=0, rtol=0)
    assert torch.isfinite(maps).all()
    for layer, head in CUT:
        assert not maps[layer - 1, head - 1][pairs].any()


def test_copies_of_a_batch_have_cuts_of_their_own_and_can_be_replayed(load_tiny):
    model = load_tiny("llama")
    inputs = model.inputs(batch_of(model))
    shape, pairs = model.shapes["decoder"], some_pairs(inputs["input_ids"].shape[1])
    each = [gates_without([(2, head)], shape, model.name, CPU) for head in (1, 3)]
    repeated = {key: torch.cat([value] * 2) if hasattr(value, "shape") else value for key, value in inputs.items()}
    replay = LayerReplay(model)
    with torch.inference_mode():
        replay.record(lambda: model.network(**inputs))
        both = replay.replay(
            1, lambda: model.network(**repeated).logits, Cuts(torch.stack(each), pairs, shape), copies=2
        )
        for number, gates in enumerate(each):
            with model.changing_outputs(Cuts(gates, pairs, shape)):
                whole = model.network(**inputs).logits
            torch.testing.assert_close(both[[number]], whole, atol=1e-5, rtol=1e-5)


def test_an_architecture_that_ignores_its_mask_is_refused(load_tiny, monkeypatch):
    model = load_tiny("bert")
    batch = batch_of(model)
    file = sys.modules[type(model.network).__module__]
    original = file.eager_attention_forward
    monkeypatch.setattr(file, "eager_attention_forward", lambda *given, **named: original(*given[:4], None, **named))
    cuts = cuts_of(model, some_pairs(batch.input_ids.shape[1]))
    with torch.inference_mode(), model.changing_outputs(cuts), pytest.raises(ModelError, match="cannot be cut"):
        model.network(**model.inputs(batch))
