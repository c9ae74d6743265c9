"""Coreference brackets: ``(12`` opens a mention of entity 12, ``12)`` closes it, ``(12)`` is a mention of one word.

Brackets of one word follow each other, with ``|`` between them or nothing: ``(4)|3)``, ``(4)3)``. A closing bracket
closes the mention of its entity that was opened last, so mentions of one entity nest; those of two entities may cross.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from headatlas.corpora.files import too_large
from headatlas.errors import CorpusError
from headatlas.limits import MOST_COVERED

_BRACKET = re.compile(r"\|?(?:\((?P<opened>[^()|]+)(?P<closed>\))?|(?P<ended>[^()|]+)\))")


@dataclass(frozen=True)
class Span:
    """The words of a mention and its entity."""

    start: int  # first word, from 0
    end: int  # one past the last word
    entity: str


class BracketReader:
    """Gathers the spans of one document from the brackets of its words, which are given in order."""

    def __init__(self, path: Path, entity_of: Callable[[str], str] = str) -> None:
        self._path = path
        self._entity_of = entity_of  # the entity in the text between brackets
        self._open: dict[str, list[tuple[int, int]]] = {}  # first word and line of each open mention
        self._spans: list[Span] = []
        self._covered = 0

    def read(self, brackets: str, start: int, end: int, line: int) -> None:
        """Take in the brackets at the words from start to end (one word, or none for an empty node)."""
        position = 0
        while position < len(brackets):
            bracket = _BRACKET.match(brackets, position)
            if not bracket:
                problem = f"{brackets!r} is not a row of brackets such as (12, 12) or (12). Correct it, or use -."
                raise CorpusError(problem, self._path, line)
            position = bracket.end()
            entity = self._entity_of(bracket["opened"] or bracket["ended"])
            if bracket["opened"]:
                self._open.setdefault(entity, []).append((start, line))
            if bracket["closed"] or bracket["ended"]:
                self._close(entity, end, line)

    def _close(self, entity: str, end: int, line: int) -> None:
        if not self._open.get(entity):
            problem = f"closes a mention of entity {entity!r} that is not open. Add the opening bracket before it."
            raise CorpusError(problem, self._path, line)
        start, _ = self._open[entity].pop()
        self._covered += end - start
        if self._covered > MOST_COVERED:
            most = f"{MOST_COVERED:,} words"
            raise too_large("the mentions up to here have", most, "Correct the brackets.", self._path, line)
        self._spans.append(Span(start, end, entity))

    def spans(self, left_out: Counter[str]) -> list[Span]:
        """All spans by start, the longer first; one that an entity has twice is kept once and counted.

        A span that belongs to two entities is kept for both, since the file does not say which of them is wrong.
        """
        unclosed = sorted((line, entity) for entity, opened in self._open.items() for _, line in opened)
        if unclosed:
            line, entity = unclosed[0]
            problem = f"opens a mention of entity {entity!r} that its document never closes. Add the closing bracket."
            raise CorpusError(problem, self._path, line)
        spans = sorted(set(self._spans), key=lambda span: (span.start, -span.end, span.entity))
        if len(spans) < len(self._spans):
            left_out["mention_given_twice"] += len(self._spans) - len(spans)
        return spans
