"""How much each head matters for a prediction, and what cutting attention does: against passes of one change each."""

import math

import pytest
import torch

from headatlas.commands.explore import predictions
from headatlas.commands.explore.live import Explorer
from headatlas.commands.explore.question import Cut, Question
from headatlas.errors import SettingError
from headatlas.models.gates import Cuts, gates_without

TEXT = "the old man saw a zebra."
CPU = torch.device("cpu")


def explorer(load_tiny, family):
    model = load_tiny(family)
    return Explorer(model, model.default_stack)


def log_probabilities(model, ids, change=None):
    """Of all tokens of a text, by a pass of its own."""
    with torch.inference_mode():
        if change is None:
            return model.network(torch.tensor([ids])).logits[0].double().log_softmax(-1)
        with model.changing_outputs(change):
            return model.network(torch.tensor([ids])).logits[0].double().log_softmax(-1)


def gate_by_hand(layer, head):
    """Set a head's output to 0."""

    def change(at, output):
        changed = output.clone()
        if at == layer:
            changed[:, :, head] = 0
        return changed

    return change


def kl(p, q):
    return sum(math.exp(a) * (a - b) for a, b in zip(p.tolist(), q.tolist(), strict=True))


@pytest.mark.parametrize("copies_at_once", [1, 3, 100])
@pytest.mark.parametrize("family", ["bert", "gpt2", "llama"])
def test_effects_equal_those_of_removing_each_head_in_a_pass_of_its_own(family, copies_at_once, load_tiny, monkeypatch):
    one = explorer(load_tiny, family)
    model = one.model
    ids = model.tokenizer(TEXT)["input_ids"]
    monkeypatch.setattr(predictions, "MOST_TOKENS", copies_at_once * len(ids))
    question = Question(TEXT, (2, 3), mask=False)
    word_of = one._read(question).word_of
    places = [at for at, word in enumerate(word_of) if word in (2, 3)]
    rows = [at - (family != "bert") for at in places]
    whole = log_probabilities(model, ids)
    answer = one.effects(question)
    assert answer["targets"] == [model.tokenizer.convert_ids_to_tokens(ids[at]) for at in places]
    followed = [float(whole[row, ids[at]]) for row, at in zip(rows, places, strict=True)]
    assert answer["before"] == pytest.approx(sum(followed) / len(followed), abs=1e-5)
    for number, (layer, head) in enumerate(one.shape.places):
        after = log_probabilities(model, ids, gate_by_hand(layer, head))
        followed = [float(after[row, ids[at]]) for row, at in zip(rows, places, strict=True)]
        assert answer["log_probabilities"][number] == pytest.approx(sum(followed) / len(followed), abs=1e-4)
        expected = sum(kl(whole[row], after[row]) for row in rows) / len(rows)
        assert answer["kl"][number] == pytest.approx(expected, abs=1e-4)
    assert max(answer["kl"]) > 0.01


@pytest.mark.parametrize("family", ["bert", "gpt2", "llama"])
def test_a_cut_and_its_effect_in_each_head(family, load_tiny):
    one = explorer(load_tiny, family)
    model = one.model
    ids = model.tokenizer(TEXT)["input_ids"]
    pairs = torch.zeros(len(ids), len(ids), dtype=torch.bool)
    pairs[4, 1:3] = pairs[1:3, 4] = True
    cut = Cut((4,), (1, 2), both=True)
    question = Question(TEXT, (5,), mask=False, cut=cut, by_cut=True, layers=(2, 2))
    reading = one._read(question)
    rows = [at - (family != "bert") for at in reading.places]
    whole = log_probabilities(model, ids)
    answer = one.effects(question)
    assert (answer["layers"], len(answer["kl"])) == ([2, 2], 4)
    for head in range(4):
        gates = gates_without([(2, head + 1)], one.shape, model.name, CPU)
        after = log_probabilities(model, ids, Cuts(gates, pairs, one.shape))
        expected = sum(kl(whole[row], after[row]) for row in rows) / len(rows)
        assert answer["kl"][head] == pytest.approx(expected, abs=1e-4)
    for heads in (None, ((1, 2), (2, 1))):
        closed = one.shape.numbered if heads is None else heads
        after = log_probabilities(model, ids, Cuts(gates_without(closed, one.shape, model.name, CPU), pairs, one.shape))
        asked = one.answer(Question(TEXT, (5,), mask=False, cut=Cut((4,), (1, 2), True, heads)))
        for row, prediction in zip(rows, asked["predictions"], strict=True):
            assert prediction["kl"] == pytest.approx(kl(whole[row], after[row]), abs=1e-4)
            token = prediction["own"]["id"]
            assert prediction["own"]["after"] == pytest.approx(math.exp(after[row, token]), abs=1e-5)
        assert asked["overall"]["kl"] > 0
    assert one.answer(Question(TEXT, cut=Cut((), ())))["overall"]["kl"] == 0


def test_without_a_chosen_word_a_masked_model_predicts_all_of_them_where_they_stand(load_tiny):
    one = explorer(load_tiny, "bert")
    ids = one.model.tokenizer(TEXT)["input_ids"]
    answer = one.answer(Question(TEXT, removed=((1, 1), (2, 2))))
    assert answer["predictions"] == []
    assert answer["example"]["words"] == answer["words"]
    whole = log_probabilities(one.model, ids)
    with one.model.gated(gates_without(((1, 1), (2, 2)), one.shape, "", CPU)):
        after = log_probabilities(one.model, ids)
    places = range(1, len(ids) - 1)
    assert answer["overall"] == {
        "kl": pytest.approx(sum(kl(whole[at], after[at]) for at in places) / len(places), abs=1e-4),
        "places": len(places),
        "changed": sum(int(whole[at].argmax() != after[at].argmax()) for at in places),
    }


def test_the_token_that_is_followed_can_be_chosen(load_tiny):
    one = explorer(load_tiny, "gpt2")
    ids = one.model.tokenizer(TEXT)["input_ids"]
    whole = log_probabilities(one.model, ids)[-1]
    assert one.effects(Question(TEXT))["before"] == pytest.approx(float(whole.max()), abs=1e-5)
    assert one.effects(Question(TEXT, target=17))["before"] == pytest.approx(float(whole[17]), abs=1e-5)
    with pytest.raises(SettingError, match="There is no token 100000"):
        one.effects(Question(TEXT, target=100_000))
    with pytest.raises(SettingError, match="at one place only"):
        one.effects(Question(TEXT, (1, 2), target=17))


@pytest.mark.parametrize(("family", "why"), [("t5", "predicts no words"), ("deberta-v2", "not removed")])
def test_models_without_effects_say_why(family, why, load_tiny):
    with pytest.raises(SettingError, match=why):
        explorer(load_tiny, family).effects(Question(TEXT))
