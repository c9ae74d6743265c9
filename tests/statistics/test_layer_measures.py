"""Measures of layers against sums written out."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headatlas.statistics.layer_measures import (
    centre_of_gravity,
    differentials,
    divergence_from_uniform,
    expected_layer,
    share_below,
)

scores = st.lists(st.floats(0, 1), min_size=2, max_size=8)


@given(scores)
def test_expected_layer_equals_sums_written_out(cumulative):
    gains = [after - before for before, after in pairwise(cumulative)]
    for clip in (False, True):
        used = [max(0.0, gain) for gain in gains] if clip else gains
        found = expected_layer(np.array([cumulative, cumulative]), clip)[1]
        total = math.fsum(used)
        if total > 1e-6:
            wanted = math.fsum((layer + 1) * gain for layer, gain in enumerate(used)) / total
            assert found == pytest.approx(wanted, rel=1e-6, abs=1e-6)
        elif total < -1e-6:
            assert math.isnan(found)
    np.testing.assert_allclose(differentials(np.array(cumulative)), gains)


@given(st.lists(st.floats(0.0, 5), min_size=1, max_size=8).filter(lambda some: sum(some) > 0.1))
def test_centre_and_divergence_equal_sums_written_out(raw):
    weights = np.array(raw) / sum(raw)
    assert centre_of_gravity(weights) == pytest.approx(sum(layer * weight for layer, weight in enumerate(weights)))
    wanted = sum(weight * math.log(weight * len(weights)) for weight in weights if weight > 0)
    assert divergence_from_uniform(weights) == pytest.approx(wanted, abs=1e-9)
    assert divergence_from_uniform(weights) > -1e-9


def test_nothing_gained_has_no_expected_layer():
    assert math.isnan(expected_layer(np.array([0.5, 0.5, 0.5])))
    assert math.isnan(expected_layer(np.array([0.5, 0.4]), clip=True))


def test_share_below_counts_ties_half_and_passes_over_what_is_missing():
    first = np.array([1.0, 2.0, 3.0, np.nan, 1.0])
    second = np.array([2.0, 2.0, 1.0, 5.0, np.nan])
    assert share_below(first, second) == (0.5, 3)
    assert share_below(first[3:], second[3:])[1] == 0
