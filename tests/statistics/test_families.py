"""Tests corrected together, against the definition, and under a null where all of them are alike."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headatlas.statistics.resampling import step_down


def slow_step_down(observed, permuted):
    order = sorted(range(len(observed)), key=lambda test: -observed[test])
    corrected, before = {}, 0.0
    for place, test in enumerate(order):
        rest = order[place:]
        reached = sum(
            max(permuted[other][draw] for other in rest) >= observed[test] for draw in range(len(permuted[0]))
        )
        before = max(before, (1 + reached) / (1 + len(permuted[0])))
        corrected[test] = before
    return [corrected[test] for test in range(len(observed))]


@given(st.integers(1, 6), st.integers(1, 30), st.integers(0, 1000))
def test_the_definition(tests, draws, seed):
    rng = np.random.default_rng(seed)
    observed, permuted = (rng.normal(size=tests) + 1).tolist(), list(rng.normal(size=(tests, draws)))
    assert step_down(observed, permuted) == pytest.approx(slow_step_down(observed, permuted))


def test_a_test_that_was_not_made_has_no_p_value_and_changes_no_other():
    draws = np.random.default_rng(0).normal(size=99)
    alone = step_down([2.0], [draws])
    with_missing = step_down([math.nan, 2.0], [draws + 50, draws])
    assert math.isnan(with_missing[0])
    assert with_missing[1:] == alone


def test_any_false_positive_is_as_rare_as_stated():
    rng = np.random.default_rng(1)
    runs = 400
    wrong = sum(
        min(step_down(rng.normal(size=20).tolist(), list(rng.normal(size=(20, 199))))) <= 0.05 for _ in range(runs)
    )
    assert wrong / runs < 0.05 + 3 * math.sqrt(0.05 * 0.95 / runs)
    assert wrong > 0


def test_many_tests_need_no_more_permutations():
    permuted = list(np.random.default_rng(2).normal(size=(40, 1000)))
    assert max(step_down([9.0] * 40, permuted)) == pytest.approx(1 / 1001)
