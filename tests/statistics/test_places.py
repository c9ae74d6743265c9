"""Places of heads within their layers, against enumeration of all orders."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headatlas.statistics.places import Choice, joint_places

values = st.lists(st.integers(-3, 3), min_size=2, max_size=5)


@given(values, st.data())
@settings(deadline=None)
def test_a_place_counts_the_heads_that_do_as_much(numbers, data):
    head = data.draw(st.integers(0, len(numbers) - 1))
    choice = Choice(0, head, np.array(numbers, dtype=float))
    as_much = [other for place, other in enumerate(numbers) if place != head and other >= numbers[head]]
    assert choice.places[head] == 1 + len(as_much)
    assert choice.p_value == (1 + len(as_much)) / len(numbers)


def test_the_joint_p_value_is_that_of_all_orders_of_heads():
    rng = np.random.default_rng(3)
    choices = [Choice(layer, head, rng.normal(size=4)) for layer, head in ((0, 1), (0, 1), (0, 2), (2, 0))]
    observed = np.mean([choice.p_value for choice in choices])
    means = []
    for first in permutations(range(4)):
        for second in permutations(range(4)):
            order = {0: first, 2: second}
            means.append(np.mean([choice.places[order[choice.layer][choice.head]] / 4 for choice in choices]))
    joint = joint_places(choices, seed=0, permutations=20_000)
    assert joint.mean == pytest.approx(observed)
    assert joint.expected == pytest.approx(np.mean(means))
    assert joint.p_value == pytest.approx(np.mean(np.array(means) <= observed + 1e-9), abs=0.015)
    assert joint.smallest == pytest.approx(1 / (4 * 3 * 4)), "two heads of one layer, one of another"


def test_heads_drawn_at_random_pass_as_often_as_stated():
    rng = np.random.default_rng(4)
    p_values = []
    for _ in range(400):
        shared = rng.normal(size=(3, 8))  # relations of a layer have much in common
        choices = [
            Choice(number % 3, int(rng.integers(8)), shared[number % 3] + rng.normal(size=8)) for number in range(9)
        ]
        p_values.append(joint_places(choices, seed=1, permutations=199).p_value)
    assert 0.02 < np.mean(np.array(p_values) <= 0.05) < 0.08
    assert 0.44 < np.mean(np.array(p_values) <= 0.5) < 0.56
