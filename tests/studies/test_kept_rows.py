"""Rows of all heads of a batch are kept without padding, and memory is used again."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headatlas.studies import kept_rows
from headatlas.studies.kept_rows import KeptRows, rows_compared
from random_maps import batch_of, random_maps, random_segments


def keep(kept, batch, maps):
    first = 0
    for weights in maps:
        kept.keep(weights, batch, first)
        first += weights.shape[1]
    return kept.take()


@settings(max_examples=30)
@given(batches=st.lists(st.lists(st.integers(1, 9), min_size=1, max_size=4), min_size=1, max_size=4))
def test_every_batch_gives_its_own_rows_though_memory_is_shared(batches):
    kept = KeptRows(6)
    for lengths in batches:
        batch = batch_of(random_segments(lengths))
        maps = random_maps(batch, layers=2)
        for place, rows in enumerate(keep(kept, batch, maps)):
            n = len(batch.segments[place])
            assert rows.shape == (n, 6, n)
            for token in range(n):
                for head in range(6):
                    expected = maps[head // 3][place, head % 3, token, :n]
                    torch.testing.assert_close(rows[token, head], expected, rtol=0, atol=0)


def test_memory_is_taken_once_for_batches_of_one_size():
    kept = KeptRows(6)
    places = set()
    for _ in range(3):
        batch = batch_of(random_segments([5, 7]))
        places.add(keep(kept, batch, random_maps(batch, layers=2))[0].data_ptr())
    assert len(places) == 1


def test_a_batch_that_failed_midway_leaves_nothing_behind():
    kept = KeptRows(6)
    failed = batch_of(random_segments([8, 8, 8]))
    kept.keep(random_maps(failed, layers=2)[0], failed, 0)
    batch = batch_of(random_segments([4]))
    (rows,) = keep(kept, batch, random_maps(batch, layers=2))
    assert rows.shape == (4, 6, 4)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float64])
def test_the_type_of_numbers_is_kept(dtype):
    kept = KeptRows(6)
    batch = batch_of(random_segments([4]))
    maps = random_maps(batch, layers=2)
    assert keep(kept, batch, maps)[0].dtype == torch.float32
    assert keep(kept, batch, [weights.to(dtype) for weights in maps])[0].dtype == dtype


def test_maps_that_want_gradients_are_taken_without():
    kept = KeptRows(6)
    batch = batch_of(random_segments([4]))
    assert not keep(kept, batch, [weights.requires_grad_() for weights in random_maps(batch, layers=2)])[
        0
    ].requires_grad


@given(length=st.integers(1, 5000), heads=st.integers(1, 2000))
def test_rows_that_are_compared_fit_and_are_spread(length, heads):
    rows = rows_compared(length, heads)
    assert len(rows) == 1 or 4 * heads * length * len(rows) <= kept_rows.MOST_KEPT
    assert len(rows) == length or 4 * heads * length * (len(rows) + 1) > kept_rows.MOST_KEPT
    assert rows[0] >= 0
    assert rows[-1] < length
    gaps = np.diff(rows)
    assert len(gaps) == 0 or (gaps.min() >= 1 and gaps.max() - gaps.min() <= 1)
