"""The fused sums against a loop anyone can read."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headatlas.statistics.kernels.surface import COLUMNS, surface_sums_cpu
from headatlas.statistics.surface import Sum, surface_sums, surface_sums_torch
from random_maps import batch_of, lengths_of_segments, pad, random_maps, random_segments


def by_hand(weights, kinds, n, smoothing=0.0):
    """The sums of one map [n, n], written down from their definitions."""
    a = weights.double().tolist()
    sums = dict.fromkeys(Sum, 0.0)
    for i in range(n):
        row = a[i][:n]
        total = sum(row)
        smooth = [(1 - smoothing) * w + smoothing / n for w in row]
        scaled = [w / sum(smooth) for w in smooth] if sum(smooth) else []
        entropy = -sum(w * math.log(w) for w in scaled if w > 0)
        sums[Sum.PREVIOUS] += row[i - 1] if i > 0 else 0
        sums[Sum.CURRENT] += row[i]
        sums[Sum.NEXT] += row[i + 1] if i + 1 < n else 0
        sums[Sum.TO_CLS] += sum(w for w, kind in zip(row, kinds, strict=True) if kind == 1)
        sums[Sum.TO_SEP] += sum(w for w, kind in zip(row, kinds, strict=True) if kind == 2)
        sums[Sum.TO_PERIOD_COMMA] += sum(w for w, kind in zip(row, kinds, strict=True) if kind == 3)
        sums[Sum.TOTAL] += total
        if kinds[i] == 2:
            sums[Sum.SEP_TO_SEP] += sum(w for w, kind in zip(row, kinds, strict=True) if kind == 2)
        sums[Sum.ENTROPY] += entropy
        if kinds[i] == 1:
            sums[Sum.CLS_ENTROPY] += entropy
        sums[Sum.MAXIMUM] += max(row)
        sums[Sum.TO_FIRST] += row[0]
        sums[Sum.HIGHEST] = max(sums[Sum.HIGHEST], max(row))
    return [sums[name] for name in Sum]


def oracle(weights, batch, smoothing=0.0):
    return np.array(
        [
            [by_hand(weights[b, h], one.ids.tolist(), len(one), smoothing) for h in range(weights.shape[1])]
            for b, one in enumerate(batch.segments)
        ]
    )


KERNELS = {
    "numba": lambda weights, batch, smoothing: surface_sums_cpu(weights, batch.lengths, batch.kinds, smoothing),
    "torch": lambda weights, batch, smoothing: surface_sums_torch(weights, batch.mask, batch.kinds, smoothing),
}


def test_the_kernel_knows_every_sum():
    assert len(Sum) == COLUMNS
    assert [int(name) for name in Sum] == list(range(COLUMNS))


@pytest.mark.parametrize("kernel", KERNELS)
@settings(max_examples=40)
@given(lengths=lengths_of_segments, seed=st.integers(0, 99), smoothing=st.sampled_from([0.0, 0.0001, 0.3]))
def test_sums_equal_the_loop(kernel, lengths, seed, smoothing):
    batch = batch_of(random_segments(lengths, seed))
    weights = random_maps(batch, seed=seed)[0]
    found = KERNELS[kernel](weights, batch, smoothing).numpy()
    np.testing.assert_allclose(found, oracle(weights, batch, smoothing), rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("kernel", KERNELS)
def test_rows_that_go_to_a_sink_are_scaled_for_the_entropy_alone(kernel):
    batch = batch_of(random_segments([6, 4]))
    weights = random_maps(batch)[0] * 0.25
    weights[0, 0, 2] = 0  # a row whose whole mass went to the sink
    found = KERNELS[kernel](weights, batch, 0.0)
    np.testing.assert_allclose(found.numpy(), oracle(weights, batch), rtol=2e-5, atol=2e-6)
    np.testing.assert_allclose(found[1, :, Sum.TOTAL], 4 * 0.25, rtol=1e-5)


@pytest.mark.parametrize("kernel", KERNELS)
def test_padding_changes_nothing(kernel):
    batch = batch_of(random_segments([7, 3, 5]))
    weights = random_maps(batch)[0]
    wider = random_maps(batch, extra=4)[0]
    torch.testing.assert_close(
        KERNELS[kernel](weights, batch, 0.0), KERNELS[kernel](wider, pad(batch, 4), 0.0), rtol=1e-6, atol=1e-7
    )


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("rubbish", [float("nan"), float("inf")])
def test_not_a_number_is_never_swallowed(kernel, rubbish):
    batch = batch_of(random_segments([6]))
    weights = random_maps(batch)[0]
    weights[0, 1, 3, 2] = rubbish
    found = KERNELS[kernel](weights, batch, 0.0)
    assert not torch.isfinite(found[0, 1, [Sum.TOTAL, Sum.ENTROPY]]).any()
    assert torch.isfinite(found[0, [0, 2]]).all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_every_number_type_is_taken(dtype):
    batch = batch_of(random_segments([8, 5]))
    weights = random_maps(batch)[0].to(dtype)
    found = surface_sums(weights, batch)
    assert found.dtype == torch.float64
    np.testing.assert_allclose(found.numpy(), oracle(weights, batch), rtol=2e-5, atol=2e-6)


def test_long_rows_keep_their_precision():
    batch = batch_of(random_segments([700]))
    weights = random_maps(batch, heads=2)[0]
    found = surface_sums_cpu(weights, batch.lengths, batch.kinds)
    exact = surface_sums_torch(weights.double(), batch.mask, batch.kinds)
    torch.testing.assert_close(found, exact, rtol=1e-6, atol=1e-9)


def test_maps_need_not_be_contiguous():
    batch = batch_of(random_segments([6, 6]))
    weights = random_maps(batch)[0]
    turned = weights.transpose(0, 1).contiguous().transpose(0, 1)
    torch.testing.assert_close(surface_sums(weights, batch), surface_sums(turned, batch), rtol=0, atol=0)
