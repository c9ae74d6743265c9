from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import chain

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import PreTrainedTokenizerFast

from encoding.tokenizers_for_tests import bert, gpt, lines, llama, roberta, t5, xlnet
from headatlas.encoding.kinds import TokenKind, kind_table
from headatlas.encoding.segments import Segment, SegmentSample, sample_segments
from headatlas.encoding.template import SPECIAL, pair_frame
from headatlas.errors import CorpusError, SettingError

Make = Callable[[], PreTrainedTokenizerFast]
ALL = 10_000
ZERO_WIDTH = "\u200b\u200d"

line_texts = st.text("abcs .,3é", min_size=1, max_size=25).filter(str.strip) | st.just(ZERO_WIDTH)
corpora = st.lists(st.lists(line_texts, min_size=1, max_size=6), min_size=1, max_size=6)


def encode(tokenizer: PreTrainedTokenizerFast, text: str) -> list[int]:
    return list(tokenizer(text, add_special_tokens=False)["input_ids"])


def try_sample(*args: object, **kwargs: object) -> SegmentSample | None:
    try:
        return sample_segments(*args, **kwargs)  # type: ignore[arg-type]
    except CorpusError:
        return None


def sides(segment: Segment) -> tuple[list[int], list[int]]:
    """A and B of one of bert's segments, by token type and without the frame."""
    text = segment.words != SPECIAL
    return segment.ids[text & (segment.type_ids == 0)].tolist(), segment.ids[text & (segment.type_ids == 1)].tolist()


def same(first: SegmentSample, second: SegmentSample) -> bool:
    return len(first.segments) == len(second.segments) and all(
        a.id == b.id
        and np.array_equal(a.ids, b.ids)
        and np.array_equal(a.type_ids, b.type_ids)
        and np.array_equal(a.words, b.words)
        for a, b in zip(first.segments, second.segments, strict=True)
    )


# --- every segment


@pytest.mark.parametrize("make", [bert, roberta, gpt, t5, xlnet])
@given(corpus=corpora, max_tokens=st.integers(6, 40), seed=st.integers(0, 5), count=st.integers(1, 8))
@settings(max_examples=40)
def test_any_corpus(make: Make, corpus: list[list[str]], max_tokens: int, seed: int, count: int) -> None:
    tokenizer = make()
    sample = try_sample(lines(corpus), tokenizer, count=count, max_tokens=max_tokens, seed=seed)
    if sample is None:
        return
    assert len(sample.segments) == min(count, sample.available)
    assert sample.documents == len(corpus)
    assert sample.lines == sum(map(len, corpus))
    places = [tuple(map(int, segment.id.split("."))) for segment in sample.segments]
    assert places == sorted(set(places))
    for segment in sample.segments:
        assert 1 <= len(segment) <= max_tokens
        assert len(segment.ids) == len(segment.type_ids) == len(segment.words)
        assert {a.dtype for a in (segment.ids, segment.words)} == {np.dtype(np.int32)}
        assert segment.type_ids.dtype == np.uint8
        in_text = segment.words[segment.words != SPECIAL]
        assert in_text.size > 0
        assert (np.diff(in_text) >= 0).all()


@given(corpus=corpora, max_tokens=st.integers(5, 60), seed=st.integers(0, 5))
@settings(max_examples=150)
def test_pairs_are_consecutive_lines_cut_from_the_longer_side(
    corpus: list[list[str]], max_tokens: int, seed: int
) -> None:
    tokenizer = bert()
    room = max_tokens - 3
    sample = try_sample(lines(corpus), tokenizer, count=ALL, max_tokens=max_tokens, seed=seed)
    chunks, left_out = slow_chunks(corpus, tokenizer, room)
    cut = sum(max(0, sum(map(len, chunk)) - room) for chunk in chunks.values())
    if cut:
        left_out["token_cut_to_fit"] = cut
    if sample is None:
        assert not chunks
        return
    assert [segment.id for segment in sample.segments] == list(chunks)
    assert sample.available == len(chunks)
    assert sample.left_out == left_out
    for segment in sample.segments:
        chunk = chunks[segment.id]
        first, second = sides(segment)
        assert tokenizer.cls_token_id == segment.ids[0]
        assert any(
            allowed_cut([*chain(*chunk[:boundary])], [*chain(*chunk[boundary:])], first, second, room)
            for boundary in range(1, len(chunk))
        )


def slow_chunks(
    corpus: list[list[str]], tokenizer: PreTrainedTokenizerFast, room: int
) -> tuple[dict[str, list[list[int]]], dict[str, int]]:
    """The obvious way: id -> encoded lines of each chunk of two lines or more, and what is left out."""
    chunks: dict[str, list[list[int]]] = {}
    left_out: Counter[str] = Counter()
    for number, document in enumerate(corpus):
        encoded = [ids for ids in (encode(tokenizer, text) for text in document) if ids]
        left_out["line_without_tokens"] += len(document) - len(encoded)
        made = 0
        while encoded:
            take = 1
            while take < len(encoded) and (take < 2 or sum(map(len, encoded[:take])) < room):
                take += 1
            if take == 1:
                left_out["line_without_a_partner" if made else "document_of_one_line"] += 1
            else:
                chunks[f"0.{number}.{made}"] = encoded[:take]
                made += 1
            encoded = encoded[take:]
    return chunks, {reason: many for reason, many in left_out.items() if many}


