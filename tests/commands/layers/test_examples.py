"""Targets that move: against a slow search over all targets."""

import numpy as np
import pytest
import torch

from headatlas.commands.layers.examples import Movers, marked, moved
from tests.probes.random_spans import random_spans, random_targets


def slow_movement(probabilities, label):
    """The rival by its mean, the margins one by one."""
    others = [k for k in range(probabilities.shape[1]) if k != label]
    rival = max(others, key=lambda k: sum(probabilities[:, k]))
    margins = [row[label] - row[rival] for row in probabilities]
    return (max(margins) - min(margins), rival) if min(margins) < 0 < max(margins) else None


def test_movement_equals_a_slow_search():
    dice = np.random.default_rng(0)
    still = 0
    for _ in range(200):
        probabilities = dice.dirichlet(np.ones(4), size=5)
        label = int(dice.integers(4))
        found, wanted = moved(probabilities, label), slow_movement(probabilities, label)
        still += wanted is None
        assert (found is None) == (wanted is None)
        if found is not None and wanted is not None:
            assert found[0] == pytest.approx(wanted[0])
            assert found[1] == wanted[1]
            np.testing.assert_array_equal(found[2], probabilities[:, [label, found[1]]])
    assert 0 < still < 200


def test_the_most_moved_targets_are_kept_one_a_text(tmp_path):
    targets, _ = random_spans(tmp_path, np.random.default_rng(1))
    dice = torch.Generator().manual_seed(0)
    movers, best = Movers(5, series=3), {}
    for places in ([3, 9, 1, 4], [0, 7], [12, 20, 21, 22]):
        batch = targets.batch(places, "states")
        found = torch.randn(6, len(batch), 3, generator=dice).log_softmax(-1)  # two seeds of three layers
        movers.see(batch, found)
        mean = (found[:3].double().exp() + found[3:].double().exp()).numpy() / 2
        row = 0
        for place in places:
            for number in range(len(targets.targets[place])):
                how = slow_movement(mean[:, row], int(batch.answers[0, row]))
                if how and how[0] > best.get(place, (0,))[0]:
                    best[place] = (how[0], number)
                row += 1
    wanted = sorted(((value, place, number) for place, (value, number) in best.items()), reverse=True)[:5]
    assert [(mover.place, mover.target) for mover in movers.kept] == [(place, number) for _, place, number in wanted]


def test_spans_are_set_in_brackets():
    (target,) = random_targets(np.random.default_rng(0), 3, 1, ("x",), 1)
    words = ["he", "smoked", "toronto"]
    both = type(target)(((0, 1), (2, 3)), ("x",), ((2, 3), (0, 1)), target.path, 1)
    assert marked(words, both) == "[2 he] smoked [1 toronto]"
