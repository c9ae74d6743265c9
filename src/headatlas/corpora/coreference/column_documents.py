"""Documents in columns, one word a line: an empty line ends a sentence, ``#begin document`` starts a document.

What CoNLL-2012 files and plain bracket columns have in common. Without such a line the file is one document.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from headatlas.corpora.lines import Extent, read_lines
from headatlas.limits import LARGEST_DOCUMENT

BEGIN = re.compile(r"#\s*begin document\b")
NO_VALUE = frozenset({"-", "_", ""})  # marks of a column without a value
_END = re.compile(r"#\s*end document\b")


@dataclass
class ColumnDocument:
    """The rows of one document."""

    lines: list[int] = field(default_factory=list)  # line of each row, from 1
    rows: list[list[str]] = field(default_factory=list)
    sentences: list[int] = field(default_factory=list)  # first row of each sentence


def split_row(line: str) -> list[str]:
    """The columns of a row: by tabs where there are any, since a column may then be empty, else by blanks."""
    return line.rstrip("\r\n").split("\t") if "\t" in line else line.split()


def read_column_documents(path: Path) -> Iterator[ColumnDocument]:
    """Stream the documents of a file that have a word; other lines that begin with # are comments."""
    document = ColumnDocument()
    sentence_ended = True
    extent = Extent(path, LARGEST_DOCUMENT, "Put a line #begin document before each document.")
    for number, line in read_lines(path):
        if not line.strip():
            sentence_ended = True
        elif BEGIN.match(line) or _END.match(line):
            if document.rows:
                yield document
            document = ColumnDocument()
            extent.restart()
            sentence_ended = True
        elif not line.startswith("#"):
            if sentence_ended:
                document.sentences.append(len(document.rows))
            sentence_ended = False
            extent.add(number, line)
            document.lines.append(number)
            document.rows.append(split_row(line))
    if document.rows:
        yield document
