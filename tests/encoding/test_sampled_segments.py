"""Which segments are sampled: by the seed alone, every one with the same chance, in one pass."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest

from encoding.tokenizers_for_tests import bert, gpt, lines
from headatlas.corpora.text import TextLine
from headatlas.encoding import segments as module
from headatlas.encoding.segments import Segment, SegmentSample, sample_segments
from tests.encoding.test_segments import Make, same


def many_documents(number: int) -> list[TextLine]:
    return lines([[f"the {'abcdefghij'[n % 10]} cat sat", f"on a mat {n}", "dogs", "a dog"] for n in range(number)])


def test_count_larger_than_available_keeps_all() -> None:
    sample = sample_segments(many_documents(7), bert(), count=1000, max_tokens=64, seed=0)
    assert len(sample.segments) == sample.available == 7


def test_same_seed_same_segments_other_seed_others() -> None:
    def draw(seed: int) -> SegmentSample:
        return sample_segments(many_documents(40), bert(), count=10, max_tokens=12, seed=seed)

    assert same(draw(1), draw(1))
    assert not same(draw(1), draw(2))
    assert {segment.id for segment in draw(1).segments} != {segment.id for segment in draw(2).segments}


def test_the_sample_of_fewer_lies_within_that_of_more() -> None:
    few = sample_segments(many_documents(40), bert(), count=5, max_tokens=12, seed=4).segments
    more = {
        segment.id: segment
        for segment in sample_segments(many_documents(40), bert(), count=20, max_tokens=12, seed=4).segments
    }
    for segment in few:
        assert segment.ids.tolist() == more[segment.id].ids.tolist()


def test_every_segment_has_the_same_chance() -> None:
    documents, count, draws = 30, 6, 300
    corpus = many_documents(documents)
    seen: Counter[str] = Counter()
    for seed in range(draws):
        sample = sample_segments(corpus, bert(), count=count, max_tokens=64, seed=seed)
        assert sample.available == documents
        seen.update(segment.id for segment in sample.segments)
    chance = count / documents
    spread = (draws * chance * (1 - chance)) ** 0.5
    times = np.array([seen[f"0.{document}.0"] for document in range(documents)])
    assert times.sum() == draws * count
    assert (np.abs(times - draws * chance) < 4 * spread).all()
    thirds = times.reshape(3, -1).sum(axis=1)  # neither the corpus's beginning nor its end is favoured
    assert (np.abs(thirds - draws * count / 3) < 4 * spread * (documents / 3) ** 0.5).all()


@pytest.mark.parametrize("make", [bert, gpt])
def test_how_many_lines_are_encoded_at_once_does_not_matter(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    def draw(at_once: int) -> SegmentSample:
        monkeypatch.setattr(module, "LINES_AT_ONCE", at_once)
        return sample_segments(many_documents(20), make(), count=8, max_tokens=12, seed=0)

    assert same(draw(1), draw(3))
    assert same(draw(1), draw(512))


def test_one_pass_is_enough() -> None:
    corpus = many_documents(20)
    stream = iter(corpus)
    once = sample_segments(stream, bert(), count=8, max_tokens=12, seed=0)
    assert next(stream, None) is None
    assert same(once, sample_segments(corpus, bert(), count=8, max_tokens=12, seed=0))


def test_memory_does_not_grow_with_the_corpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LINES_AT_ONCE", 4)
    count = 5
    alive = []

    def living() -> int:
        return sum(type(thing) in (Segment, module._Chunk) for thing in gc.get_objects())

    def stream() -> Iterator[TextLine]:
        before = living()
        for place, line in enumerate(many_documents(200)):
            if place % 100 == 99:
                alive.append(living() - before)
            yield line

    sample = sample_segments(stream(), bert(), count=count, max_tokens=64, seed=0)
    assert sample.available == 200
    assert len(alive) == 8
    assert count <= max(alive) <= count + 3  # those kept, and what is in hand


def test_files_are_numbered_in_reading_order_not_named() -> None:
    def draw(first: str, second: str) -> SegmentSample:
        both = lines([["the cat", "sat on"]] * 9, first) + lines([["a dog", "sat"]] * 9, second)
        return sample_segments(both, bert(), count=6, max_tokens=16, seed=0)

    assert same(draw("a.txt", "b.txt"), draw("elsewhere/z.txt", "y.txt"))
