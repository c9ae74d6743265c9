"""Removing heads one by one and more and more, and importance: against whole passes, one example at a time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from headatlas.commands.ablate.curves import RemovalCurves, cross_fitted, ranked, shares_of
from headatlas.commands.ablate.importance import (
    example_importance,
    gate_gradients,
    halves_of,
    importance_table,
    normalised,
)
from headatlas.commands.ablate.passes import HeadRemoval, find_replacement, gated_scores, plain_scores
from headatlas.commands.ablate.task_run import RemovedOne, ablation_table, head_changes
from headatlas.commands.ablate.tasks.classification import Classification, LinearHead
from headatlas.commands.ablate.tasks.minimal_pairs import MinimalPairs
from headatlas.commands.ablate.tasks.token_prediction import MaskedLM, NextToken
from headatlas.corpora.labelled import LabelledText
from headatlas.corpora.minimal_pairs import MinimalPair
from headatlas.errors import SettingError
from headatlas.models.gates import gates_without
from headatlas.models.replay import LayerReplay
from headatlas.models.stacks import HeadShape

HEADS = [(layer, head) for layer in range(2) for head in range(4)]
TEXTS = ("the old man saw a dog", "she sat by the river, and the child ran", "they have not been there", "a cat")
PAIRS = [MinimalPair("s.0", "the dog ran.", "the dog dog."), MinimalPair("s.1", "she sat", "sat she she")]


@pytest.fixture
def task_of(load_tiny, segments_for):
    def make(kind, family="bert"):
        model = load_tiny(family)
        segments = segments_for(model.tokenizer, TEXTS)
        if kind == "masked":
            return MaskedLM(model, segments, batch_tokens=30, seed=1)
        if kind == "causal":
            return NextToken(model, segments, batch_tokens=60)
        if kind in ("mean", "first"):
            texts = [LabelledText(str(n), Path("x"), n, (text,), "ab"[n % 2]) for n, text in enumerate(TEXTS)]
            weight = torch.linspace(-1, 1, 2 * model.width).view(model.width, 2)
            head = LinearHead(("a", "b"), weight, torch.zeros(2), kind)
            return Classification(model, texts, max_tokens=64, batch_tokens=60, head=head)
        return MinimalPairs(model, PAIRS, max_tokens=64, batch_tokens=200)

    return make


def whole_passes(task, heads, replacement=None):
    """Scores without the heads, batch after batch, the obvious way."""
    stack = task.model.default_stack
    gates = gates_without(
        [(layer + 1, head + 1) for layer, head in heads], task.model.shapes[stack], "x", torch.device("cpu")
    )
    found = []
    for number, batch in enumerate(task.batches):
        instead = replacement(number, batch) if replacement else None
        with torch.no_grad(), task.model.gated(gates, instead):
            found.append(task.scores(batch).double().numpy())
    return np.concatenate(found)


@pytest.mark.parametrize(
    ("kind", "family"),
    [
        *(("masked", "bert"), ("masked", "albert"), ("causal", "llama"), ("pairs", "bert"), ("pairs", "gpt2")),
        *(("mean", "bert"), ("first", "bert")),
    ],
)
@pytest.mark.parametrize("budget", [1, 400])
def test_each_head_removed_equals_whole_passes(kind, family, budget, task_of):
    """With a budget of 1 each head runs alone; with 400 several run as copies of the batch."""
    task = task_of(kind, family)
    zero = find_replacement(task, "zero", task.model.default_stack, 0)
    removal = HeadRemoval(task, task.model.default_stack, zero, budget)
    plain, without = removal.scores(HEADS)
    assert removal.why_whole is None
    assert removal._replaying.shortcuts
    assert plain == pytest.approx(plain_scores(task), abs=1e-6)
    for number, head in enumerate(HEADS):
        assert without[:, number] == pytest.approx(whole_passes(task, [head]), abs=1e-6, rel=1e-6)


def test_shortcuts_that_change_the_result_are_turned_off(task_of, monkeypatch):
    task = task_of("masked")
    monkeypatch.setattr(task, "tokens_read", lambda examples: torch.zeros_like(examples.targets["labels"]).bool())
    removal = HeadRemoval(task, "encoder", find_replacement(task, "zero", "encoder", 0), 1)
    _, without = removal.scores(HEADS[:1])
    assert removal.why_whole is None
    assert not removal._replaying.shortcuts
    assert without[:, 0] == pytest.approx(whole_passes(task, HEADS[:1]), abs=1e-6, rel=1e-6)


def test_heads_come_back_in_the_order_asked_for(task_of):
    task = task_of("masked")
    zero = find_replacement(task, "zero", "encoder", 0)
    chosen = [(1, 3), (0, 2), (1, 0)]
    _, without = HeadRemoval(task, "encoder", zero, 400).scores(chosen)
    for number, head in enumerate(chosen):
        assert without[:, number] == pytest.approx(whole_passes(task, [head]), abs=1e-4)


def test_where_replaying_fails_whole_passes_are_made(task_of, monkeypatch):
    task = task_of("masked")
    monkeypatch.setattr("headatlas.models.replay._repeated", lambda output, _copies: output.flip(-1))
    removal = HeadRemoval(task, "encoder", find_replacement(task, "zero", "encoder", 0), 1)
    _, without = removal.scores(HEADS[:2])
    assert "did not give what a whole pass gives" in removal.why_whole
    assert without[:, 1] == pytest.approx(whole_passes(task, [HEADS[1]]), abs=1e-5)


def test_layers_that_cannot_be_replayed_mean_whole_passes(task_of, monkeypatch):
    task = task_of("masked")
    monkeypatch.setattr(LayerReplay, "complete", False)
    removal = HeadRemoval(task, "encoder", find_replacement(task, "zero", "encoder", 0), 1)
    _, without = removal.scores(HEADS[4:5])
    assert "not where they could be replayed" in removal.why_whole
    assert without[:, 0] == pytest.approx(whole_passes(task, [HEADS[4]]), abs=1e-5)


def test_the_mean_that_stands_in_is_that_of_all_real_tokens(task_of):
    task = task_of("masked")
    outputs = {0: [], 1: []}
    for batch in task.batches:
        for row in range(len(batch)):
            length = int(batch.inputs["attention_mask"][row].sum())

            def note(layer, output, row=row, length=length):
                outputs[layer].append(output[row, :length].clone())
                return output

            with torch.no_grad(), task.model.changing_outputs(note):
                task.model.network(**batch.inputs)
    mean = find_replacement(task, "mean", "encoder", 0)
    instead = mean(0, task.batches[0])
    for layer in (0, 1):
        expected = torch.cat(outputs[layer]).mean(0)
        torch.testing.assert_close(instead(layer, None), expected, atol=1e-5, rtol=1e-4)
    _, without = HeadRemoval(task, "encoder", mean, 400).scores(HEADS)
    assert without[:, 6] == pytest.approx(whole_passes(task, [HEADS[6]], mean), abs=1e-4)
    assert abs(without - HeadRemoval(task, "encoder", lambda *_: None, 400).scores(HEADS)[1]).max() > 1e-3


def test_resampled_outputs_come_from_the_data_by_the_seed(task_of):
    task = task_of("masked")
    real = []

    def note(layer, output):
        if layer == 1:
            real.extend(output.flatten(0, 1).tolist())
        return output

    for batch in task.batches:
        with torch.no_grad(), task.model.changing_outputs(note):
            task.model.network(**batch.inputs)
    resample = find_replacement(task, "resample", "encoder", 3)
    batch = task.batches[0]
    drawn = resample(0, batch)(1, None)
    assert drawn.shape == (*batch.inputs["input_ids"].shape, 4, 8)
    known = torch.tensor(real)
    for token in drawn.flatten(0, 1)[:5]:
        assert (known - token).abs().amax((1, 2)).min() < 1e-5
    assert torch.equal(drawn, find_replacement(task, "resample", "encoder", 3)(0, batch)(1, None))
    assert not torch.equal(drawn, find_replacement(task, "resample", "encoder", 4)(0, batch)(1, None))
    both = resample(0, batch.repeated(2))(1, None)
    assert torch.equal(both, torch.cat([drawn, drawn]))
    for budget in (1, 400):
        _, without = HeadRemoval(task, "encoder", resample, budget).scores(HEADS[4:6])
        assert without[:, 1] == pytest.approx(whole_passes(task, [HEADS[5]], resample), abs=1e-4)


def test_resampling_generated_text_is_refused(task_of):
    task = task_of("masked")
    task.replayable = False
    with pytest.raises(SettingError, match="fixed length"):
        find_replacement(task, "resample", "encoder", 0)


def test_the_table_of_removed_heads(task_of):
    task = task_of("masked")
    dice = np.random.default_rng(0)
    plain = dice.normal(size=(4, 2))
    without = plain[:, None] + dice.normal(size=(4, 3, 2))
    found = RemovedOne([(0, 0), (0, 3), (1, 1)], plain, without)
    table = ablation_table(task, "zero", found, head_changes(task, found, seed=0, resamplings=50))
    assert table["measure"].tolist() == ["log_likelihood"] * 3 + ["accuracy"] * 3
    row = table.query("measure == 'accuracy' and layer == 1 and head == 4").iloc[0]
    assert row["score"] == pytest.approx(without[:, 1, 1].mean())
    assert row["change"] == pytest.approx((without[:, 1, 1] - plain[:, 1]).mean())
    assert row["low"] <= row["change"] <= row["high"]
    assert row["count"] == 4
    assert found.harm == pytest.approx(plain[:, None, 0] - without[:, :, 0])


@pytest.mark.parametrize("kind", ["masked", "pairs"])
def test_importance_is_each_example_s_own(kind, task_of):
    """Against the gradient of one example's loss at a time, by gates that all inputs share."""
    task = task_of(kind)
    found = example_importance(task, "encoder")
    place = 0
    for batch in task.batches:
        for number in range(len(batch)):
            gates = torch.ones(2, 4, requires_grad=True)
            with task.model.gated(gates):
                task.losses(batch)[number].backward()
            assert found[place] == pytest.approx(gates.grad.abs().numpy(), abs=1e-5)
            place += 1
    assert found.max() > 1e-3


