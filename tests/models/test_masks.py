"""Masks as intervals are the masks of transformers, and become whole when anything touches them."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import masking_utils
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS, eager_mask

from headatlas.models import masks
from headatlas.models.masks import IntervalMask, interval_masks, intervals_of

FUNCTIONS = {
    "causal": masking_utils.causal_mask_function,
    "bidirectional": masking_utils.bidirectional_mask_function,
    "window": masking_utils.sliding_window_causal_mask_function(3),
    "window to both sides": masking_utils.sliding_window_bidirectional_mask_function(3),
    "chunks": masking_utils.chunked_causal_mask_function(4, torch.zeros(9, dtype=torch.int64)),
}


def recipe_of(function, lengths, dtype=torch.float32):
    tokens = max(lengths)
    padding = torch.arange(tokens) < torch.tensor(lengths)[:, None]
    sizes = {"batch_size": len(lengths), "q_length": tokens, "kv_length": tokens, "q_offset": 0, "kv_offset": 0}
    return sizes | {"mask_function": function, "attention_mask": padding, "dtype": dtype}


@pytest.mark.parametrize("name", FUNCTIONS)
@settings(max_examples=15)
@given(
    lengths=st.lists(st.integers(1, 20), min_size=1, max_size=4),
    rows=st.integers(1, 9),
    dtype=st.sampled_from([torch.float32, torch.float64, torch.bfloat16]),
)
def test_intervals_are_those_of_the_recipe(name, lengths, rows, dtype):
    recipe = recipe_of(FUNCTIONS[name], lengths, dtype)
    usual, masks.ROWS_AT_ONCE = masks.ROWS_AT_ONCE, rows
    try:
        with interval_masks():
            mask = ALL_MASK_ATTENTION_FUNCTIONS["eager"](**recipe)
    finally:
        masks.ROWS_AT_ONCE = usual
    expected = eager_mask(**recipe)
    assert isinstance(mask, IntervalMask)
    assert (mask.shape, mask.dtype, mask.device) == (expected.shape, expected.dtype, expected.device)
    assert mask._whole is None, "to ask for its shape does not make it whole"
    torch.testing.assert_close(mask.whole(), expected, rtol=0, atol=0)
    read = intervals_of(expected, *expected.shape[::2], expected.shape[3])
    assert read.exact
    torch.testing.assert_close((read.start, read.end), (mask.intervals.start, mask.intervals.end))


def test_whatever_touches_a_mask_gets_all_of_it():
    with interval_masks():
        mask = ALL_MASK_ATTENTION_FUNCTIONS["eager"](**recipe_of(FUNCTIONS["causal"], [5, 3]))
    whole = eager_mask(**recipe_of(FUNCTIONS["causal"], [5, 3]))
    for touched, expected in (
        (mask[:, :, 1:3, :2], whole[:, :, 1:3, :2]),
        (torch.ones(2, 3, 5, 5) + mask, torch.ones(2, 3, 5, 5) + whole),
        (mask.to(torch.float64), whole.to(torch.float64)),
        (torch.where(mask < 0, 1, 0), torch.where(whole < 0, 1, 0)),
        (torch.cat([mask, mask]), torch.cat([whole, whole])),
    ):
        assert type(touched) is torch.Tensor
        torch.testing.assert_close(touched, expected, rtol=0, atol=0)


def test_a_mask_without_intervals_stays_whole():
    """A prefix that everybody sees beside a window: two intervals in a row."""

    def prefix_or_window(batch, head, row, column):
        return (column < 2) | FUNCTIONS["window"](batch, head, row, column)

    recipe = recipe_of(prefix_or_window, [9, 6])
    with interval_masks():
        mask = ALL_MASK_ATTENTION_FUNCTIONS["eager"](**recipe)
    assert type(mask) is torch.Tensor
    torch.testing.assert_close(mask, eager_mask(**recipe), rtol=0, atol=0)
    read = intervals_of(mask, 2, 9, 9)
    assert not read.exact
    assert read.seen_by(slice(0, 1), slice(7, 9), [9, 6], 9) == slice(0, 9)


def test_a_bias_is_not_taken_for_a_plain_mask():
    mask = torch.zeros(1, 2, 3, 3).masked_fill(torch.ones(3, 3).triu(1).bool(), torch.finfo(torch.float32).min)
    assert intervals_of(mask, 4, 3, 3).exact
    biased = mask + torch.tensor([0.0, 0.5])[None, :, None, None]
    assert not intervals_of(biased, 4, 3, 3).exact
    assert intervals_of(biased, 4, 3, 3).seen_by(slice(3, 4), slice(0, 2), [3] * 4, 3) == slice(0, 2)
    assert intervals_of(mask == 0, 1, 3, 3) is None, "true may mean either"
    assert intervals_of(mask, 1, 3, 4) is None


def test_no_mask_lets_every_row_see_everything():
    seen = intervals_of(None, 2, 3, 4)
    assert seen.exact
    assert (seen.start == 0).all()
    assert (seen.end == 4).all()


def test_columns_are_those_of_real_rows():
    mask = eager_mask(**recipe_of(FUNCTIONS["window"], [8, 4]))
    seen = intervals_of(mask, 2, 8, 8)
    assert seen.seen_by(slice(0, 1), slice(4, 6), [8, 4], 8) == slice(2, 6)
    assert seen.seen_by(slice(1, 2), slice(2, 8), [8, 4], 8) == slice(0, 4)
    nothing = intervals_of(torch.full((1, 1, 2, 3), torch.finfo(torch.float32).min), 1, 2, 3)
    assert nothing.seen_by(slice(0, 1), slice(0, 2), [2], 3) == slice(0, 3), "such a row attends evenly to all"


def test_nothing_stays_behind():
    own = ALL_MASK_ATTENTION_FUNCTIONS["eager"]
    with interval_masks():
        with interval_masks():
            assert ALL_MASK_ATTENTION_FUNCTIONS["eager"] is not own
        assert ALL_MASK_ATTENTION_FUNCTIONS["eager"] is not own
    assert ALL_MASK_ATTENTION_FUNCTIONS["eager"] is own
    assert "eager" not in ALL_MASK_ATTENTION_FUNCTIONS._local_mapping
