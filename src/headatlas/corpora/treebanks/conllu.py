"""CoNLL-U: the format of Universal Dependencies, and of CorefUD with its ``Entity=`` in the last column.

The `conllu` package reads the columns; here each fault gets its file and line, which the package does not give. Words
are the syntactic words, those with a whole number: ranges (``1-2``) only repeat them, and empty nodes (``1.1``) were
never written, so no model reads them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conllu.exceptions import ParseException
from conllu.parser import DEFAULT_FIELDS, parse_comment_line, parse_id_value, parse_int_value, parse_line

from headatlas.corpora.lines import Extent
from headatlas.corpora.treebanks.blocks import Block, check_id, read_blocks, split_columns
from headatlas.corpora.treebanks.checks import check_heads
from headatlas.corpora.treebanks.sentence import ROOT
from headatlas.errors import CorpusError
from headatlas.limits import LARGEST_RECORD

Misc = dict[str, str]  # the last column: `SpaceAfter=No|Entity=(1)`; a part without "=" has the value ""


@dataclass(frozen=True)
class ConlluSentence:
    """One sentence of a CoNLL-U file; a column without value is "" here, not "_"."""

    path: Path
    lines: tuple[int, ...]  # line of each word, from 1
    metadata: dict[str, str | None]  # comments `# key = value`, the value None where there is none
    words: tuple[str, ...]
    upos: tuple[str, ...]
    xpos: tuple[str, ...]
    heads: tuple[int, ...] | None  # from 0, or ROOT; None for a sentence without a tree
    relations: tuple[str, ...]
    misc: tuple[Misc, ...]
    empty_nodes: tuple[tuple[int, Misc], ...]  # number of words before the node, and its last column

    @property
    def tags(self) -> tuple[str, ...]:
        """The treebank's own part of speech of each word, else the universal one, else ""."""
        return tuple(xpos or upos for xpos, upos in zip(self.xpos, self.upos, strict=True))

    @property
    def starts_document(self) -> bool:
        """Whether a `# newdoc` stands before it."""
        return _has_mark(self.metadata, "newdoc")

    @property
    def starts_paragraph(self) -> bool:
        """Whether a `# newpar` stands before it."""
        return _has_mark(self.metadata, "newpar")


def read_conllu(path: Path) -> Iterator[ConlluSentence]:
    """Stream the sentences of one file, plain or gzipped; raises CorpusError with file and line for what is malformed.

    Heads are words of the sentence, but whether they form a tree is left to `checks.tree_defect`. Comments that stand
    alone between two empty lines count for the sentence after them.
    """
    metadata: dict[str, str | None] = {}
    extent = Extent(path, LARGEST_RECORD, "These are comments alone: give the sentences they belong to.")
    for block in read_blocks(path):
        rows = [(number, line) for number, line in block if not line.startswith("#")]
        metadata |= _metadata(block, path)
        if rows:
            yield _sentence(rows, metadata, path)
            metadata = {}
            extent.restart()
        else:
            for number, line in block:
                extent.add(number, line)


def _has_mark(metadata: dict[str, str | None], mark: str) -> bool:
    """A mark stands alone or is followed by an id: `# newdoc`, `# newdoc id = weblog-1`."""
    return any(key.split()[0] == mark for key in metadata)


def _metadata(block: Block, path: Path) -> dict[str, str | None]:
    metadata: dict[str, str | None] = {}
    for number, line in block:
        if line.startswith("#"):
            metadata |= dict(parse_comment_line(line))
            if "global.columns" in metadata:
                raise CorpusError("is CoNLL-U Plus. Convert it to the ten columns of CoNLL-U.", path, number)
    return metadata


def _sentence(rows: Block, metadata: dict[str, str | None], path: Path) -> ConlluSentence:
    words: list[tuple[int, dict[str, Any]]] = []
    empty_nodes: list[tuple[int, Misc]] = []
    for number, line in rows:
        row = _row(line, path, number)
        if isinstance(row["id"], tuple):
            if row["id"][1] == ".":
                empty_nodes.append((len(words), row["misc"]))
            continue
        check_id(line.partition("\t")[0], len(words) + 1, path, number)
        words.append((number, row))
    if not words:
        raise CorpusError("starts a sentence without a word. Give it words, numbered from 1.", path, rows[0][0])
    lines = tuple(number for number, _ in words)
    return ConlluSentence(
        path=path,
        lines=lines,
        metadata=metadata,
        words=tuple(row["form"] for _, row in words),
        upos=tuple(row["upos"] for _, row in words),
        xpos=tuple(row["xpos"] for _, row in words),
        heads=_heads([row["head"] for _, row in words], path, lines),
        relations=tuple(row["deprel"] for _, row in words),
        misc=tuple(row["misc"] for _, row in words),
        empty_nodes=tuple(empty_nodes),
    )


def _row(line: str, path: Path, number: int) -> dict[str, Any]:
    split_columns(line, path, number, "CoNLL-U")
    try:
        row: dict[str, Any] = parse_line(_BLANKS.sub(" ", line), DEFAULT_FIELDS, _PARSERS)
    except (ParseException, ValueError) as error:  # int() refuses thousands of digits
        raise CorpusError(f"is no CoNLL-U ({str(error).rstrip('.')}). Correct the column.", path, number) from error
    return row


def _heads(found: list[int | None], path: Path, lines: tuple[int, ...]) -> tuple[int, ...] | None:
    heads = [head - 1 if head else ROOT for head in found if head is not None]
    if not heads:
        return None
    if len(heads) < len(found):
        line = lines[found.index(None)]
        raise CorpusError("has no head, while other words of the sentence have one. Give it its head.", path, line)
    check_heads(heads, path, lines)
    return tuple(heads)


def _value(columns: list[str], index: int) -> str:
    return "" if columns[index] == "_" else columns[index]


def _misc(columns: list[str], index: int) -> Misc:
    parts = (part.partition("=") for part in _value(columns, index).split("|") if part)
    return {key: value for key, _, value in parts}


def _unread(columns: list[str], index: int) -> None:
    """Features and enhanced dependencies: nothing here asks for them."""


_BLANKS = re.compile(" {2,}")  # inside a column, where the package would see a new column
_PARSERS = {
    "id": lambda columns, index: parse_id_value(columns[index]),
    "upos": _value,
    "xpos": _value,
    "feats": _unread,
    "head": lambda columns, index: parse_int_value(columns[index]),
    "deprel": _value,
    "deps": _unread,
    "misc": _misc,
}