def test_gate_gradients_leave_no_gradient_behind(task_of):
    task = task_of("masked")
    with torch.no_grad():
        gate_gradients(task, task.batches[0], "encoder")
    assert all(parameter.grad is None and not parameter.requires_grad for parameter in task.model.network.parameters())


def test_the_table_of_importance(task_of):
    task = task_of("masked")
    values = np.random.default_rng(0).uniform(size=(4, 2, 4))
    table = importance_table(task, values, HeadShape((4, 3)), seed=0, resamplings=50)
    assert len(table) == 7
    half = halves_of(task, 0)
    row = table.query("layer == 2 and head == 2").iloc[0]
    assert row["value"] == pytest.approx(values[:, 1, 1].mean())
    for column, number in (("first_half", 0), ("second_half", 1)):
        expected = values[half == number, 1, 1].mean() if (half == number).any() else np.nan
        assert row[column] == pytest.approx(expected, nan_ok=True)
    assert (table.groupby("layer")["normalised"].apply(lambda layer: (layer**2).sum()) <= 1 + 1e-9).all()


def test_normalised_by_hand():
    values = np.array([[3.0, 4.0], [0.0, 0.0]])
    assert normalised(values).tolist() == [[0.6, 0.8], [0.0, 0.0]]


def test_orders_are_chosen_on_the_other_half():
    heads = [(0, 0), (0, 1), (1, 0)]
    values = np.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0], [1.0, 2.0, 3.0]])
    first, second = cross_fitted(values, np.array([0, 1, 0]), heads)
    assert first == [(1, 0), (0, 1), (0, 0)], "half 0 is scored with the order of half 1"
    assert second == heads
    assert cross_fitted(values, np.array([0, 0, 0]), heads)[0] == heads, "of all where the other half is empty"
    assert ranked(np.array([1.0, 0.0, 0.0]), heads) == [(0, 1), (1, 0), (0, 0)]


