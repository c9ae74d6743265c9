from __future__ import annotations

import pytest

from headatlas.corpora.coreference.mention_heads import heads_from_parse
from headatlas.corpora.treebanks.sentence import ROOT


def heads(parsed: str) -> dict[str, str]:
    """The head of each word in ``word/TAG/bit word/TAG/bit``; of the root it is "ROOT"."""
    rows = [part.split("/") for part in parsed.split()]
    words = [row[0] for row in rows]
    found = heads_from_parse([row[2] for row in rows], [row[1] for row in rows])
    assert found is not None
    return {word: "ROOT" if head == ROOT else words[head] for word, head in zip(words, found, strict=True)}


def head_of(phrase: str) -> str:
    return next(word for word, head in heads(phrase).items() if head == "ROOT")


@pytest.mark.parametrize(
    ("phrase", "head"),
    [
        ("the/DT/(NP* old/JJ/* man/NN/*)", "man"),
        ("the/DT/(NP(NP* man/NN/*) in/IN/(PP* black/NN/(NP*)))", "man"),
        ("John/NNP/(NP(NP* 's/POS/*) house/NN/*)", "house"),
        ("John/NNP/(NP* 's/POS/*)", "John"),
        ("Microsoft/NNP/(NP(NP*) ,/,/* the/DT/(NP* company/NN/*))", "Microsoft"),
        ("all/DT/(NP(NP*) of/IN/(PP* them/PRP/(NP*)))", "all"),
        ("we/PRP/(NP* all/DT/*)", "we"),
        ("the/DT/(NP* poor/JJ/*)", "poor"),
        ("his/PRP$/(NP*)", "his"),
        ("a/DT/(NP* lower/JJR/(NML* -/HYPH/* cost/NN/*) base/NN/* rate/NN/*)", "rate"),
        ("who/WP/(WHNP*)", "who"),
    ],
)
def test_the_head_of_a_noun_phrase(phrase: str, head: str) -> None:
    assert head_of(phrase) == head


def test_a_sentence() -> None:
    sentence = (
        "The/DT/(TOP(S(NP* girl/NN/*) who/WP/(SBAR(WHNP*) sang/VBD/(S(VP*))) will/MD/(VP* see/VB/(VP* "
        "him/PRP/(NP*) in/IN/(PP* May/NNP/(NP*)))) ././*))"
    )
    assert heads(sentence) == {
        "The": "girl", "girl": "see", "who": "sang", "sang": "see", "will": "see", "see": "ROOT", "him": "see",
        "in": "see", "May": "in", ".": "see",
    }  # fmt: skip


@pytest.mark.parametrize("bits", [["*", "*"], ["-", "-"], ["_", "_"], ["", ""]])
def test_no_bracketing_is_no_tree(bits: list[str]) -> None:
    assert heads_from_parse(bits, ["NN", "NN"]) is None


@pytest.mark.parametrize(
    ("bits", "problem"),
    [
        (["(NP*", "*"], "phrase NP is never closed"),
        (["(NP*)", "*)"], "closes a phrase that is not open"),
        (["(NP)*", "*"], "no word"),
        (["(NP*", "noun)"], "not a parse bit"),
        (["(NP", "*)"], "not a parse bit"),
        (["(NP**", "*)"], "not a parse bit"),
    ],
)
def test_what_is_no_tree(bits: list[str], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        heads_from_parse(bits, ["NN"] * len(bits))
