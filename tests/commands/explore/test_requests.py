"""Questions as they come from outside: well-formed ones are read, everything else is refused with a reason."""

import json
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headatlas.commands.explore.live import Question, read_question
from headatlas.errors import SettingError
from headatlas.models.stacks import HeadShape

SHAPE = HeadShape((4, 2))


def read(asked):
    return read_question(asked if isinstance(asked, bytes) else json.dumps(asked).encode(), SHAPE, "tiny")


def test_a_question_is_read_in_order_and_without_repeats():
    asked = read({"text": "a b", "words": [3, 1, 1], "removed": ["2-1", "1-4", "2-1"]})
    assert asked == Question("a b", (1, 3), ((1, 4), (2, 1)))
    assert read({"text": "a"}) == Question("a")


@pytest.mark.parametrize(
    "asked",
    [
        b"",
        b"\xff\xfe",
        b"{",
        b"[" * 40_000,
        [],
        "text",
        {},
        {"text": 1},
        {"text": None},
        {"text": "a", "file": "/etc/passwd"},
        {"text": "a", "words": "1"},
        {"text": "a", "words": [-1]},
        {"text": "a", "words": [True]},
        {"text": "a", "words": [0.5]},
        {"text": "a", "removed": "1-1"},
        {"text": "a", "removed": [11]},
        {"text": "a", "removed": ["2-3"]},
        {"text": "a", "removed": ["0-1"]},
        {"text": "a", "removed": ["1-1"] * 7},
        {"text": "a\ud800"},
        {"text": "a", "removed": ["\ud800"]},
    ],
)
def test_anything_else_is_refused(asked):
    with pytest.raises(SettingError):
        read(asked)


VALUES = st.recursive(
    st.none() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
)


@settings(max_examples=40)
@given(VALUES)
def test_whatever_comes_it_is_a_question_or_a_refusal(asked):
    for one in (asked, {"text": asked}, {"text": "a", "words": asked}, {"text": "a", "removed": asked}):
        with suppress(SettingError):
            assert isinstance(read(one), Question)
