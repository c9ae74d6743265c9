from __future__ import annotations

import itertools

import pytest

from headatlas.corpora.coreference.english_words import PRONOUNS
from headatlas.corpora.coreference.mentions import Mention, MentionType
from headatlas.studies.coreference_baselines import Agreement, agreement, agrees


def known(text: str, head: str, type: MentionType, tag: str = "") -> Agreement:
    words = text.split()
    at = words.index(head)
    tags = [tag if word == at else "" for word in range(len(words))]
    return agreement(Mention(0, len(words), at, "1", type), words, tags)


def test_every_pronoun_of_the_closed_list_is_in_the_table() -> None:
    assert all(known(word, word, "pronoun").person for word in PRONOUNS)
    assert known("I", "I", "pronoun") == Agreement("singular", None, 1)
    assert known("Her", "Her", "pronoun") == Agreement("singular", "feminine", 3)
    assert known("themselves", "themselves", "pronoun") == Agreement("plural", None, 3)
    assert known("ihr", "ihr", "pronoun") == Agreement()


@pytest.mark.parametrize(
    ("text", "head", "type", "tag", "number", "gender"),
    [
        ("the kings", "kings", "nominal", "NNS", "plural", "masculine"),
        ("the king 's queen", "queen", "nominal", "NN", "singular", "feminine"),
        ("the house", "house", "nominal", "NN", "singular", None),
        ("the houses", "houses", "nominal", "", "plural", None),
        ("the glass", "glass", "nominal", "", None, None),
        ("the house", "house", "nominal", "", None, None),
        ("the poor", "poor", "nominal", "JJ", None, None),
        ("Mrs. Jones", "Jones", "proper", "NNP", "singular", "feminine"),
        ("Mr. Jones", "Jones", "proper", "", None, "masculine"),
        ("the Alps", "Alps", "proper", "NNPS", "plural", None),
        ("Ann and Bob", "Ann", "proper", "NNP", "plural", None),
        ("the man who came and went", "man", "nominal", "NN", "singular", "masculine"),
        ("Jones , husband of Ann", "Jones", "proper", "NNP", "singular", None),
    ],
)
def test_other_mentions(
    text: str, head: str, type: MentionType, tag: str, number: str | None, gender: str | None
) -> None:
    assert known(text, head, type, tag) == Agreement(number, gender, 3)  # type: ignore[arg-type]


def test_what_is_unknown_agrees_with_anything() -> None:
    numbers, genders, persons = (None, "singular", "plural"), (None, "masculine", "feminine"), (None, 1, 3)
    everything = list(itertools.product(numbers, genders, persons))
    for one, other in itertools.product(everything, repeat=2):
        expected = True
        for a, b in zip(one, other, strict=True):
            if a is not None and b is not None and a != b:
                expected = False
        assert agrees(Agreement(*one), Agreement(*other)) is expected  # type: ignore[arg-type]
