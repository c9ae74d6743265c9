"""Word maps and predictions against loops anyone can read."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headatlas.encoding.template import SPECIAL
from headatlas.encoding.word_segments import WordSegment
from headatlas.errors import SettingError
from headatlas.statistics.kernels.words import predictions_cpu
from headatlas.statistics.words import (
    FROM_TOKENS,
    NO_PREDICTION,
    PADDING,
    add_word_rows,
    no_word_rows,
    predictions_torch,
    scale_word_rows,
    word_attention,
    word_attention_torch,
    word_index,
)
from random_maps import batch_of, in_tiles, random_maps, tile_shapes

KERNELS = {"numba": word_attention, "torch": word_attention_torch}
PREDICTORS = {"numba": predictions_cpu, "torch": predictions_torch}


def word_segment(tokens_of_words, name="0.0.0", frame=True):
    """A segment whose words have the given numbers of tokens, some perhaps none."""
    words = [word for word, tokens in enumerate(tokens_of_words) for _ in range(tokens)]
    words = np.asarray([SPECIAL, *words, SPECIAL] if frame else words, dtype=np.int32)
    zeros = np.zeros_like(words)
    return WordSegment(name, zeros, zeros, words, text=("w",) * len(tokens_of_words), document="0.0")


sentences = st.lists(
    st.tuples(st.lists(st.integers(0, 3), min_size=1, max_size=6), st.booleans()).filter(lambda s: s[1] or sum(s[0])),
    min_size=1,
    max_size=4,
)


def batch_and_maps(drawn, extra=0):
    batch = batch_of([word_segment(tokens, f"0.0.{n}", frame) for n, (tokens, frame) in enumerate(drawn)])
    return batch, random_maps(batch, extra=extra)[0]


def word_map_by_hand(weights, words_of_tokens, size, how):
    """One map [n, n], written down from the definition."""
    a = weights.double().numpy()
    tokens = {word: [t for t, w in enumerate(words_of_tokens) if w == word] for word in range(size)}
    out = np.zeros((size, size))
    for source in range(size):
        rows = [[sum(a[i, j] for j in tokens[target]) for target in range(size)] for i in tokens[source]]
        if rows and how == "mean":
            out[source] = np.mean(rows, axis=0)
        elif rows and how == "first":
            out[source] = rows[0]
        elif rows:
            out[source] = np.max(rows, axis=0) / np.max(rows, axis=0).sum()
    return out


@pytest.mark.parametrize("how", FROM_TOKENS)
@pytest.mark.parametrize("kernel", KERNELS)
@given(drawn=sentences)
@settings(max_examples=40)
def test_word_maps_are_those_of_the_loop(kernel, how, drawn):
    batch, weights = batch_and_maps(drawn)
    index = word_index(batch)
    found = KERNELS[kernel](weights, index.index, index.size, how).numpy()
    for row, segment in enumerate(batch.segments):
        n = len(segment)
        words = index.index[row, :n].tolist()
        for head in range(weights.shape[1]):
            by_hand = word_map_by_hand(weights[row, head, :n, :n], words, index.size, how)
            np.testing.assert_allclose(found[row, head], by_hand, atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("how", FROM_TOKENS)
@given(drawn=sentences, shape=tile_shapes, chosen=st.integers(1, 3))
@settings(max_examples=20)
def test_rows_of_some_words_add_up_from_tiles(how, dtype, drawn, shape, chosen):
    """Tiles may cut a word in two; of the words only every second or third is asked for."""
    batch, weights = batch_and_maps(drawn)
    index = word_index(batch)
    rows = torch.where((index.index >= 0) & (index.index % chosen == 0), index.index // chosen, PADDING)
    sums = no_word_rows(-(-index.size // chosen), index.size, weights.to(dtype))
    for tile in in_tiles(weights.to(dtype), *shape):
        add_word_rows(sums, tile, rows, index.index, how)
    whole = word_attention(weights.to(dtype), index.index, index.size, how)
    torch.testing.assert_close(scale_word_rows(sums, rows, how), whole[:, :, ::chosen])


@pytest.mark.parametrize("how", FROM_TOKENS)
@given(drawn=sentences)
@settings(max_examples=30)
def test_nothing_of_a_row_is_lost(how, drawn):
    batch, weights = batch_and_maps(drawn)
    index = word_index(batch)
    sums = word_attention(weights, index.index, index.size, how).sum(-1)  # [B, H, W]
    has_row = torch.zeros(len(batch.segments), index.size)
    for row, words in enumerate(index.index.tolist()):
        has_row[row, [word for word in words if word != PADDING]] = 1
    torch.testing.assert_close(sums, has_row[:, None].expand_as(sums), atol=1e-5, rtol=0)


def test_the_index_numbers_special_tokens_after_the_words():
    index = word_index(batch_of([word_segment([1, 2]), word_segment([0, 1, 1])]))
    assert index.index.tolist() == [[3, 0, 1, 1, 4], [3, 1, 2, 4, PADDING]]
    assert (index.words, index.special, index.size) == (3, 2, 5)
    assert index.has_tokens.tolist() == [[True, True, False, False, False], [False, True, True, False, False]]


def test_special_tokens_are_kept_apart():
    weights = torch.tensor([[0.1, 0.2, 0.3, 0.4], [0.5, 0.1, 0.1, 0.3], [0.3, 0.2, 0.2, 0.3], [0.7, 0.0, 0.1, 0.2]])
    index = word_index(batch_of([word_segment([2])]))
    maps = word_attention(weights[None, None], index.index, index.size)
    torch.testing.assert_close(maps[0, 0], torch.tensor([[0.3, 0.4, 0.3], [0.5, 0.1, 0.4], [0.1, 0.7, 0.2]]))


def test_padding_does_not_change_a_map():
    batch, weights = batch_and_maps([([1, 3, 2], True)])
    index = word_index(batch)
    wide = torch.nn.functional.pad(weights, (0, 4, 0, 4), value=0.7)
    wide_index = torch.nn.functional.pad(index.index, (0, 4), value=PADDING)
    for kernel in KERNELS.values():
        narrow = kernel(weights, index.index, index.size, "mean")
        torch.testing.assert_close(kernel(wide, wide_index, index.size, "mean"), narrow)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_every_type_of_weights(dtype):
    batch, weights = batch_and_maps([([1, 3, 2], True), ([2], True)])
    index = word_index(batch)
    found = word_attention(weights.to(dtype), index.index, index.size)
    assert found.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
    torch.testing.assert_close(found.float(), word_attention(weights, index.index, index.size), atol=0.01, rtol=0.01)


def test_an_unknown_mode_is_refused():
    with pytest.raises(SettingError, match="mean, first, max"):
        word_attention(torch.ones(1, 1, 1, 1), torch.zeros(1, 1, dtype=torch.int64), 1, "sum")


def test_segments_without_words_of_their_own_are_refused():
    from random_maps import segment

    with pytest.raises(TypeError, match="not of the kind WordSegment"):
        word_index(batch_of([segment([1, 0])]))


def predictions_by_hand(weights, candidates):
    """Row and column argmax of one map [W, W] among the other candidates, the first of equals."""
    size = len(candidates)
    rows, columns = [], []
    for i in range(size):
        others = [j for j in range(size) if j != i and candidates[i] and candidates[j]]
        for out, weight in ((rows, lambda j, i=i: weights[i][j]), (columns, lambda j, i=i: weights[j][i])):
            best = max(others, key=weight, default=None)
            out.append(best if best is not None and weight(best) > 0 else NO_PREDICTION)
    return [rows, columns]


@pytest.mark.parametrize("predictor", PREDICTORS)
@given(
    st.integers(1, 6).flatmap(
        lambda size: st.tuples(
            st.lists(st.booleans(), min_size=size, max_size=size),
            st.lists(st.sampled_from([0.0, 0.0, 0.25, 0.5, 1.0]), min_size=size * size, max_size=size * size),
        )
    )
)
@settings(max_examples=100)
def test_predictions_are_those_of_the_loop_ties_and_zeros_included(predictor, drawn):
    candidates, weights = drawn
    size = len(candidates)
    maps = torch.tensor(weights).reshape(1, 1, size, size)
    found = PREDICTORS[predictor](maps, torch.tensor([candidates]))
    assert [by[0, 0].tolist() for by in found] == predictions_by_hand(maps[0, 0].tolist(), candidates)


@pytest.mark.parametrize("predictor", PREDICTORS)
def test_nothing_arbitrary_is_predicted_under_a_causal_mask(predictor):
    """The first word sees nothing but itself, and nobody sees the last."""
    maps = torch.full((1, 2, 4, 4), 0.25).tril()
    to_head, to_dependent = PREDICTORS[predictor](maps, torch.ones(1, 4, dtype=torch.bool))
    assert to_head.tolist() == [[[NO_PREDICTION, 0, 0, 0]] * 2]
    assert to_dependent.tolist() == [[[1, 2, 3, NO_PREDICTION]] * 2]
