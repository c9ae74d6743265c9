from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from encoding.tokenizers_for_tests import bert, gpt, roberta
from headatlas.encoding.batches import make_batch
from headatlas.encoding.kinds import kind_table
from headatlas.encoding.masking import IGNORED, MaskedTokens, Masker
from headatlas.encoding.segments import Segment
from headatlas.encoding.template import SPECIAL, single_frame
from headatlas.errors import ModelError

ORDINARY = bert().convert_tokens_to_ids("the")


def segment(name: int, length: int) -> Segment:
    """A segment of `length` times the same word within its frame."""
    frame = single_frame(bert())
    span = np.full(length, ORDINARY, dtype=np.int32)
    return Segment(f"0.{name}.0", frame.ids(span), frame.type_ids(span), frame.words(np.arange(length, dtype=np.int32)))


def mask(segments: list[Segment], seed: int = 0) -> MaskedTokens:
    return Masker(bert(), seed)(make_batch(segments, kind_table(bert()), bert().pad_token_id))


@given(length=st.integers(1, 130), seed=st.integers(0, 20))
@settings(max_examples=60)
def test_fifteen_in_a_hundred_and_never_a_special_token(length: int, seed: int) -> None:
    one = segment(0, length)
    masked = mask([one, segment(1, 140)], seed)
    predicted = masked.labels[0] != IGNORED
    assert predicted.sum() == max(1, round(0.15 * length))
    assert not predicted[: len(one)][torch.from_numpy(one.words == SPECIAL)].any()
    assert not predicted[len(one) :].any()
    assert (masked.labels[0][predicted] == ORDINARY).all()
    original = make_batch([one, segment(1, 140)], kind_table(bert()), bert().pad_token_id).input_ids
    assert torch.equal(masked.input_ids[0][~predicted], original[0][~predicted])
    assert masked.input_ids.shape == masked.labels.shape == original.shape


def test_eighty_ten_ten() -> None:
    masked = mask([segment(name, 200) for name in range(100)])
    hidden = masked.input_ids[masked.labels != IGNORED]
    assert len(hidden) == 3000
    share_masked = (hidden == bert().mask_token_id).float().mean().item()
    kept = (hidden == ORDINARY).float().mean().item()
    replaced = hidden[(hidden != bert().mask_token_id) & (hidden != ORDINARY)]
    assert share_masked == pytest.approx(0.8, abs=0.03)
    assert kept == pytest.approx(0.1, abs=0.025)
    assert len(replaced) / 3000 == pytest.approx(0.1, abs=0.025)
    assert not set(replaced.tolist()) & set(bert().all_special_ids)
    assert len(set(replaced.tolist())) > 50  # of a vocabulary of about 90, so not always the same few


def test_every_place_is_hidden_about_as_often() -> None:
    masked = mask([segment(name, 20) for name in range(600)])
    times = (masked.labels != IGNORED).sum(dim=0)[1:-1].float()
    spread = (600 * 0.15 * 0.85) ** 0.5
    assert times.sum() == 600 * 3
    assert ((times - 90).abs() < 4 * spread).all()


def test_what_is_hidden_does_not_depend_on_batch_or_order() -> None:
    segments = [segment(name, 30 + name) for name in range(6)]
    together = mask(segments)
    backwards = mask(segments[::-1])
    for row, one in enumerate(segments):
        alone = mask([one])
        for other, place in ((together, row), (backwards, 5 - row)):
            assert torch.equal(alone.labels[0], other.labels[place, : len(one)])
            assert torch.equal(alone.input_ids[0], other.input_ids[place, : len(one)])


def test_seed_and_segment_decide() -> None:
    one = segment(0, 100)
    assert torch.equal(mask([one], 1).labels, mask([one], 1).labels)
    assert torch.equal(mask([one], 1).input_ids, mask([one], 1).input_ids)
    assert not torch.equal(mask([one], 1).labels, mask([one], 2).labels)
    assert not torch.equal(mask([one]).labels, mask([segment(1, 100)]).labels)


def test_the_batch_itself_is_left_alone() -> None:
    batch = make_batch([segment(0, 50)], kind_table(bert()), 0)
    before = batch.input_ids.clone()
    Masker(bert(), 0)(batch)
    assert torch.equal(batch.input_ids, before)


def test_a_frame_around_nothing_has_nothing_to_hide() -> None:
    masked = mask([segment(0, 0), segment(1, 10)])
    assert (masked.labels[0] == IGNORED).all()
    assert (masked.labels[1] != IGNORED).sum() == 2


def test_a_tokenizer_without_a_mask_token_is_refused() -> None:
    with pytest.raises(ModelError, match="no mask token"):
        Masker(gpt(), 0)
    Masker(roberta(), 0)
