from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headatlas.corpora.coreference.brackets import BracketReader, Span
from headatlas.errors import CorpusError

PATH = Path("file.conll")


def read(*cells: str, left_out: Counter[str] | None = None) -> list[tuple[int, int, str]]:
    reader = BracketReader(PATH)
    for word, cell in enumerate(cells):
        reader.read(cell, word, word + 1, 10 + word)
    spans = reader.spans(Counter() if left_out is None else left_out)
    return [(span.start, span.end, span.entity) for span in spans]


@pytest.mark.parametrize(
    ("cells", "spans"),
    [
        (["(1)"], [(0, 1, "1")]),
        (["(1", "", "1)"], [(0, 3, "1")]),
        (["(2|(1)", "2)"], [(0, 2, "2"), (0, 1, "1")]),
        (["(2(1)", "2)"], [(0, 2, "2"), (0, 1, "1")]),
        (["(3", "(4)3)"], [(0, 2, "3"), (1, 2, "4")]),
        (["(1", "(2", "1)", "2)"], [(0, 3, "1"), (1, 4, "2")]),
        (["(31", "(2|31)", "2)"], [(0, 2, "31"), (1, 3, "2")]),
        (["(1", "(1", "1)", "1)"], [(0, 4, "1"), (1, 3, "1")]),
        (["(1", "1)(1)", "(1)"], [(0, 2, "1"), (1, 2, "1"), (2, 3, "1")]),
        (["(d01e1)", "(x_y.z)"], [(0, 1, "d01e1"), (1, 2, "x_y.z")]),
    ],
)
def test_rows_of_brackets(cells: list[str], spans: list[tuple[int, int, str]]) -> None:
    assert read(*cells) == spans


def test_a_span_twice_in_one_entity_is_counted_and_in_two_entities_kept() -> None:
    left_out: Counter[str] = Counter()
    assert read("(1|(1|(2", "1)|1)|2)", left_out=left_out) == [(0, 2, "1"), (0, 2, "2")]
    assert left_out == {"mention_given_twice": 1}
    assert read("(1)", left_out=(nothing := Counter[str]())) == [(0, 1, "1")]
    assert not nothing


def test_the_entity_is_found_within_the_brackets() -> None:
    reader = BracketReader(PATH, lambda inside: inside.split("-")[0])
    reader.read("(e1-person-new(e2-place)", 0, 1, 1)
    reader.read("e1)", 1, 2, 2)
    assert reader.spans(Counter()) == [Span(0, 2, "e1"), Span(0, 1, "e2")]


@pytest.mark.parametrize("cell", ["12", "(", ")", "()", "((1)", "(1))", "(1||2)", "(1)|", "|", "x(1)"])
def test_what_is_no_bracket_is_named(cell: str) -> None:
    with pytest.raises(CorpusError, match=r"not a row of brackets such as \(12, 12\) or \(12\)") as caught:
        read("", cell)
    assert (caught.value.path, caught.value.line) == (PATH, 11)


def test_a_bracket_that_closes_nothing_is_named() -> None:
    with pytest.raises(CorpusError, match="closes a mention of entity '2' that is not open") as caught:
        read("(1)", "2)")
    assert caught.value.line == 11


def test_the_first_bracket_that_never_closes_is_named() -> None:
    with pytest.raises(CorpusError, match="opens a mention of entity '3' that its document never closes") as caught:
        read("(1", "(3", "(2", "1)")
    assert caught.value.line == 11


def written(spans: list[tuple[int, int, str]], words: int, between: str) -> list[str]:
    """Closing brackets, whole mentions and opening brackets of each word."""
    cells = []
    for word in range(words):
        ending = [f"{entity})" for start, end, entity in spans if end == word + 1 > start + 1]
        whole = [f"({entity})" for start, end, entity in spans if (start, end) == (word, word + 1)]
        opening = [f"({entity}" for start, end, entity in spans if start == word < end - 1]
        cells.append(between.join(ending + whole + opening))
    return cells


@st.composite
def nested_spans(draw: st.DrawFn) -> list[tuple[int, int, str]]:
    """Spans that cross only those of other entities."""
    kept: list[tuple[int, int, str]] = []
    for start, length, entity in draw(
        st.lists(st.tuples(st.integers(0, 9), st.integers(1, 5), st.sampled_from("123")), max_size=12)
    ):
        end = min(start + length, 10)
        crosses = any(e == entity and (s < start < f < end or start < s < end < f) for s, f, e in kept)
        if not crosses and (start, end, entity) not in kept:
            kept.append((start, end, entity))
    return kept


@given(nested_spans(), st.sampled_from(["|", ""]))
def test_spans_come_back(spans: list[tuple[int, int, str]], between: str) -> None:
    found = read(*written(spans, 10, between))
    assert found == sorted(spans, key=lambda span: (span[0], -span[1], span[2]))
