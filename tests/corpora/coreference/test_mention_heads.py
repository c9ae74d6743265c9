from __future__ import annotations

import pytest

from headatlas.corpora.coreference.brackets import Span
from headatlas.corpora.coreference.mention_heads import find_head, make_mentions
from headatlas.corpora.treebanks.sentence import NO_TREE, ROOT

TEXT = "[ The man ] saw Ann 's old dog , a terrier ."
WORDS = TEXT.split()
HEADS = [4, 2, 4, 4, ROOT, 8, 5, 8, 4, 8, 11, 8, 4]


@pytest.mark.parametrize(
    ("span", "head"),
    [
        ((1, 3), "man"),
        ((0, 4), "man"),
        ((5, 9), "dog"),
        ((5, 7), "Ann"),
        ((5, 12), "dog"),
        ((7, 8), "old"),
        ((7, 11), "dog"),
        ((2, 6), "saw"),
        ((0, 1), "["),
        ((2, 4), "man"),
        ((1, 2), "The"),
    ],
)
def test_the_head_in_a_tree_is_the_first_word_that_depends_on_one_outside(span: tuple[int, int], head: str) -> None:
    tags = [""] * len(WORDS)
    assert WORDS[find_head(Span(*span, "1"), WORDS, tags, HEADS)] == head


def test_a_span_of_a_circle_has_a_head() -> None:
    assert find_head(Span(0, 2, "1"), ["a", "b"], ["", ""], [1, 0]) == 0


def test_without_a_tree_the_rule_finds_the_head() -> None:
    words, tags = ["the", "man", "in", "black"], [""] * 4
    assert find_head(Span(0, 4, "1"), words, tags, None) == 1
    assert find_head(Span(0, 4, "1"), words, tags, [1, 2, ROOT, NO_TREE]) == 1
    assert find_head(Span(0, 4, "1"), words, tags, [1, 2, ROOT, 2]) == 2


def types(words: str, tags: str = "", sentences: tuple[int, ...] = (0,)) -> list[str]:
    """The types of all words, each a mention."""
    forms = words.split()
    spans = [Span(word, word + 1, "1") for word in range(len(forms))]
    return [mention.type for mention in make_mentions(spans, forms, tags.split() or [""] * len(forms), sentences)]


def test_types_by_part_of_speech() -> None:
    assert types("x " * 4, "PRP PRP$ PRON PRP") == ["pronoun"] * 4
    assert types("x " * 3, "NNP NNPS PROPN") == ["proper"] * 3
    assert types("this That who He Ann x", "DT DT WP NN NN -") == ["nominal"] * 6


def test_types_by_form() -> None:
    assert types("She gave us his , himself") == ["pronoun", "nominal", "pronoun", "pronoun", "nominal", "pronoun"]
    assert types("the US and IT") == ["nominal", "proper", "nominal", "proper"]


def test_a_capital_counts_within_a_sentence_or_on_a_word_that_has_it_there() -> None:
    assert types("Dogs saw Ann") == ["nominal", "nominal", "proper"]
    assert types("Ann left . Dogs saw Ann")[0] == "proper"
    assert types("Dogs ran . Dogs sat ? \u201c Dogs ! \u201d Dogs") == ["nominal"] * 11
    assert types("Dogs ran Dogs sat", sentences=(0, 2)) == ["nominal"] * 4
    assert types("Dogs ran Dogs sat") == ["proper", "nominal", "proper", "nominal"]