def allowed_cut(whole_a: list[int], whole_b: list[int], a: list[int], b: list[int], room: int) -> bool:
    """Whether taking a token at a time from the longer side, at either end, can lead to `a` and `b`."""
    size_a, size_b = len(whole_a), len(whole_b)
    ties = False
    while size_a + size_b > room:
        ties = ties or size_a == size_b
        if size_a >= size_b:
            size_a -= 1
        else:
            size_b -= 1
    sizes = {(size_a, size_b)}
    if ties:  # from a tie on, either side may be the one that is shorter by one
        sizes.add((size_b, size_a))
    return (len(a), len(b)) in sizes and is_slice(a, whole_a) and is_slice(b, whole_b)


def is_slice(part: list[int], whole: list[int]) -> bool:
    return any(whole[start : start + len(part)] == part for start in range(len(whole) - len(part) + 1))


def test_boundary_lies_at_a_line_end_when_nothing_is_cut() -> None:
    corpus = [["the cat", "sat on", "the mat", "dogs"]]
    encoded = [encode(bert(), text) for text in corpus[0]]
    starts = set()
    for seed in range(40):
        [segment] = sample_segments(lines(corpus), bert(), count=5, max_tokens=64, seed=seed).segments
        first, second = sides(segment)
        assert first + second == [*chain(*encoded)]
        starts.add(len(first))
    assert starts == set(np.cumsum([len(ids) for ids in encoded])[:-1].tolist())


def test_the_longer_side_loses_tokens_at_both_ends() -> None:
    corpus = [["a b c d e f g h i j", "cat"]]
    kept = set()
    for seed in range(60):
        [segment] = sample_segments(lines(corpus), bert(), count=1, max_tokens=3 + 1 + 8, seed=seed).segments
        first, second = sides(segment)
        assert second == encode(bert(), "cat")
        assert len(first) == 8
        kept.add(bert().decode(first))
    assert kept == {"a b c d e f g h i j"[2 * start : 2 * start + 15] for start in range(3)}


def test_pair_written_out() -> None:
    sample = sample_segments(lines([["the dogs", "sat ."]]), bert(), count=1, max_tokens=16, seed=0)
    [segment] = sample.segments
    assert " ".join(bert().convert_ids_to_tokens(segment.ids)) == "[CLS] the dog ##s [SEP] sat . [SEP]"
    assert segment.type_ids.tolist() == [0, 0, 0, 0, 0, 1, 1, 1]
    assert segment.words.tolist() == [SPECIAL, 0, 1, 1, SPECIAL, 2, 3, SPECIAL]
    assert segment.id == "0.0.0"
    assert (sample.style, sample.available, sample.documents, sample.lines) == ("pair", 1, 1, 2)
    assert sample.left_out == {}


@given(corpus=corpora, seed=st.integers(0, 3))
@settings(max_examples=50)
def test_words_agree_with_white_space_words(corpus: list[list[str]], seed: int) -> None:
    """In a sentencepiece-like tokenizer each word is what stands between two blanks."""
    sample = try_sample(lines(corpus), t5(), count=ALL, max_tokens=30, seed=seed)
    for segment in sample.segments if sample else []:
        first = [bool(token.startswith("▁")) for token in t5().convert_ids_to_tokens(segment.ids)]
        for place in range(1, len(segment)):
            before, here = segment.words[place - 1], segment.words[place]
            if SPECIAL not in (before, here):
                assert (here != before) == first[place]
                assert here - before in (0, 1)


def test_token_types_can_be_left_zero() -> None:
    corpus = lines([["the cat", "sat on"], ["a mat", "the dog", "sat"]])
    plain = sample_segments(corpus, bert(), count=9, max_tokens=9, seed=3)
    zero = sample_segments(corpus, bert(), count=9, max_tokens=9, seed=3, zero_token_types=True)
    for a, b in zip(plain.segments, zero.segments, strict=True):
        assert a.ids.tolist() == b.ids.tolist()
        assert a.words.tolist() == b.words.tolist()
        assert a.type_ids.any()
        assert not b.type_ids.any()
        assert b.type_ids.dtype == np.uint8
        assert len(b.type_ids) == len(b)


def test_the_name_of_a_special_token_in_the_text_is_text() -> None:
    for make, name in ((bert, "[SEP]"), (roberta, "<s>"), (roberta, "</s>"), (bert, "[MASK]")):
        tokenizer = make()
        [segment] = sample_segments(
            lines([[f"the {name} cat", f"sat {name}"]]), tokenizer, count=1, max_tokens=64, seed=0
        ).segments
        frame = pair_frame(tokenizer)
        assert frame is not None
        special = np.isin(segment.ids, tokenizer.all_special_ids)
        assert ((segment.words == SPECIAL) == special).all()
        assert special.sum() == frame.size
        kinds = kind_table(tokenizer)(segment.ids)
        assert ((kinds == TokenKind.CLS) | (kinds == TokenKind.SEP)).sum() == frame.size
        assert tokenizer(name, add_special_tokens=False)["input_ids"] == [tokenizer.convert_tokens_to_ids(name)]


