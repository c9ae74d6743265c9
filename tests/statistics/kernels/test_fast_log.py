"""The polynomial logarithm against the library's."""

from __future__ import annotations

import numpy as np
from numba import njit

from headatlas.statistics.kernels.fast_log import REORDER, fast_log


@njit(fastmath=REORDER)
def _logs(numbers, out):
    for j in range(len(numbers)):
        out[j] = fast_log(numbers[j])


def logs(numbers):
    out = np.empty_like(numbers)
    _logs(numbers, out)
    return out


def test_close_to_the_exact_logarithm():
    numbers = np.exp(np.random.default_rng(0).uniform(-87, 3, 20_000)).astype(np.float32)
    exact = np.log(numbers.astype(np.float64))
    np.testing.assert_allclose(logs(numbers), exact, rtol=3e-7, atol=1e-7)


def test_small_logarithms_keep_their_digits():
    numbers = (1 + np.linspace(-0.01, 0.01, 2001)).astype(np.float32)
    np.testing.assert_allclose(logs(numbers), np.log(numbers.astype(np.float64)), rtol=3e-7, atol=1e-12)


def test_finite_at_zero():
    zero = np.zeros(1, dtype=np.float32)
    assert np.isfinite(logs(zero)).all()
    assert (zero * logs(zero) == 0).all()
