from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headatlas.corpora.coreference.mention_heads import head_by_rule, is_mark


def head_of(phrase: str) -> str:
    """The head of ``the/DT man/NN``, or of words without parts of speech."""
    parts = [part.rpartition("/") if "/" in part else (part, "", "") for part in phrase.split()]
    words, tags = [part[0] for part in parts], [part[2] for part in parts]
    return words[head_by_rule(0, len(words), words, tags)]


@pytest.mark.parametrize(
    ("phrase", "head"),
    [
        ("the/DT old/JJ man/NN", "man"),
        ("death/NN of/IN Internet/NNP Explorer/NNP 6/CD", "death"),
        ("Explorer/NNP 6/CD", "Explorer"),
        ("three/CD of/IN the/DT men/NNS", "three"),
        ("all/DT of/IN them/PRP", "all"),
        ("about/IN 20/CD people/NNS", "people"),
        ("the/DT big/JJ ,/, red/JJ house/NN", "house"),
        ("London/NNP ,/, England/NNP", "London"),
        ("John/NNP and/CC Mary/NNP", "John"),
        ("Microsoft/NNP 's/POS browser/NN", "browser"),
        ("the/DT president/NN 's/POS", "president"),
        ("the/DT man/NN walking/VBG home/NN", "man"),
        ("the/DT underlying/VBG cause/NN", "cause"),
        ("adult/NN -/HYPH learned/VBN language/NN", "language"),
        ("the/DT ills/NNS we/PRP suffer/VBP", "ills"),
        ("Peter/NNP the/DT Great/NNP", "Peter"),
        ("you/PRP yourself/PRP", "you"),
        ("the/DT poor/JJ", "poor"),
        ("this/DT", "this"),
        ("what/WP", "what"),
        ("``/`` pills/NNS ''/''", "pills"),
        ("das/DET alte/ADJ Haus/NOUN von/ADP Anna/PROPN", "Haus"),
        ("(/-LRB- )/-RRB-", ")"),
    ],
)
def test_with_parts_of_speech(phrase: str, head: str) -> None:
    assert head_of(phrase) == head


@pytest.mark.parametrize(
    ("phrase", "head"),
    [
        ("the old man", "man"),
        ("The laughing kookaburra of Australia", "kookaburra"),
        ("that noble mole", "mole"),
        ("the man that came", "man"),
        ("that", "that"),
        ("one of the men", "one"),
        ("her sister", "sister"),
        ("her", "her"),
        ("Mr. Sherlock Holmes", "Holmes"),
        ("Captain John Good", "Good"),
        ("Norton I", "Norton"),
        ("kings ' ships", "ships"),
        ("John 's", "John"),
        ("the county family", "family"),
        ("an extremely old man", "man"),
        ("the man dressed in black", "man"),
        ("the rusted gate", "gate"),
        ("the building of stone", "building"),
        ("the way we went", "way"),
        ("Tsar Peter the Great", "Peter"),
        ("John and Mary", "John"),
        ("about 20 people", "people"),
        ("“ fans ”", "fans"),
        ("18 %", "%"),
        ("...", "..."),
    ],
)
def test_without_parts_of_speech(phrase: str, head: str) -> None:
    assert head_of(phrase) == head


FORMS = ["the", "of", "'s", ",", "and", "man", "walking", "It", "9", "-", "ly", "\u0130", "\u2014"]
TAGS = ["", "NN", "IN", "POS", "VBG", ",", "DT", "XYZ"]


@given(st.lists(st.tuples(st.sampled_from(FORMS), st.sampled_from(TAGS)), min_size=1, max_size=6))
def test_the_head_lies_in_the_span(span: list[tuple[str, str]]) -> None:
    words, tags = ["of", *(word for word, _ in span), "man"], ["IN", *(tag for _, tag in span), "NN"]
    assert 1 <= head_by_rule(1, 1 + len(span), words, tags) < 1 + len(span)


def test_marks() -> None:
    assert all(map(is_mark, [".", "''", "--", "(", "\u201c", "..."]))
    assert not any(map(is_mark, ["%", "$", "a", "9", "U.S.", "'s"]))