def test_padding_and_truncation_left_on_do_no_harm() -> None:
    bert().backend_tokenizer.enable_padding(length=64)
    bert().backend_tokenizer.enable_truncation(2)
    [segment] = sample_segments(lines([["the cat sat", "on"]]), bert(), count=1, max_tokens=32, seed=0).segments
    assert len(segment) == 7


# --- single style


def test_single_style_takes_lines_in_a_row_and_cuts_the_end() -> None:
    corpus = [["the cat sat", "on the mat", "a"], ["dogs"]]
    sample = sample_segments(lines(corpus), bert(), count=9, max_tokens=2 + 4, seed=0, style="single")
    tokens = [" ".join(bert().convert_ids_to_tokens(segment.ids)) for segment in sample.segments]
    assert tokens == ["[CLS] the cat sat on [SEP]", "[CLS] a [SEP]", "[CLS] dog ##s [SEP]"]
    assert [segment.id for segment in sample.segments] == ["0.0.0", "0.0.1", "0.1.0"]
    assert sample.style == "single"
    assert sample.left_out == {"token_cut_to_fit": 2}
    assert not any(segment.type_ids.any() for segment in sample.segments)


@pytest.mark.parametrize("make", [gpt, llama])
def test_no_separator_means_single_and_pair_is_refused(make: Make) -> None:
    corpus = lines([["the cat", "sat"]])
    assert sample_segments(corpus, make(), count=1, max_tokens=16, seed=0).style == "single"
    with pytest.raises(SettingError, match="--segment-style single"):
        sample_segments(corpus, make(), count=1, max_tokens=16, seed=0, style="pair")


def test_byte_level_lines_within_a_document_follow_a_space() -> None:
    corpus = [["the cat.", "the dog", "a"], ["the mat", "a"]]
    sample = sample_segments(lines(corpus), gpt(), count=9, max_tokens=64, seed=0)
    texts = [gpt().decode(segment.ids) for segment in sample.segments]
    assert texts == ["the cat. the dog a", "the mat a"]
    expected = [encode(gpt(), "the cat. the dog a"), encode(gpt(), "the mat a")]
    assert [segment.ids.tolist() for segment in sample.segments] == expected


def test_a_file_starts_a_document_without_a_space() -> None:
    both = lines([["a", "a"]], "first.txt") + lines([["a", "a"]], "second.txt")
    sample = sample_segments(both, gpt(), count=9, max_tokens=64, seed=0)
    assert [segment.id for segment in sample.segments] == ["0.0.0", "1.0.0"]
    assert [gpt().decode(segment.ids) for segment in sample.segments] == ["a a", "a a"]


# --- what is left out


def test_what_is_left_out_is_counted() -> None:
    corpus = [["one line"], ["a b c d", "e f g h", "i"], [ZERO_WIDTH, "the cat", "sat"], [ZERO_WIDTH]]
    sample = sample_segments(lines(corpus), bert(), count=9, max_tokens=3 + 6, seed=0)
    assert [segment.id for segment in sample.segments] == ["0.1.0", "0.2.0"]
    assert (sample.documents, sample.lines, sample.available) == (4, 8, 2)
    assert sample.left_out == {
        "line_without_a_partner": 1,
        "line_without_tokens": 2,
        "document_of_one_line": 1,
        "token_cut_to_fit": 2,
    }


def test_only_kept_segments_count_as_cut() -> None:
    corpus = lines([["a b c d", "e f g h"]] * 5)
    sample = sample_segments(corpus, bert(), count=2, max_tokens=3 + 6, seed=0)
    assert (sample.available, sample.left_out) == (5, {"token_cut_to_fit": 4})


@pytest.mark.parametrize(
    ("corpus", "problem"),
    [
        ([["the cat"], ["sat"]], "2 documents of one line.*--segment-style single"),
        ([[ZERO_WIDTH, ZERO_WIDTH]], "2 lines turn into no tokens.*script"),
        ([], "it is empty"),
    ],
)
def test_a_corpus_that_gives_nothing_says_why(corpus: list[list[str]], problem: str) -> None:
    with pytest.raises(CorpusError, match=problem):
        sample_segments(lines(corpus), bert(), count=3, max_tokens=16, seed=0)


def test_too_few_tokens_or_segments_are_refused() -> None:
    corpus = lines([["the cat", "sat"]])
    for max_tokens in (0, 3, 4):
        with pytest.raises(SettingError, match="special tokens take 3"):
            sample_segments(corpus, bert(), count=1, max_tokens=max_tokens, seed=0)
    [segment] = sample_segments(corpus, bert(), count=1, max_tokens=5, seed=0).segments
    assert len(segment) == 5
    for count in (0, -1):
        with pytest.raises(SettingError, match="at least 1"):
            sample_segments(corpus, bert(), count=count, max_tokens=16, seed=0)


# --- sampling
