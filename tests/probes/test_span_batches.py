"""Batches of span targets: what is read equals the store looked up target by target."""

import numpy as np
import pytest
import torch

from headatlas.errors import SettingError
from headatlas.probes.span_batches import UNSEEN, SpanTargets, labels_of
from tests.probes.random_spans import random_spans, random_targets


@pytest.mark.parametrize("spans", [1, 2])
@pytest.mark.parametrize("memory", [0, 10**9])
def test_states_of_spans_equal_a_slow_lookup(tmp_path, spans, memory):
    targets, numbers = random_spans(tmp_path, np.random.default_rng(0), spans=spans)
    targets = SpanTargets(targets.store, targets.numbers, targets.targets, targets.labels, targets.device, memory)
    places = [7, 2, 11]
    for _ in range(2):  # read, and read again or taken from memory
        batch = targets.batch(places, "states")
        wanted = [(place, target) for place in places for target in targets.targets[place]]
        assert len(batch) == len(wanted)
        for row, (place, target) in enumerate(wanted):
            assert batch.places[batch.text[row]] == place
            assert targets.labels.names[batch.answers[0, row]] == target.labels[0]
            for slot, (start, end) in enumerate(target.spans):
                mine = batch.token[batch.span == slot * len(batch) + row]
                found = batch.states[:, mine].numpy()
                np.testing.assert_array_equal(found, numbers[place].states[:, start:end])
    distinct = {(place, token) for place, target in wanted for span in target.spans for token in range(*span)}
    assert batch.states.shape[1] == len(distinct)  # no token is read twice


def test_attention_between_spans_equals_a_slow_loop(tmp_path):
    targets, numbers = random_spans(tmp_path, np.random.default_rng(1), spans=2)
    batch = targets.batch([4, 0], "maps")
    rows = [(place, target) for place in (4, 0) for target in targets.targets[place]]
    for row, (place, target) in enumerate(rows):
        maps, heads = numbers[place].maps, len(numbers[place].maps)
        for way, (source, goal) in enumerate((target.spans, target.spans[::-1])):
            for head in range(heads):
                sums = [sum(maps[head, i, j] for j in range(*goal)) for i in range(*source)]
                found = batch.pairs[row, way * heads + head].item()
                assert found == pytest.approx(sum(sums) / len(sums), abs=1e-6)


def test_plans_hold_every_text_once_within_the_budget(tmp_path):
    targets, _ = random_spans(tmp_path, np.random.default_rng(2))
    rng = np.random.default_rng(0)
    for plan in (targets.plan(range(30), "states", 8), targets.plan(range(30), "states", 8, rng)):
        assert sorted(place for batch in plan for place in batch) == list(range(30))
        assert all(len(batch) == 1 or targets.counts[batch].sum() <= 8 for batch in plan)
    assert targets.plan(range(30), "states", 8, rng) != targets.plan(range(30), "states", 8, rng)


def test_labels_several_unseen_and_negative():
    rng = np.random.default_rng(0)
    single = random_targets(rng, 5, 1, ("b", "none", "a"), 20)
    labels = labels_of(single, "none")
    assert (labels.names, labels.several, labels.negative) == (("a", "b", "none"), False, 2)
    assert (labels.uncounted, labels_of(single, "none", counted=False).uncounted) == (None, 2)
    other = random_targets(rng, 5, 1, ("c",), 1)
    assert labels.answers(other).tolist() == [UNSEEN]
    assert not labels.know(other[0])
    many = random_targets(rng, 5, 1, ("a", "b", "c"), 20, several=True)
    labels = labels_of(many, None)
    assert labels.several
    for row, target in zip(labels.answers(many), many, strict=True):
        assert [name for name, given in zip(labels.names, row, strict=True) if given] == sorted(target.labels)


def test_a_store_of_states_alone(tmp_path):
    targets, numbers = random_spans(tmp_path, np.random.default_rng(3), maps=False)
    np.testing.assert_array_equal(targets.store.states_of(3, slice(1, 3)), numbers[3].states[:, 1:3])
    with pytest.raises(SettingError, match="holds hidden states alone"):
        targets.store.maps_of(3)
    assert torch.isfinite(targets.batch([3], "states").states).all()
