"""The treebank format of the paper's released code: ``word head-label`` a line, an empty line between sentences.

Heads count from 1 and 0 is the root: ``dogs 2-nsubj``. Words and labels may hold hyphens. A line ``# newdoc`` starts a
document; there are no other comments, since ``#`` is a word of the Penn Treebank.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from headatlas.corpora.treebanks.blocks import Block, is_document_mark, read_blocks
from headatlas.corpora.treebanks.checks import FoundTree, check_heads, parse_head
from headatlas.errors import CorpusError

HEAD_LABEL = re.compile(r"\s*(?P<word>\S+)\s+(?P<head>[0-9]+)-(?P<relation>\S+)\s*")


def read_head_label(path: Path) -> Iterator[FoundTree]:
    """Stream the sentences of one file, plain or gzipped; what is malformed raises CorpusError with file and line."""
    starts_document = False
    for block in read_blocks(path):
        rows = [(number, line) for number, line in block if not is_document_mark(line)]
        starts_document |= len(rows) < len(block)
        if rows:
            yield _tree(rows, starts_document, path)
            starts_document = False


def _tree(rows: Block, starts_document: bool, path: Path) -> FoundTree:
    lines = tuple(number for number, _ in rows)
    found = [_row(line, path, number) for number, line in rows]
    heads = tuple(parse_head(row["head"], path, line) for line, row in zip(lines, found, strict=True))
    check_heads(heads, path, lines)
    return FoundTree(
        path=path,
        lines=lines,
        starts_document=starts_document,
        words=tuple(row["word"] for row in found),
        heads=heads,
        relations=tuple(row["relation"] for row in found),
        tags=("",) * len(rows),
    )


def _row(line: str, path: Path, number: int) -> re.Match[str]:
    row = HEAD_LABEL.fullmatch(line)
    if row is None:
        problem = f"reads {line.strip()[:60]!r}. Give a word, a blank, and its head and label: dogs 2-nsubj."
        raise CorpusError(problem, path, number)
    return row
