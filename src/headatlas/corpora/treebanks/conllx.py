"""CoNLL-X (the shared task of 2006): ten tab-separated columns, as Stanford Dependencies are usually given.

The columns are ID, FORM, LEMMA, CPOSTAG, POSTAG, FEATS, HEAD, DEPREL, PHEAD, PDEPREL. Lines that begin with ``#`` are
comments, of which ``# newdoc`` starts a document.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from headatlas.corpora.treebanks.blocks import Block, check_id, is_document_mark, read_blocks, split_columns
from headatlas.corpora.treebanks.checks import FoundTree, check_heads, parse_head


def read_conllx(path: Path) -> Iterator[FoundTree]:
    """Stream the sentences of one file, plain or gzipped; what is malformed raises CorpusError with file and line."""
    starts_document = False
    for block in read_blocks(path):
        rows = [(number, line) for number, line in block if not line.startswith("#")]
        starts_document |= any(is_document_mark(line) for _, line in block)
        if rows:
            yield _tree(rows, starts_document, path)
            starts_document = False


def _tree(rows: Block, starts_document: bool, path: Path) -> FoundTree:
    lines = tuple(number for number, _ in rows)
    words = [split_columns(line, path, number, "CoNLL-X") for number, line in rows]
    for due, (number, columns) in enumerate(zip(lines, words, strict=True), start=1):
        check_id(columns[0], due, path, number)
    heads = tuple(parse_head(columns[6], path, number) for number, columns in zip(lines, words, strict=True))
    check_heads(heads, path, lines)
    return FoundTree(
        path=path,
        lines=lines,
        starts_document=starts_document,
        words=tuple(columns[1] for columns in words),
        heads=heads,
        relations=tuple(columns[7] for columns in words),
        tags=tuple(next((tag for tag in (columns[4], columns[3]) if tag != "_"), "") for columns in words),
    )
