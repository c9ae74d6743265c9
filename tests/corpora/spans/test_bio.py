"""Entities in B-, I-, O columns: against a slow reading of the tags, and malformed lines."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headatlas.corpora.spans.spans import read_bio
from headatlas.errors import CorpusError

TEXT = """-DOCSTART- -X- O O

EU NNP B-NP B-ORG
rejects VBZ B-VP O
German JJ B-NP I-MISC
call NN I-NP I-MISC

Peter NNP B-NP B-PER
"""


def read(tmp_path, text):
    path = tmp_path / "a.bio"
    path.write_text(text, encoding="utf-8")
    return list(read_bio(path, 0, "entities"))


def spans(text):
    return [(target.spans, target.labels, target.line) for target in text.targets["entities"]]


def test_columns_by_blanks_and_document_marks(tmp_path):
    first, second = read(tmp_path, TEXT)
    assert first.words == ("EU", "rejects", "German", "call")
    assert spans(first) == [(((0, 1),), ("ORG",), 3), (((2, 4),), ("MISC",), 5)]
    assert spans(second) == [(((0, 1),), ("PER",), 8)]
    assert (first.id, second.id) == ("0.0.0", "0.0.1")


def test_a_hash_is_a_word_and_a_word_may_hold_blanks_by_tab(tmp_path):
    (text,) = read(tmp_path, "#\tO\nnew york\tB-loc\n")
    assert text.words == ("#", "new york")


def slow_entities(tags):
    """Read tag by tag, closing the open entity where the tag does not continue it."""
    found, open_at, kind = [], None, None
    for place, tag in enumerate([*tags, "O"]):
        if open_at is not None and tag != f"I-{kind}":
            found.append((((open_at, place),), (kind,)))
            open_at = None
        if tag != "O" and open_at is None:
            open_at, kind = place, tag[2:]
    return found


@given(st.lists(st.sampled_from(["O", "B-a", "I-a", "B-b", "I-b"]), min_size=1, max_size=12))
def test_entities_equal_a_slow_reading(tmp_path_factory, tags):
    path = tmp_path_factory.mktemp("bio")
    (text,) = read(path, "".join(f"w\t{tag}\n" for tag in tags))
    assert [(target.spans, target.labels) for target in text.targets["entities"]] == slow_entities(tags)


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("a\tO\nword\n", 2, "one column"),
        ("a\tO\n\nb\tX-loc\n", 3, "is not valid. Use B-TYPE"),
        ("\tO\n", 1, "empty word"),
    ],
)
def test_malformed_lines_are_named(tmp_path, text, line, what):
    with pytest.raises(CorpusError, match=f"a.bio, line {line}: .*{what}"):
        read(tmp_path, text)
