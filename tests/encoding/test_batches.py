from __future__ import annotations

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from encoding.tokenizers_for_tests import bert, lines
from headatlas.encoding.batches import iterate_batches, make_batch, plan_batches
from headatlas.encoding.kinds import TokenKind, kind_table
from headatlas.encoding.segments import Segment, sample_segments

lengths = st.lists(st.integers(1, 60), max_size=40)


def segment(length: int, first: int = 5) -> Segment:
    ids = np.arange(first, first + length, dtype=np.int32)
    return Segment(f"0.0.{length}", ids, np.ones_like(ids), ids)


@given(sizes=lengths, budget=st.integers(1, 200))
def test_plan_covers_each_once_within_the_budget_longest_first(sizes: list[int], budget: int) -> None:
    plan = plan_batches([segment(size) for size in sizes], budget)
    flat = [index for batch in plan for index in batch]
    assert sorted(flat) == list(range(len(sizes)))
    assert [sizes[index] for index in flat] == sorted(sizes, reverse=True)
    for batch in plan:
        widest = max(sizes[index] for index in batch)
        assert len(batch) == 1 or widest * len(batch) <= budget
    for batch in plan[:-1]:  # none could have taken one more
        assert max(sizes[index] for index in batch) * (len(batch) + 1) > budget


def test_plan_written_out() -> None:
    sizes = [3, 10, 3, 50, 9, 3]
    assert plan_batches([segment(size) for size in sizes], 20) == [[3], [1, 4], [0, 2, 5]]
    assert plan_batches([], 20) == []


def test_plan_within_a_budget_of_pairs() -> None:
    assert plan_batches([segment(size) for size in (4, 3, 4, 9, 2)], 1000, 40) == [[3], [0, 2], [1, 4]]


def test_batch_tensors() -> None:
    corpus = lines([["the cat .", "sat"], ["a , b c", "dogs"]])
    segments = sample_segments(corpus, bert(), count=2, max_tokens=32, seed=0).segments
    batch = make_batch(segments, kind_table(bert()), pad_id=77)
    assert batch.input_ids.shape == (2, 9)
    assert [tensor.dtype for tensor in (batch.input_ids, batch.mask, batch.type_ids, batch.kinds, batch.lengths)] == [
        torch.int64,
        torch.bool,
        torch.int64,
        torch.uint8,
        torch.int64,
    ]
    assert batch.lengths.tolist() == [7, 9]
    assert batch.tokens == 16 == int(batch.mask.sum())
    assert batch.mask.tolist() == [[True] * 7 + [False] * 2, [True] * 9]
    assert batch.input_ids[0].tolist() == [*segments[0].ids, 77, 77]
    assert batch.type_ids[0].tolist() == [0, 0, 0, 0, 0, 1, 1, 0, 0]
    k = TokenKind
    assert batch.kinds[0].tolist() == [k.CLS, 0, 0, k.PERIOD_COMMA, k.SEP, 0, k.SEP, 0, 0]
    assert batch.kinds[1].tolist() == [k.CLS, 0, k.PERIOD_COMMA, 0, 0, k.SEP, 0, 0, k.SEP]
    assert batch.segments == tuple(segments)


@given(sizes=lengths.filter(bool), budget=st.integers(1, 200))
def test_nothing_is_lost_on_the_way_into_batches(sizes: list[int], budget: int) -> None:
    segments = [segment(size, first=5 + place % 3) for place, size in enumerate(sizes)]
    plan = plan_batches(segments, budget)
    kinds = kind_table(bert())
    batches = list(iterate_batches(segments, plan, kinds, pad_id=0))
    assert len(batches) == len(plan)
    for indices, batch in zip(plan, batches, strict=True):
        for row, index in enumerate(indices):
            length = sizes[index]
            assert batch.lengths[row] == length
            assert batch.input_ids[row, :length].tolist() == segments[index].ids.tolist()
            assert not batch.input_ids[row, length:].any()
            assert not batch.type_ids[row, length:].any()
            assert batch.mask[row].sum() == length
            assert batch.kinds[row, :length].tolist() == kinds(segments[index].ids).tolist()


def test_to_moves_every_tensor() -> None:
    batch = make_batch([segment(3)], kind_table(bert()), 0).to(torch.device("meta"))
    for name in ("input_ids", "mask", "type_ids", "kinds", "lengths"):
        assert getattr(batch, name).device.type == "meta"
    assert batch.tokens == 3
