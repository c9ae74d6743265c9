"""Messages that quote files: made printable, and cut where they are long."""

from __future__ import annotations

import pytest

from headatlas.errors import LONGEST_MESSAGE, CorpusError, printable


def test_control_characters_of_a_file_are_escaped():
    controls = "".join(map(chr, [*range(32), *range(127, 160)]))
    shown = printable(controls)
    assert [letter for letter in shown if not letter.isprintable()] == ["\n"]
    error = CorpusError("the head is '\x1b]0;owned\x07'.\nFix it.", "a\x1b.conllu", 3)
    assert str(error) == "a\\x1b.conllu, line 3: the head is '\\x1b]0;owned\\x07'.\nFix it."


def test_what_is_printable_stays():
    assert printable("é 中文 \U0001f600 שלום\n") == "é 中文 \U0001f600 שלום\n"


@pytest.mark.parametrize("letter", ["a", "\x1b", "\udce9"])
def test_long_messages_are_cut(letter):
    assert len(str(CorpusError(letter * 10_000))) <= LONGEST_MESSAGE
