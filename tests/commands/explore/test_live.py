"""Answers against the model run by hand: maps, masks, removed heads, probabilities."""

import base64
import math
import zlib

import numpy as np
import pytest
import torch

from headatlas.commands.explore import live
from headatlas.commands.explore.live import Explorer
from headatlas.commands.explore.question import Question
from headatlas.errors import HeadatlasError, SettingError

TEXT = "the old man saw a zebra."


def explorer(load_tiny, family):
    model = load_tiny(family)
    return Explorer(model, model.default_stack)


def maps_of(answer, heads):
    packed = answer["example"]
    size = len(packed["tokens"])
    levels = np.frombuffer(zlib.decompress(base64.b64decode(packed["maps"])), np.uint8)
    return levels.reshape(heads, size, size) / 255


def by_hand(model, ids, removed=()):
    """Maps [heads, n, n] and probabilities [n, vocabulary] of a plain pass; a removed head's columns of the output
    projection are cut out by hooks of its own."""
    attentions, logits = [], None

    def cut(layer):
        def hook(_module, inputs):
            states = inputs[0].clone()
            width = states.shape[-1] // 4
            for one, head in removed:
                if one == layer:
                    states[..., (head - 1) * width : head * width] = 0
            return (states,)

        return hook

    layers = model.network.bert.encoder.layer
    handles = [
        layer.attention.output.dense.register_forward_pre_hook(cut(number)) for number, layer in enumerate(layers, 1)
    ]
    batch = torch.tensor([ids])
    try:
        with torch.inference_mode():
            outputs = model.network(batch, output_attentions=True)
            attentions, logits = outputs.attentions, outputs.logits
    finally:
        for handle in handles:
            handle.remove()
    return torch.cat([one[0] for one in attentions]).numpy(), logits[0].float().softmax(-1)


@pytest.mark.parametrize("removed", [(), ((1, 2), (2, 4))])
def test_a_masked_word_before_and_after(load_tiny, removed):
    one = explorer(load_tiny, "bert")
    model = one.model
    answer = one.answer(Question(TEXT, (5,), removed=removed))
    ids = model.tokenizer(TEXT)["input_ids"]
    zebra = range(6, len(ids) - 2)  # five letters, a token each
    masked = [model.tokenizer.mask_token_id if place in zebra else token for place, token in enumerate(ids)]
    maps, without = by_hand(model, masked, removed)
    _, whole = by_hand(model, masked)
    assert answer["words"] == ["the", "old", "man", "saw", "a", "zebra", "."]
    assert answer["example"]["words"] == ["the", "old", "man", "saw", "a", "[MASK]", "."]
    np.testing.assert_allclose(maps_of(answer, 8), maps, atol=0.5 / 255 + 1e-5)
    assert [row["place"] for row in answer["predictions"]] == list(zebra)
    for row in answer["predictions"]:
        assert row["word"] == 5
        for side, shares in (("before", whole), ("after", without)):
            best = sorted(enumerate(shares[row["place"]].tolist()), key=lambda pair: -pair[1])[:5]
            assert [token for token, *_ in row[side]] == [model.tokenizer.convert_ids_to_tokens(i) for i, _ in best]
            assert [share for _, share, _ in row[side]] == pytest.approx([share for _, share in best], abs=1e-5)
            own = shares[row["place"], ids[row["place"]]]
            assert row["own"][side] == pytest.approx(float(own), abs=1e-5)
            assert row["own"][f"rank_{side}"] == 1 + sum(share > own for share in shares[row["place"]])
        assert (row["before"] == row["after"]) == (not removed)
        p, q = (shares[row["place"]].double() for shares in (whole, without))
        kl = sum(float(p[i]) * math.log(float(p[i]) / float(q[i])) for i in range(len(p)))
        assert row["kl"] == pytest.approx(kl, abs=2e-5)


def test_a_mask_that_is_typed_is_predicted_and_has_no_word_of_its_own(load_tiny):
    one = explorer(load_tiny, "bert")
    (row,) = one.answer(Question("the [MASK] ran."))["predictions"]
    assert (row["place"], row["word"], row["own"]) == (2, 1, None)


@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_a_causal_model_says_what_comes_next_and_what_it_expected(load_tiny, family):
    one = explorer(load_tiny, family)
    ids = one.model.tokenizer(TEXT)["input_ids"]
    with torch.inference_mode():
        shares = one.model.network(torch.tensor([ids])).logits[0].softmax(-1)
    (row,) = one.answer(Question(TEXT))["predictions"]
    assert (row["place"], row["word"], row["own"]) == (len(ids), -1, None)
    assert row["before"][0][1] == pytest.approx(float(shares[-1].max()), abs=1e-5)
    rows = one.answer(Question(TEXT, (1,), removed=((1, 1),)))["predictions"]
    assert {row["word"] for row in rows} == {1}
    for row in rows:
        assert row["own"]["before"] == pytest.approx(float(shares[row["place"] - 1, ids[row["place"]]]), abs=1e-5)
        assert row["before"] != row["after"]


def test_the_first_word_of_a_causal_model_cannot_be_predicted(load_tiny):
    with pytest.raises(SettingError, match="The first word cannot be predicted"):
        explorer(load_tiny, "gpt2").answer(Question("a b", (0,)))


@pytest.mark.parametrize("family", ["t5", "bart"])
def test_a_model_without_a_head_shows_attention_and_predicts_nothing(load_tiny, family):
    one = explorer(load_tiny, family)
    assert one.about()["predicts"] is None
    answer = one.answer(Question(TEXT, (1,), removed=((1, 1),)))
    assert answer["predictions"] == []
    other = one.answer(Question(TEXT))
    assert answer["example"]["maps"] != other["example"]["maps"]


def test_heads_that_cannot_be_removed_say_so(load_tiny):
    one = explorer(load_tiny, "deberta-v2")
    assert not one.about()["removable"]
    assert one.answer(Question(TEXT))["example"]["tokens"]
    with pytest.raises(HeadatlasError, match="not gated or removed"):
        one.answer(Question(TEXT, removed=((1, 1),)))


def test_too_long_empty_and_unknown_words_are_refused(load_tiny, monkeypatch):
    one = explorer(load_tiny, "bert")
    assert one.most_tokens == 64
    for question, problem in [
        (Question("dog " * 63), "65 tokens"),
        (Question("  "), "empty"),
        (Question("dog", (1,)), "no word 1"),
    ]:
        with pytest.raises(SettingError, match=problem):
            one.answer(question)
    assert len(one.answer(Question("dog " * 62))["example"]["tokens"]) == 64
    monkeypatch.setattr(live, "MOST_WEIGHTS", 8 * 100)
    with pytest.raises(SettingError, match="At most 10 can be shown"):
        explorer(load_tiny, "bert").answer(Question("dog " * 9))
