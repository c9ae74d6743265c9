from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headatlas.corpora.coreference.mentions import MENTION_TYPES, Mention
from headatlas.studies.coreference_baselines import (
    BASELINES,
    Baseline,
    agreement,
    agrees,
    antecedents,
    choose,
    preceding,
)

TEXT = "Ann met the old man . He told Ann 's father that the man saw her ."
PARTS_OF_SPEECH = "NNP VBD DT JJ NN . PRP VBD NNP POS NN IN DT NN VBD PRP ."
WORDS, TAGS = TEXT.split(), PARTS_OF_SPEECH.split()
ANN, MAN, HE, ANNS, FATHER, THE_MAN, HER = MENTIONS = (
    Mention(0, 1, 0, "ann", "proper"),
    Mention(2, 5, 4, "man", "nominal"),
    Mention(6, 7, 6, "man", "pronoun"),
    Mention(8, 10, 8, "ann", "proper"),
    Mention(8, 11, 10, "father", "nominal"),
    Mention(12, 14, 13, "man", "nominal"),
    Mention(15, 16, 15, "ann", "pronoun"),
)


def test_candidates_are_wholly_before_and_the_nearest_is_last() -> None:
    assert preceding(MENTIONS) == [[], [0], [0, 1], [0, 1, 2], [0, 1, 2], [0, 1, 2, 3, 4], [0, 1, 2, 3, 4, 5]]
    assert antecedents(MENTIONS) == [[], [], [1], [0], [], [1, 2], [0, 3]]


def test_order_of_the_mentions_does_not_matter() -> None:
    shuffled = list(MENTIONS)
    random.Random(0).shuffle(shuffled)
    for find in (preceding, antecedents):
        straight = {MENTIONS[m]: [MENTIONS[o] for o in others] for m, others in enumerate(find(MENTIONS))}
        assert {shuffled[m]: [shuffled[o] for o in others] for m, others in enumerate(find(shuffled))} == straight


def test_nested_crossing_and_equal_spans_are_no_candidates() -> None:
    spans = [(0, 4), (0, 2), (1, 3), (1, 3), (4, 6), (5, 8)]
    mentions = [Mention(start, end, start, "1", "nominal") for start, end in spans]
    assert preceding(mentions) == [[], [], [], [], [1, 0, 2, 3], [1, 0, 2, 3]]


@pytest.mark.parametrize(
    ("baseline", "chosen"),
    [
        ("nearest", {HE: MAN, ANNS: HE, THE_MAN: FATHER, HER: THE_MAN}),
        ("head_match", {HE: None, ANNS: ANN, THE_MAN: MAN, HER: None}),
        ("sieves", {HE: MAN, ANNS: ANN, THE_MAN: MAN, HER: ANNS}),
    ],
)
def test_choices(baseline: Baseline, chosen: dict[Mention, Mention | None]) -> None:
    choices = list(choose(baseline, MENTIONS, WORDS, TAGS))
    found = {MENTIONS[one.mention]: None if one.antecedent is None else MENTIONS[one.antecedent] for one in choices}
    assert found == chosen
    for mention, choice in zip(found, choices, strict=True):
        antecedent = found[mention]
        assert choice.right == (antecedent is not None and antecedent.entity == mention.entity)


def test_only_mentions_with_an_antecedent_in_the_window_are_scored() -> None:
    assert [choice.mention for choice in choose("nearest", MENTIONS[2:], WORDS, TAGS)] == [3, 4]
    assert list(choose("sieves", MENTIONS[:2], WORDS, TAGS)) == []
    assert list(choose("sieves", [], WORDS, TAGS)) == []


def test_the_same_words_come_before_the_same_head() -> None:
    words = ["the", "red", "car", ",", "a", "car", ",", "The", "red", "car"]
    mentions = [Mention(0, 3, 2, "1", "nominal"), Mention(4, 6, 5, "2", "nominal"), Mention(7, 10, 9, "1", "nominal")]
    tags = [""] * len(words)
    assert [(one.antecedent, one.right) for one in choose("head_match", mentions, words, tags)] == [(1, False)]
    assert [(one.antecedent, one.right) for one in choose("sieves", mentions, words, tags)] == [(0, True)]


# --- against a slow loop

FORMS = ["he", "she", "It", "king", "Queen", "houses", "and", "'s", "Ann"]


def slow_choice(baseline: Baseline, mention: Mention, before: list[Mention], words: list[str]) -> Mention | None:
    """Ask every test of every candidate, from the last start and the longest on."""
    tags = [""] * len(words)

    def text(one: Mention) -> list[str]:
        found = [word.lower() for word in words[one.start : one.end]]
        return found[:-1] if len(found) > 1 and found[-1] == "'s" else found

    best: tuple[int, int, int] | None = None
    choice = None
    for other in before:
        passed = 4
        if agrees(agreement(other, words, tags), agreement(mention, words, tags)):
            passed = 3
        if words[other.head].lower() == words[mention.head].lower():
            passed = 2
            if text(other) == text(mention):
                passed = 1
        elif text(other) == text(mention):
            passed = 1
        if baseline == "nearest":
            passed = 1
        if baseline == "head_match":
            if words[other.head].lower() != words[mention.head].lower():
                continue
            passed = 1
        rank = (-passed, other.start, other.end)
        if best is None or rank > best:
            best, choice = rank, other
    return choice


@st.composite
def documents(draw: st.DrawFn) -> tuple[list[str], list[Mention]]:
    words = draw(st.lists(st.sampled_from(FORMS), min_size=12, max_size=12))
    mentions = {}
    for start, length, entity, type in draw(
        st.lists(
            st.tuples(st.integers(0, 11), st.integers(1, 3), st.sampled_from("ab"), st.sampled_from(MENTION_TYPES)),
            max_size=8,
        )
    ):
        end = min(start + length, 12)
        mentions[start, end] = Mention(start, end, end - 1, entity, type)
    return words, sorted(mentions.values(), key=lambda one: (one.start, -one.end))


@given(documents(), st.sampled_from(BASELINES))
def test_choices_are_those_of_a_slow_loop(document: tuple[list[str], list[Mention]], baseline: Baseline) -> None:
    words, mentions = document
    expected = []
    for number, mention in enumerate(mentions):
        before = [other for other in mentions if other.end <= mention.start]
        if any(other.entity == mention.entity for other in before):
            choice = slow_choice(baseline, mention, before, words)
            right = choice is not None and choice.entity == mention.entity
            expected.append((number, None if choice is None else mentions.index(choice), right))
    found = [(one.mention, one.antecedent, one.right) for one in choose(baseline, mentions, words, [""] * 12)]
    assert found == expected
