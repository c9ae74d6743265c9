"""All pairs of heads against a loop anyone can read, and what a divergence promises."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon

from headatlas.statistics.divergence import divergence_sums, divergence_sums_torch
from headatlas.statistics.kernels.divergence import divergence_sums_cpu

KERNELS = {
    "numba": divergence_sums_cpu,
    "torch": divergence_sums_torch,
    "torch float64": lambda rows, smoothing=0.0: divergence_sums_torch(rows.double(), smoothing),
    "torch in small pieces": lambda rows, smoothing=0.0: divergence_sums_torch(rows, smoothing, at_once=1),
}
MANY = st.integers(2, 7)
NATS = 1e-5  # how far a sum over a segment's rows may be off


def random_rows(tokens, heads, columns, seed=0, spread=3.0, zeros=0.2):
    """[Q, H, K], float32; rows sum to 1 and some weights are exactly 0."""
    rng = torch.Generator().manual_seed(seed)
    scores = torch.randn(tokens, heads, columns, generator=rng) * spread
    scores[torch.rand(tokens, heads, columns, generator=rng) < zeros] = -torch.inf
    scores[..., 0] = torch.randn(tokens, heads, generator=rng)
    return scores.softmax(-1)


def divergence(p, q):
    """Half of the two Kullback-Leibler divergences from the mean, one column after another."""
    total = 0.0
    for a, b in zip(p, q, strict=True):
        m = (a + b) / 2
        total += (a * math.log(a / m) if a > 0 else 0) / 2 + (b * math.log(b / m) if b > 0 else 0) / 2
    return total


def by_hand(rows, smoothing=0.0):
    """Sums over rows, [H, H], above the diagonal; a pair of rows counts where both have mass."""
    maps = rows.double().numpy()
    tokens, heads, columns = maps.shape
    maps = (1 - smoothing) * maps + smoothing / columns
    sums = np.zeros((heads, heads))
    for i in range(tokens):
        for a, b in combinations(range(heads), 2):
            p, q = maps[i, a], maps[i, b]
            if p.sum() > 0 and q.sum() > 0:
                sums[a, b] += divergence(p / p.sum(), q / q.sum())
    return sums


@pytest.mark.parametrize("kernel", KERNELS)
@settings(max_examples=30)
@given(
    tokens=st.integers(1, 6),
    heads=MANY,
    columns=st.integers(1, 19),
    seed=st.integers(0, 99),
    smoothing=st.sampled_from([0.0, 0.001, 0.3]),
)
def test_sums_equal_the_loop(kernel, tokens, heads, columns, seed, smoothing):
    rows = random_rows(tokens, heads, columns, seed)
    sums, mass = KERNELS[kernel](rows, smoothing)
    np.testing.assert_allclose(sums.numpy(), by_hand(rows, smoothing), rtol=0, atol=NATS)
    np.testing.assert_allclose(mass.numpy(), 1, rtol=1e-6)
    assert mass.shape == (heads, tokens)


def test_the_square_root_of_scipy():
    p, q = random_rows(1, 2, 12).double()[0]
    sums, _ = divergence_sums(torch.stack([p, q])[None])
    assert math.sqrt(sums[0, 1]) == pytest.approx(jensenshannon(p, q))


@pytest.mark.parametrize("kernel", KERNELS)
@settings(max_examples=30)
@given(heads=MANY, columns=st.integers(1, 20), seed=st.integers(0, 999), spread=st.sampled_from([0.01, 1.0, 20.0]))
def test_bounds_and_the_triangle(kernel, heads, columns, seed, spread):
    rows = random_rows(1, heads, columns, seed, spread)
    upper = KERNELS[kernel](rows)[0].numpy()
    assert (np.tril(upper) == 0).all()
    assert (upper >= 0).all()
    assert (upper <= math.log(2) + NATS).all()
    root = np.sqrt(upper + upper.T)
    assert (root[:, :, None] <= root[:, None, :] + root.T[None] + math.sqrt(NATS)).all()


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_extremes(kernel):
    one, other = torch.eye(9)[[2, 7]]
    rows = torch.stack([one, other, one, torch.full((9,), 1 / 9)])[None]
    sums, _ = KERNELS[kernel](rows)
    assert sums[0, 1] == pytest.approx(math.log(2), abs=NATS)
    assert sums[0, 2] == pytest.approx(0, abs=NATS)
    assert sums[0, 3] == pytest.approx(divergence([1.0] + [0.0] * 8, [1 / 9] * 9), abs=NATS)


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_order_of_heads_changes_nothing_but_the_order(kernel):
    rows = random_rows(5, 7, 11)
    order = torch.randperm(7, generator=torch.Generator().manual_seed(1))
    found, turned = (one + one.T for one in (KERNELS[kernel](rows)[0], KERNELS[kernel](rows[:, order])[0]))
    torch.testing.assert_close(turned, found[order][:, order], rtol=0, atol=NATS)


@pytest.mark.parametrize("kernel", KERNELS)
def test_rows_are_scaled_and_empty_ones_explicit(kernel):
    rows = random_rows(4, 3, 8)
    scaled = rows * torch.tensor([0.25, 0.9, 1.0])[:, None]
    torch.testing.assert_close(KERNELS[kernel](scaled)[0], KERNELS[kernel](rows)[0], rtol=0, atol=NATS)
    scaled[2, 1] = 0  # its whole mass went to the sink
    sums, mass = KERNELS[kernel](scaled)
    np.testing.assert_allclose(sums.numpy(), by_hand(scaled), rtol=0, atol=NATS)
    assert mass[1, 2] == 0
    assert (mass > 0).sum() == 11
    np.testing.assert_allclose(mass[0].numpy(), 0.25, rtol=1e-5)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("rubbish", [float("nan"), float("inf")])
def test_not_a_number_shows_in_the_mass_and_stays_with_its_head(kernel, rubbish):
    rows = random_rows(4, 3, 8)
    rows[1, 1, 5] = rubbish
    sums, mass = KERNELS[kernel](rows)
    assert not torch.isfinite(mass[1]).all()
    assert torch.isfinite(mass[[0, 2]]).all()
    assert torch.isfinite(sums[0, 2])


@pytest.mark.parametrize("kernel", [divergence_sums_cpu, divergence_sums_torch], ids=["numba", "torch"])
@pytest.mark.parametrize("spread", [0.02, 0.1, 0.3, 2.0, 6.0])
@pytest.mark.parametrize("common", [0.0, 6.0], ids=["apart", "alike"])
def test_small_and_large_distances_are_right_to_1e_5_nats(kernel, spread, common):
    rng = torch.Generator().manual_seed(3)
    scores = spread * torch.randn(64, 10, 70, generator=rng) + common * torch.randn(64, 1, 70, generator=rng)
    rows = scores.softmax(-1)
    upper = np.triu_indices(10, 1)
    sums, exact = kernel(rows)[0].numpy()[upper], divergence_sums(rows.double())[0].numpy()[upper]
    np.testing.assert_allclose(sums, exact, rtol=0, atol=NATS)


def test_a_causal_map_is_not_visited_ahead_and_gives_the_same():
    rng = torch.Generator().manual_seed(0)
    scores = torch.randn(21, 5, 21, generator=rng)
    scores = scores.masked_fill(torch.ones(21, 21).triu(1).bool()[:, None], -torch.inf)
    rows = scores.softmax(-1)
    torch.testing.assert_close(divergence_sums_cpu(rows)[0], divergence_sums(rows.double())[0], rtol=0, atol=NATS)


def test_more_heads_than_a_tile_holds(monkeypatch):
    monkeypatch.setattr("headatlas.statistics.kernels.divergence.TILE_NUMBERS", 50)  # tiles of 4 heads
    rows = random_rows(3, 11, 12)
    torch.testing.assert_close(divergence_sums_cpu(rows)[0], divergence_sums(rows.double())[0], rtol=0, atol=NATS)


def test_threads_change_nothing():
    rows = random_rows(40, 12, 40)
    alone = divergence_sums_cpu(rows)
    usual = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        together = divergence_sums_cpu(rows)
    finally:
        torch.set_num_threads(usual)
    torch.testing.assert_close(together[0], alone[0], rtol=1e-12, atol=0)
    torch.testing.assert_close(together[1], alone[1], rtol=0, atol=0)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_every_number_type_is_taken(dtype):
    rows = random_rows(4, 4, 9).to(dtype)
    sums, mass = divergence_sums(rows)
    assert sums.dtype == mass.dtype == torch.float64
    np.testing.assert_allclose(sums.numpy(), by_hand(rows), rtol=0, atol=NATS)


def test_a_single_head_has_no_pairs():
    for kernel in KERNELS.values():
        sums, mass = kernel(random_rows(4, 1, 5))
        assert sums.tolist() == [[0.0]]
        assert mass.shape == (1, 4)
