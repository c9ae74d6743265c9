"""The fused sums against a loop anyone can read."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headatlas.models.tiles import Tile
from headatlas.statistics.kernels.surface import COLUMNS
from headatlas.statistics.surface import (
    Sum,
    add_surface,
    add_surface_of_scores,
    add_surface_torch,
    no_surface,
    surface_sums,
)
from random_maps import batch_of, in_tiles, lengths_of_segments, pad, random_maps, random_segments, tile_shapes


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


def in_torch(weights, batch, smoothing):
    sums = no_surface(batch, weights.shape[1], weights.device)
    add_surface_torch(sums, Tile(weights), batch, smoothing)
    return sums


KERNELS = {"numba": surface_sums, "torch": in_torch}


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
    found, exact = surface_sums(weights, batch), surface_sums(weights.double(), batch)
    torch.testing.assert_close(found, exact, rtol=1e-6, atol=1e-9)


def test_maps_need_not_be_contiguous():
    batch = batch_of(random_segments([6, 6]))
    weights = random_maps(batch)[0]
    turned = weights.transpose(0, 1).contiguous().transpose(0, 1)
    torch.testing.assert_close(surface_sums(weights, batch), surface_sums(turned, batch), rtol=0, atol=0)


@pytest.mark.parametrize("add", [add_surface, add_surface_torch])
@settings(max_examples=40)
@given(lengths=lengths_of_segments, seed=st.integers(0, 99), smoothing=st.sampled_from([0.0, 0.3]), shape=tile_shapes)
def test_tiles_add_up_to_the_whole(add, lengths, seed, smoothing, shape):
    batch = batch_of(random_segments(lengths, seed))
    weights = random_maps(batch, seed=seed)[0]
    sums = no_surface(batch, weights.shape[1], weights.device)
    for tile in in_tiles(weights, *shape):
        add(sums, tile, batch, smoothing)
    np.testing.assert_allclose(sums.numpy(), oracle(weights, batch, smoothing), rtol=2e-5, atol=2e-6)


@settings(max_examples=40)
@given(lengths=lengths_of_segments, seed=st.integers(0, 99), shape=tile_shapes, window=st.integers(1, 12))
def test_one_sweep_makes_weights_of_scores_and_their_sums(lengths, seed, shape, window):
    """Each row sees a window of columns; a tile holds the columns that some of its rows see."""
    batch = batch_of(random_segments(lengths, seed))
    inputs, tokens = batch.mask.shape
    scores = 20 * torch.randn(inputs, 3, tokens, tokens, generator=torch.Generator().manual_seed(seed))
    places = torch.arange(tokens)
    start = (places - window // 2).clamp_min(0).minimum(batch.lengths[:, None] - 1)
    end = (start + window).minimum(batch.lengths[:, None])
    seen = (places >= start[..., None]) & (places < end[..., None])  # [B, T, T]
    exact = (0.3 * scores.double()).masked_fill(~seen[:, None], -torch.inf).softmax(-1)
    sums = no_surface(batch, 3, scores.device)
    for tile in in_tiles(seen[:, None].expand_as(scores).float(), *shape):
        some = (tile.segments, slice(None), tile.rows, tile.columns)
        weights = scores[some].contiguous()
        tile = Tile(weights, segment=tile.segment, row=tile.row, column=tile.column)
        ends = start[tile.segments, tile.rows], end[tile.segments, tile.rows]
        add_surface_of_scores(tile, *ends, 0.3, batch, sums)
        np.testing.assert_allclose(weights, exact[some], rtol=1e-5, atol=1e-30)
        assert (weights[~seen[:, None].expand_as(scores)[some]] == 0).all()
    np.testing.assert_allclose(sums.numpy(), oracle(exact, batch), rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("rubbish", [math.nan, math.inf, -math.nan])
def test_scores_that_are_not_numbers_make_weights_that_are_not(rubbish):
    batch = batch_of(random_segments([9]))
    scores = torch.randn(1, 2, 9, 9)
    scores[0, 1, 4, 3] = rubbish
    sums = no_surface(batch, 2, scores.device)
    start = torch.zeros(1, 9, dtype=torch.int64)
    add_surface_of_scores(Tile(scores), start, start + 9, 1.0, batch, sums)
    assert torch.isnan(sums[0, 1, Sum.ENTROPY])
    assert torch.isfinite(sums[0, 0]).all()
    assert torch.isnan(scores[0, 1, 4]).any()


def test_weights_too_small_for_normal_numbers_are_0_as_in_other_rows_that_see_nothing():
    batch = batch_of(random_segments([3]))
    scores = torch.tensor([[[[0.0, -200.0, -math.inf], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]]])
    start, end = torch.tensor([[0, 0, 2]]), torch.tensor([[3, 3, 2]])
    add_surface_of_scores(Tile(scores), start, end, 1.0, batch)
    assert scores[0, 0].tolist() == [[1, 0, 0], [pytest.approx(1 / 3)] * 3, [0, 0, 0]]


def test_rows_alone_are_not_taken_for_maps():
    """A kernel that looped over the segment's length would read the memory behind them."""
    batch = batch_of(random_segments([24]))
    weights = random_maps(batch)[0]
    for part in (weights[:, :, :6], weights[..., :6], torch.cat([weights, weights])):
        with pytest.raises(ValueError, match="are not those of a batch of 1 x 24 tokens"):
            surface_sums(part, batch)
    for beyond in (Tile(weights, row=1), Tile(weights, column=1), Tile(weights, segment=1), Tile(weights, head=1)):
        with pytest.raises(ValueError, match="does not lie within a batch of 1 x 24 tokens"):
            add_surface(no_surface(batch, 3, weights.device), beyond, batch)
