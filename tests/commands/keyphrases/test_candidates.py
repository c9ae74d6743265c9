"""Candidates: runs between stop words, and runs of adjectives and nouns."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headatlas.commands.keyphrases.candidates import (
    MOST_WORDS,
    between_stop_words,
    candidate_lengths,
    find_candidates,
    is_stop_word,
    score_candidates,
    spans_by,
    with_tagger,
)
from headatlas.commands.keyphrases.phrases import Words, split_words
from headatlas.errors import SettingError


def texts(text, spans=between_stop_words):
    return [one.text for one in find_candidates(split_words(text), spans)]


def test_runs_end_at_stop_words_signs_adverbs_numbers_and_lines():
    found = texts(
        "We propose deep networks, quickly trained on 12 graph kernels\nGaussian processes for image retrieval"
    )
    assert found == ["deep networks", "trained", "graph kernels", "Gaussian processes", "image retrieval"]


def test_report_words_are_excluded_or_kept():
    kept = partial(between_stop_words, report_words="keep")
    assert texts("We propose deep networks and report results", kept) == ["propose deep networks", "report results"]
    assert texts("We propose deep networks and report results") == ["deep networks"]
    assert list(spans_by(None)) == ["exclude", "keep"]


def test_a_word_has_the_length_of_its_candidate():
    words = split_words("Graph kernels of trees")
    found = find_candidates(words, between_stop_words)
    assert candidate_lengths(words, found).tolist() == [2, 2, 0, 1]


@given(st.lists(st.floats(0, 10), min_size=6, max_size=6), st.sampled_from(["sum", "mean"]))
def test_scores_are_the_sum_or_mean_at_the_best_place(weights, scoring):
    words = split_words("graph kernels and graph kernels of trees")
    of_words = np.array([*weights, 1.0])
    candidates = find_candidates(words, between_stop_words)
    scored = {one.candidate.text: one.score for one in score_candidates(candidates, of_words, scoring)}
    pairs = [weights[0] + weights[1], weights[3] + weights[4]]
    assert scored["graph kernels"] == pytest.approx(max(pairs) / (2 if scoring == "mean" else 1))
    assert scored["trees"] == pytest.approx(1.0)


def test_a_phrase_is_one_candidate_wherever_it_stands():
    (first, other) = find_candidates(split_words("Graph kernels and a graph kernel of trees"), between_stop_words)
    assert (first.text, first.places, other.text) == ("Graph kernels", ((0, 2), (4, 6)), "trees")


def test_of_long_runs_the_last_words_are_kept():
    assert texts("alpha beta gamma delta epsilon zeta") == ["beta gamma delta epsilon zeta"]


@given(st.lists(st.tuples(st.sampled_from(["the", "graph", ",", "node"]), st.integers(0, 1)), max_size=20))
def test_candidates_hold_no_stop_word_and_cross_no_line(made):
    words = Words(tuple(word for word, _ in made), tuple(sorted(line for _, line in made)))
    for start, end in between_stop_words(words):
        assert 0 < end - start <= MOST_WORDS
        assert not any(map(is_stop_word, words.words[start:end]))
        assert len(set(words.lines[start:end])) == 1


@pytest.fixture(scope="module")
def tagger(tmp_path_factory):
    """A spaCy pipeline that knows the part of speech of a few words."""
    import spacy

    nlp = spacy.blank("en")
    ruler = nlp.add_pipe("attribute_ruler")
    for word, tag in {"deep": "ADJ", "networks": "NOUN", "trees": "NOUN", "grow": "VERB", "green": "ADJ"}.items():
        ruler.add([[{"LOWER": word}]], {"POS": tag})
    folder = tmp_path_factory.mktemp("tagger")
    nlp.to_disk(folder)
    return str(folder)


def test_a_tagger_gives_adjectives_and_nouns_that_end_in_a_noun(tagger):
    assert texts("deep networks grow green trees green", with_tagger(tagger)) == ["deep networks", "green trees"]


def test_a_pipeline_without_a_tagger_is_refused(tmp_path):
    import spacy

    spacy.blank("en").to_disk(tmp_path / "blank")
    with pytest.raises(SettingError, match="gives no parts of speech"):
        texts("deep networks", with_tagger(str(tmp_path / "blank")))
    with pytest.raises(SettingError, match="is not installed"):
        with_tagger("no_such_pipeline")
