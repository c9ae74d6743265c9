"""Words of keyphrases: their tags, and the task of telling them from others."""

from __future__ import annotations

from collections import Counter

from headatlas.commands.keyphrases.phrases import TAGS, phrase_stems, split_words, tag_words
from headatlas.commands.keyphrases.spans import KEY_WORDS
from headatlas.corpora.spans.tasks import choose_tasks, read_span_texts
from tests.commands.keyphrases.made_up import folders_corpus


def tags_of(text, *phrases):
    tags, there = tag_words(split_words(text), {phrase_stems(phrase) for phrase in phrases})
    return "".join(TAGS[tag] for tag in tags), there


def test_the_longest_phrase_comes_first():
    assert tags_of("big dogs ran to a big dog", "big dog", "dogs", "cat") == ("BIOOOBI", 2)
    assert tags_of("red dog house", "red dog", "dog house") == ("BBI", 2)
    assert tags_of("dog dog", "dogs") == ("BB", 1)


def test_every_word_that_is_no_sign_is_asked_for(tmp_path):
    corpus = folders_corpus(tmp_path / "corpus", [("the dog, a big one", ["big"]), ("cats", []), ("", ["cat"])])
    (task,) = choose_tasks(["all"], [[corpus], [corpus]])
    assert task is KEY_WORDS
    left_out = Counter()
    (text,) = read_span_texts([corpus], [task.name], 0, left_out)
    assert text.words == ("the", "dog", ",", "a", "big", "one")
    found = [(target.spans, target.labels) for target in text.targets["keyphrases"]]
    assert [place for ((place, _),), _ in found] == [0, 1, 3, 4, 5]
    assert [labels for _, labels in found] == [("other",), ("other",), ("other",), ("key",), ("other",)]
    assert left_out == {"document_without_keyphrases": 1, "document_without_text": 1}
