"""Questions as they come from outside: well-formed ones are read, everything else is refused with a reason."""

import json
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headatlas.commands.explore.question import Cut, Question, read_question
from headatlas.errors import SettingError
from headatlas.models.stacks import HeadShape

SHAPE = HeadShape((4, 2))


def read(asked):
    return read_question(asked if isinstance(asked, bytes) else json.dumps(asked).encode(), SHAPE, "tiny")


def test_a_question_is_read_in_order_and_without_repeats():
    asked = read({"text": "a b", "words": [3, 1, 1], "removed": ["2-1", "1-4", "2-1"]})
    assert asked == Question("a b", (1, 3), removed=((1, 4), (2, 1)))
    assert read({"text": "a"}) == Question("a")
    asked = read({"text": "a", "cut": {"from": [2, 1], "to": [0], "both": True, "heads": ["2-2"]}, "layers": [1, 2]})
    assert asked == Question("a", cut=Cut((1, 2), (0,), True, ((2, 2),)), layers=(1, 2))
    asked = read({"text": "a", "cut": {"from": [], "to": [3]}, "by_cut": True, "mask": False, "target": 7})
    assert asked == Question("a", mask=False, target=7, cut=Cut((), (3,)), by_cut=True)


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
        {"text": "a", "mask": 1},
        {"text": "a", "target": -1},
        {"text": "a", "target": "the"},
        {"text": "a", "cut": []},
        {"text": "a", "cut": {"from": [1]}},
        {"text": "a", "cut": {"from": [1], "to": [1], "file": 1}},
        {"text": "a", "cut": {"from": [-1], "to": [1]}},
        {"text": "a", "cut": {"from": [1], "to": [1], "heads": ["3-1"]}},
        {"text": "a", "cut": {"from": [1], "to": [1], "both": None}},
        {"text": "a", "layers": [1]},
        {"text": "a", "layers": [0, 1]},
        {"text": "a", "layers": [2, 1]},
        {"text": "a", "layers": [1, 3]},
        {"text": "a", "layers": [1, True]},
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
    parts = [{"text": "a", key: asked} for key in ("text", "words", "removed", "cut", "layers", "target", "mask")]
    for one in (asked, *parts, {"text": "a", "cut": {"from": asked, "to": asked, "heads": asked}}):
        with suppress(SettingError):
            assert isinstance(read(one), Question)