def test_shares_run_from_none_to_all():
    assert shares_of(10, 72) == [0, 7, 14, 22, 29, 36, 43, 50, 58, 65, 72]
    assert shares_of(4, 3) == [0, 1, 2, 2, 3]


def test_curves_equal_whole_passes(task_of):
    task = task_of("masked")
    zero = find_replacement(task, "zero", "encoder", 0)
    curves = RemovalCurves(task, "encoder", zero, steps=2, seed=0, resamplings=20, tolerance=0.05)
    assert curves.heads == HEADS
    forward, backward = HEADS, HEADS[::-1]
    plain = plain_scores(task)
    curves.add("importance", (forward, backward), plain)
    curves.add_random(3, plain)
    table = curves.table()
    half = halves_of(task, 0)
    expected = np.where(half[:, None] == 0, whole_passes(task, forward[:4]), whole_passes(task, backward[:4]))
    rows = table.query("order == 'importance' and share == 0.5").set_index("measure")
    assert rows["score"].loc[list(task.measures)].to_numpy() == pytest.approx(expected.mean(0), abs=1e-5)
    assert rows["heads_removed"].tolist() == [4, 4]
    whole = table.query("share == 0 and measure == 'log_likelihood'")["score"]
    assert whole.to_numpy() == pytest.approx(plain[:, 0].mean())
    gone = table.query("share == 1 and measure == 'log_likelihood'")["score"]
    assert gone.to_numpy() == pytest.approx(whole_passes(task, HEADS)[:, 0].mean(), abs=1e-5)
    random = table.query("order == 'random'")
    assert (random["low"] <= random["score"] + 1e-12).all()
    assert (random["score"] <= random["high"] + 1e-12).all()


def test_gates_of_each_example_reach_its_rows(task_of):
    """A minimal pair has many rows, all with their pair's gates."""
    task = task_of("pairs")
    zero = find_replacement(task, "zero", "encoder", 0)
    device = torch.device("cpu")
    each = [
        gates_without([(1, 1)], HeadShape((4, 4)), "x", device),
        gates_without([(2, 2)], HeadShape((4, 4)), "x", device),
    ]
    place = {name: number for number, name in enumerate(task.ids)}
    gates = [torch.stack([each[place[name]] for name in batch.ids]) for batch in task.batches]
    found = gated_scores(task, gates, "encoder", zero)
    assert found[0] == pytest.approx(whole_passes(task, [(0, 0)])[0], abs=1e-4)
    assert found[1] == pytest.approx(whole_passes(task, [(1, 1)])[1], abs=1e-4)


def test_scores_do_not_depend_on_the_batches(load_tiny, segments_for):
    model = load_tiny("bert")
    segments = segments_for(model.tokenizer, TEXTS)
    frames = []
    for tokens in (20, 500):
        task = MaskedLM(model, segments, batch_tokens=tokens, seed=1)
        zero = find_replacement(task, "zero", "encoder", 0)
        _, without = HeadRemoval(task, "encoder", zero, tokens).scores(HEADS)
        frames.append(pd.DataFrame(without[:, :, 0], index=task.ids).sort_index().to_numpy())
    assert frames[0] == pytest.approx(frames[1], abs=1e-4)
