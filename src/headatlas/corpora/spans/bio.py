"""Entities in columns: a word a line with its ``B-``, ``I-`` or ``O`` last, an empty line between texts.

As in WNUT-17 (word and tag, by tab), CoNLL-2003 (four columns, by blanks) and its many kin. An entity begins at
``B-TYPE``, and at an ``I-TYPE`` that continues none of that type (the older IOB1). The span is given, its type asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from headatlas.corpora.spans.spans import SpanText, Target
from headatlas.corpora.treebanks.blocks import Block, read_blocks
from headatlas.errors import CorpusError

TAG = re.compile(r"O|[BI]-\S+")
_DOCUMENT = "-DOCSTART-"


def read_bio(path: Path, file: int, task: str) -> Iterator[SpanText]:
    """Stream the texts of one file; file is its number in their ids."""
    document = number = 0
    for block in read_blocks(path):
        rows = [(line, *_row(text, path, line)) for line, text in block]
        if rows and rows[0][1].startswith(_DOCUMENT):
            document, number = document + (number > 0), 0
            rows = rows[1:]
        if rows:
            words = tuple(word for _, word, _ in rows)
            targets = _entities([(line, tag) for line, _, tag in rows])
            yield SpanText(f"{file}.{document}.{number}", path, words, {task: tuple(targets)})
            number += 1


def _row(text: str, path: Path, line: int) -> tuple[str, str]:
    columns = text.split("\t") if "\t" in text else text.split()
    if len(columns) < 2:
        raise CorpusError("has one column. Give a word and its tag: B-TYPE, I-TYPE or O.", path, line)
    word, tag = columns[0].strip(), columns[-1].strip()
    if not TAG.fullmatch(tag):
        raise CorpusError(f"its tag {tag[:20]!r} is none of B-TYPE, I-TYPE and O.", path, line)
    if not word:
        raise CorpusError("holds an empty word. Give the word in the first column.", path, line)
    return word, tag


def _entities(tags: Block) -> Iterator[Target]:
    """The runs of words that are one entity. tags: with their lines."""
    start = 0
    for place, (_, tag) in enumerate(tags):
        if tag == "O":
            continue
        kind = tag[2:]
        if tag[0] == "B" or place == 0 or tags[place - 1][1][2:] != kind or tags[place - 1][1] == "O":
            start = place
        if place + 1 == len(tags) or tags[place + 1][1] != f"I-{kind}":
            yield Target(((start, place + 1),), (kind,), tags[start][0])
