"""Training: what can be learned is learned, held-out sentences decide, and the same seed gives the same probe."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from headatlas.commands.probe.options import ProbeOptions
from headatlas.errors import SettingError
from headatlas.probes.attachment import attach, predict
from headatlas.probes.attention import AttentionProbe
from headatlas.probes.structural import StructuralProbe
from headatlas.probes.training import TrainingSettings, _BestWeights, fit, hold_out
from tests.probes.random_stores import data, random_store

SETTINGS = TrainingSettings(epochs=12, patience=2, batch_size=4)


@pytest.fixture(scope="module")
def sentences(tmp_path_factory):
    rng = np.random.default_rng(3)
    sizes = rng.integers(2, 9, 60).tolist()
    return data(random_store(tmp_path_factory.mktemp("store"), sizes, telling=True))


def test_a_head_that_tells_is_found(sentences):
    train, held_out = hold_out(50, 0)
    probe, fitted = fit(lambda: AttentionProbe(3), sentences, train, held_out, SETTINGS, 0)
    places = range(50, 60)
    scores = attach(predict(probe, sentences, places), sentences, places, {"punct"}).scores()
    assert scores["uas"] > 0.9
    assert scores["uas_tree"] > 0.9
    assert probe.weight.argmax() == 0  # from dependent to head
    assert probe.weight.argmin() == 3  # its other way speaks against: who attends to me is no head of mine
    assert 1 <= fitted.epochs <= 12
    once = TrainingSettings(epochs=1, patience=2, batch_size=4)
    assert fit(lambda: AttentionProbe(3), sentences, train, held_out, once, 0)[1].at_limit
    assert not fitted.at_limit or fitted.epochs == 12


def test_the_same_seed_gives_the_same_weights(sentences):
    train, held_out = hold_out(50, 0)
    quick = TrainingSettings(epochs=2, patience=1, batch_size=4)
    one, other, third = (fit(lambda: AttentionProbe(3), sentences, train, held_out, quick, s)[0] for s in (0, 0, 1))
    assert torch.equal(one.weight, other.weight)
    assert not torch.equal(one.weight, third.weight)


def test_other_heads_can_be_learned(sentences):
    train, held_out = hold_out(50, 0)
    zeros = [np.where(np.arange(size) == 0, -1, 0) for size in sentences.sizes]
    probe, _ = fit(lambda: AttentionProbe(3), sentences, train, held_out, SETTINGS, 0, answers=zeros)
    found = predict(probe, sentences, range(60), heads=zeros, trees=False)
    true = predict(probe, sentences, range(60), trees=False)
    assert found.bits.sum() < true.bits.sum()


def test_held_out_sentences_are_not_trained_on():
    train, held_out = hold_out(100, 7)
    assert sorted(train + held_out) == list(range(100))
    assert len(held_out) == 10
    assert hold_out(100, 8) != (train, held_out)
    with pytest.raises(SettingError, match="Too few sentences to train a probe on"):
        hold_out(5, 0)


def test_each_of_several_probes_keeps_its_best():
    probe = StructuralProbe(2, 3, 2)
    kept = _BestWeights(probe, 4)
    for step, losses in enumerate([[1, 1, 1, 1], [0.5, 2, 2, 2], [2, 0.5, 2, 2], [3, 3, 3, 0.9]]):
        with torch.no_grad():
            probe.maps.fill_(step)
        assert kept.offer(np.array(losses, float))
    assert not kept.offer(np.array([9.0, 9, 9, 9]))
    kept.restore()
    assert probe.maps[:, 0, 0].tolist() == [1, 2, 0, 3]


@pytest.mark.parametrize("name", ["epochs", "patience"])
def test_settings_that_cannot_work_are_refused(name):
    with pytest.raises(SettingError, match=f"--{name.replace('_', '-')} must be at least 1, not 0"):
        ProbeOptions("x", treebank="a", eval="b", **{name: 0})
