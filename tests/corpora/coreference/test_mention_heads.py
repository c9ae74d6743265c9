from __future__ import annotations

from pathlib import Path

import pytest

from headatlas.corpora.coreference.brackets import Span
from headatlas.corpora.coreference.mention_heads import NO_TREE, add_syntax, find_head, make_mentions
from headatlas.corpora.coreference.mentions import Mention, MentionDocument
from headatlas.corpora.treebanks.sentence import ROOT, Sentence
from headatlas.errors import CorpusError

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


def document(words: str, *mentions: Mention) -> MentionDocument:
    forms = tuple(words.split())
    return MentionDocument("0.0", Path("doc.conll"), 2, forms, ("",) * len(forms), (0,), mentions)


def sentence(number: int, words: str, heads: list[int], tags: str) -> Sentence:
    forms = tuple(words.split())
    relations = ("dep",) * len(forms)
    return Sentence(f"0.0.{number}", Path("tree"), 1, forms, tuple(heads), relations, tuple(tags.split()))


def test_trees_give_a_document_heads_tags_types_and_sentences() -> None:
    before = document("Dogs ran . This old Ann", Mention(0, 1, 0, "1", "proper"), Mention(3, 6, 5, "1", "proper"))
    trees = [
        sentence(0, "Dogs ran .", [1, ROOT, 1], "NNS VBD ."),
        sentence(1, "This old Ann", [ROOT, 0, 0], "DT JJ NNP"),
    ]
    after = add_syntax(before, trees)
    assert after.sentences == (0, 3)
    assert after.tags == ("NNS", "VBD", ".", "DT", "JJ", "NNP")
    assert after.mentions == (Mention(0, 1, 0, "1", "nominal"), Mention(3, 6, 3, "1", "nominal"))
    assert (after.id, after.path, after.line, after.words) == (before.id, before.path, before.line, before.words)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("Dogs run .", "word 2 of the document is 'ran', in its trees 'run'"),
        ("Dogs ran", "the document has 3 words, its trees have 2"),
        ("Dogs ran . .", "the document has 3 words, its trees have 4"),
    ],
)
def test_trees_of_other_words_are_refused(words: str, problem: str) -> None:
    size = len(words.split())
    tree = sentence(0, words, [ROOT] + [0] * (size - 1), "NN " * size)
    with pytest.raises(CorpusError, match=problem) as caught:
        add_syntax(document("Dogs ran ."), [tree])
    assert (caught.value.path, caught.value.line) == (Path("doc.conll"), 2)
