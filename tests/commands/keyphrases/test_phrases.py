"""Words, stems and the places of phrases."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headatlas.commands.keyphrases.phrases import occurrences, phrase_stems, split_words, stem


def test_words_keep_their_hyphens_and_lines():
    words = split_words("Graph-based (ranking), v2.0.\n\nIt's done")
    assert words.words == ("Graph-based", "(", "ranking", ")", ",", "v2.0", ".", "It's", "done")
    assert words.lines == (0, 0, 0, 0, 0, 0, 0, 2, 2)


def test_stems_are_porters_and_know_no_case():
    assert [stem(word) for word in ("Relational", "ponies", "Networks", "hopping")] == [
        "relat",
        "poni",
        "network",
        "hop",
    ]
    assert phrase_stems("Numerical Solutions") == phrase_stems("numerical solution")


def test_phrases_do_not_cross_lines():
    words = split_words("neural\nnetworks and neural networks")
    assert list(occurrences(phrase_stems("Neural network"), words.stems(), words.lines)) == [(3, 5)]
    assert list(occurrences((), words.stems(), words.lines)) == []


@given(st.lists(st.sampled_from("ab"), max_size=12), st.lists(st.sampled_from("ab"), min_size=1, max_size=3))
def test_every_place_is_found_and_no_other(text, phrase):
    found = set(occurrences(tuple(phrase), tuple(text), [0] * len(text)))
    spans = {(start, start + len(phrase)) for start in range(len(text))}
    assert found == {(start, end) for start, end in spans if text[start:end] == phrase}


@given(st.text(max_size=80))
def test_no_sign_of_a_text_is_lost(text):
    assert "".join(split_words(text).words) == "".join(text.split())
