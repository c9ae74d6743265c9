"""Sentences of a column file before they are read: numbered lines between empty ones, and their ten columns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from headatlas.corpora.lines import Extent, read_lines
from headatlas.errors import CorpusError
from headatlas.limits import LARGEST_RECORD

Block = list[tuple[int, str]]  # line number, from 1, and the line without its break

COLUMNS = 10  # of CoNLL-U and CoNLL-X

_DOCUMENT_MARK = re.compile(r"#\s*newdoc(\s|$)")


def read_blocks(path: Path) -> Iterator[Block]:
    """The runs of lines between empty lines, each line with its number."""
    block: Block = []
    extent = Extent(path, LARGEST_RECORD, "Put an empty line between sentences.")
    for number, raw in read_lines(path):
        if raw.strip():
            extent.add(number, raw)
            block.append((number, raw.rstrip("\r\n")))
        elif block:
            yield block
            block = []
            extent.restart()
    if block:
        yield block


def is_document_mark(line: str) -> bool:
    """Whether the line is a comment that starts a document: `# newdoc`, `# newdoc id = weblog-1`."""
    return _DOCUMENT_MARK.match(line) is not None


def split_columns(line: str, path: Path, number: int, format_name: str) -> list[str]:
    """The ten columns of a word's line, where the word itself is not empty."""
    columns = line.split("\t")
    if len(columns) == COLUMNS:
        if not columns[1]:
            raise CorpusError("holds an empty word. Give the word's form in the second column.", path, number)
        return columns
    if len(columns) == 1 and len(line.split()) >= COLUMNS - 2:
        raise CorpusError(
            f"separates columns by blanks, {format_name} by tabs. Convert it: sed -E 's/ +/\\t/g' FILE > NEW.",
            path,
            number,
        )
    problem = f"has {len(columns)} columns, {format_name} has {COLUMNS}. Put _ in each column that has no value."
    raise CorpusError(problem, path, number)


def check_id(found: str, due: int, path: Path, number: int) -> None:
    """Raise unless the word has the number that is due: words are numbered from 1 without a gap."""
    if found != str(due):
        raise CorpusError(
            f"is word {found!r} where word {due} is due. Put an empty line between sentences, and number words from 1.",
            path,
            number,
        )
