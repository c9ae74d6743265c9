"""Text to pieces to masked batches: nothing lost, everything made from the seed."""

from __future__ import annotations

import numpy as np
import pytest

from headatlas.commands.fit_mlm.corpus import BatchMaker, cut, epoch_plan, read_corpus
from headatlas.corpora.sampling import rng_of
from headatlas.corpora.text import read_text
from headatlas.encoding.template import single_frame
from headatlas.errors import CorpusError, SettingError


@pytest.fixture
def tokenizer(tokenizer_of):
    return tokenizer_of("wordpiece")


@pytest.fixture
def maker(tokenizer):
    return BatchMaker(tokenizer, single_frame(tokenizer))


def pieces_of(sizes):
    return [np.r_[2, 60 + np.arange(size) % 60, 3].astype(np.int32) for size in sizes]


@pytest.mark.parametrize("max_tokens", [4, 9, 64])
def test_pieces_cover_every_document_in_order(tokenizer, tmp_path, max_tokens):
    path = tmp_path / "text.txt"
    documents = [["the old man .", "she sat by the river ."], ["a dog"], ["they have not been there at night ." * 5]]
    path.write_text("\n\n".join("\n".join(lines) for lines in documents))
    pieces, silent = cut(list(read_text([path])), tokenizer, single_frame(tokenizer), max_tokens)
    assert silent == 0
    assert all(piece[0] == 2 and piece[-1] == 3 and 2 < len(piece) <= max_tokens for piece in pieces)
    expected = [tokenizer(" ".join(lines), add_special_tokens=False)["input_ids"] for lines in documents]
    assert [number for piece in pieces for number in piece[1:-1]] == [number for ids in expected for number in ids]
    assert len(pieces) == sum(-(-len(ids) // (max_tokens - 2)) for ids in expected)


def test_the_last_lines_are_held_out_and_counted(tokenizer, easy_text):
    options = {"layout": "auto", "max_tokens": 24, "vocabulary": 130}
    corpus = read_corpus([easy_text], tokenizer, hold_out=1000, **options)
    assert (corpus.lines, corpus.lines_held_out) == (240, 24)
    assert len(corpus.training) == 216
    assert read_corpus([easy_text], tokenizer, hold_out=3, **options).lines_held_out == 3
    oracle = np.zeros(130, int)
    for piece in corpus.training:
        for number in piece[1:-1]:
            oracle[number] += 1
    assert (corpus.counts == oracle).all()
    assert corpus.unknown_rate == 0


def test_too_little_text_and_too_little_room(tokenizer, tmp_path, easy_text):
    path = tmp_path / "short.txt"
    path.write_text("the dog\n\nthe cat\n")
    with pytest.raises(CorpusError, match=r"gives 2 pieces.*at least 20"):
        read_corpus([path], tokenizer, layout="auto", max_tokens=24, hold_out=5, vocabulary=130)
    with pytest.raises(SettingError, match="--max-tokens 2"):
        read_corpus([easy_text], tokenizer, layout="auto", max_tokens=2, hold_out=5, vocabulary=130)


def test_an_epoch_shows_every_piece_once_within_the_budget():
    pieces = pieces_of(np.random.default_rng(0).integers(1, 40, size=5000))
    plan = epoch_plan(pieces, 256, seed=1, epoch=0)
    assert sorted(np.concatenate(plan)) == list(range(5000))
    sizes = [len(batch) * max(len(pieces[index]) for index in batch) for batch in plan]
    assert max(sizes) <= 256
    assert sum(map(len, pieces)) / sum(sizes) > 0.9
    again, other_epoch, other_seed = (epoch_plan(pieces, 256, *which) for which in ((1, 0), (1, 1), (2, 0)))
    assert all((a == b).all() for a, b in zip(plan, again, strict=True))
    assert not np.array_equal(np.concatenate(plan), np.concatenate(other_epoch))
    assert not np.array_equal(np.concatenate(plan), np.concatenate(other_seed))


def test_masking_is_berts(maker, tokenizer):
    pieces = pieces_of([100] * 100 + [1, 2, 7])
    batch = maker(pieces, rng_of(0))
    assert batch.tokens == sum(map(len, pieces)) == int(batch.mask.sum())
    assert batch.chosen.sum(1).tolist() == [15] * 100 + [1, 1, 1]
    original = np.zeros(batch.input_ids.shape, int)
    for row, piece in enumerate(pieces):
        original[row, : len(piece)] = piece
    ids, chosen = batch.input_ids.numpy(), batch.chosen.numpy()
    assert (ids[~chosen] == original[~chosen]).all()
    assert (batch.labels.numpy() == original[chosen]).all()
    assert set(batch.labels.tolist()).isdisjoint(tokenizer.all_special_ids)
    masked = (ids[chosen] == tokenizer.mask_token_id).mean()
    kept = (ids[chosen] == original[chosen]).mean()
    assert masked == pytest.approx(0.8, abs=0.04)
    assert kept == pytest.approx(0.1, abs=0.04)


def test_batches_follow_from_seed_and_place_alone(maker):
    pieces = pieces_of(range(1, 30))
    stream = maker.training(pieces, 64, 0, skip=0)
    first = [next(stream) for _ in range(40)]
    for skip in (0, 1, 17, 39):
        later = next(maker.training(pieces, 64, 0, skip=skip))
        assert (later.input_ids == first[skip].input_ids).all()
        assert (later.labels == first[skip].labels).all()
    other = next(maker.training(pieces, 64, 1, skip=0))
    assert other.input_ids.shape != first[0].input_ids.shape or (other.input_ids != first[0].input_ids).any()


def test_masks_differ_between_epochs(maker):
    pieces = pieces_of([40] * 4)
    batches = [next(maker.training(pieces, 1000, 0, skip=epoch)) for epoch in range(2)]
    assert not (batches[0].chosen == batches[1].chosen).all()
