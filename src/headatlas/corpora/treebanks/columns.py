"""Treebanks as text, one word per line and an empty line between sentences, plain or gzipped.

- CoNLL-U: ID, FORM, LEMMA, UPOS, XPOS, FEATS, HEAD, DEPREL, DEPS, MISC, separated by tabs. Words are the syntactic
  words, those with a whole number, and so the model reads *zu dem* where the text has *zum* (``1-2``, a multiword
  token). Empty nodes (``1.1``) were never written, so no model reads them.
- CoNLL-X (the shared task of 2006): the same without ranges and empty nodes, with CPOSTAG and POSTAG, PHEAD and PDEPREL
  in place of UPOS and XPOS, DEPS and MISC.
- head-label, the format of the paper's released code: ``dogs 2-nsubj``, a word, its head and its label. Words and
  labels may contain hyphens.

Heads count from 1 and 0 is the root. A comment ``# newdoc`` starts a document; head-label has no other comments, since
``#`` is a word of the Penn Treebank. Malformed lines raise CorpusError with file and line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from headatlas.corpora.files import Block, Extent, read_blocks
from headatlas.corpora.treebanks.sentence import NO_TREE, ROOT, Sentence, word_class
from headatlas.errors import CorpusError
from headatlas.limits import LARGEST_RECORD

COLUMNS = 10
ID, FORM, COARSE_TAG, TAG, HEAD, RELATION, MISC = 0, 1, 3, 4, 6, 7, 9
HEAD_LABEL = re.compile(r"\s*(?P<word>\S+)\s+(?P<head>[0-9]+)-(?P<relation>\S+)\s*")

Row = tuple[int, list[str]]
"""The line number of a word, from 1, and its columns."""

_DOCUMENT_MARK = re.compile(r"#\s*newdoc(\s|$)")
_CONLLU_PLUS = re.compile(r"#\s*global\.columns\s*=")
_RANGE = re.compile(r"([1-9][0-9]{0,8})-([1-9][0-9]{0,8})")
_EMPTY_NODE = re.compile(r"[0-9]+\.[1-9][0-9]*")


def read_conllu(path: Path) -> Iterator[Sentence]:
    """Stream the sentences of a CoNLL-U file; one without a tree has the heads NO_TREE."""
    return _read_columns(path, "CoNLL-U")


def read_conllx(path: Path) -> Iterator[Sentence]:
    """Stream the sentences of a CoNLL-X file; one without a tree has the heads NO_TREE."""
    return _read_columns(path, "CoNLL-X")


def read_head_label(path: Path) -> Iterator[Sentence]:
    """Stream the sentences of a head-label file."""
    starts_document = False
    for block in read_blocks(path):
        rows = [(number, line) for number, line in block if not is_document_mark(line)]
        starts_document |= len(rows) < len(block)
        if rows:
            columns = [_split_head_label(line, path, number) for number, line in rows]
            words, heads, relations = zip(*columns, strict=True)
            lines = [number for number, _ in rows]
            yield _sentence(path, lines, words, heads, relations, ("",) * len(rows), starts_document)
            starts_document = False


def read_rows(path: Path, layout: Literal["CoNLL-U", "CoNLL-X"]) -> Iterator[tuple[list[str], list[Row], list[Row]]]:
    """Stream the comments, words and multiword tokens of each sentence; in CoNLL-U, empty nodes among the words.

    Comments that stand alone between two empty lines belong to the sentence after them.
    """
    comments: list[str] = []
    extent = Extent(path, LARGEST_RECORD, "These lines are only comments: add the sentences they belong to.")
    for block in read_blocks(path):
        for number, line in block:
            if line.startswith("#"):
                if layout == "CoNLL-U" and _CONLLU_PLUS.match(line):
                    raise CorpusError("is CoNLL-U Plus. Convert it to the ten columns of CoNLL-U.", path, number)
                extent.add(number, line)
                comments.append(line)
        lines = [(number, line) for number, line in block if not line.startswith("#")]
        if lines:
            yield comments, *_split_rows(lines, path, layout)
            comments = []
            extent.restart()


def is_document_mark(line: str) -> bool:
    """Whether the line is a comment that starts a document: `# newdoc`, `# newdoc id = weblog-1`."""
    return _DOCUMENT_MARK.match(line) is not None


def is_empty_node(row: Row) -> bool:
    """Whether a row of CoNLL-U is a node that was never written."""
    return "." in row[1][ID]


def read_head_column(heads: Sequence[str], lines: Sequence[int], path: Path) -> tuple[int, ...]:
    """Turn heads as files write them into indices from 0, or ROOT; all are NO_TREE where the file gives none."""
    if all(head == "_" for head in heads):
        return (NO_TREE,) * len(heads)
    return tuple(_head_index(head, len(heads), path, line) for head, line in zip(heads, lines, strict=True))


def _read_columns(path: Path, layout: Literal["CoNLL-U", "CoNLL-X"]) -> Iterator[Sentence]:
    for comments, rows, ranges in read_rows(path, layout):
        words = [row for row in rows if not is_empty_node(row)]
        columns = [row for _, row in words]
        classes = tuple(word_class(row[COARSE_TAG], row[TAG]) for row in columns)
        yield _sentence(
            path,
            lines=[number for number, _ in words],
            words=[row[FORM] for row in columns],
            heads=[row[HEAD] for row in columns],
            relations=[row[RELATION] for row in columns],
            tags=[next((tag for tag in (row[TAG], row[COARSE_TAG]) if tag not in ("_", "")), "") for row in columns],
            starts_document=any(map(is_document_mark, comments)),
            classes=classes if any(classes) else (),
            multiword=tuple(_multiword(row, columns) for _, row in ranges),
        )


def _multiword(row: Sequence[str], words: Sequence[Sequence[str]]) -> tuple[str, str]:
    """A multiword token as it is written, and its words."""
    first, last = map(int, row[ID].split("-"))
    return row[FORM], " ".join(word[FORM] for word in words[first - 1 : last])


def _sentence(
    path: Path,
    lines: Sequence[int],
    words: Sequence[str],
    heads: Sequence[str],
    relations: Sequence[str],
    tags: Sequence[str],
    starts_document: bool,
    classes: tuple[str, ...] = (),
    multiword: tuple[tuple[str, str], ...] = (),
) -> Sentence:
    return Sentence(
        id="",
        path=path,
        line=lines[0],
        words=tuple(words),
        heads=read_head_column(heads, lines, path),
        relations=tuple(relations),
        tags=tuple(tags),
        starts_document=starts_document,
        word_lines=tuple(lines),
        classes=classes,
        multiword=multiword,
    )


def _split_rows(lines: Block, path: Path, layout: str) -> tuple[list[Row], list[Row]]:
    rows: list[Row] = []
    ranges: list[Row] = []
    words = 0
    for number, line in lines:
        columns = _split_columns(line, path, number, layout)
        name = columns[ID]
        if layout == "CoNLL-U" and _is_range(name):
            ranges.append((number, columns))
            continue
        if layout != "CoNLL-U" or not _EMPTY_NODE.fullmatch(name):
            words += 1
            if name != str(words):
                problem = f"is word {name[:20]!r}, but word {words} should follow"
                remedy = "Number words from 1, and put an empty line between sentences"
                raise CorpusError(f"{problem}. {remedy}.", path, number)
        rows.append((number, columns))
    if not words:
        raise CorpusError("starts a sentence without a word. Add its words, numbered from 1.", path, lines[0][0])
    return rows, ranges


def _split_columns(line: str, path: Path, number: int, layout: str) -> list[str]:
    columns = line.split("\t")
    if len(columns) == 1 and len(line.split()) >= COLUMNS - 2:
        problem = f"has columns separated by spaces, but {layout} separates them by tabs"
        raise CorpusError(f"{problem}. Convert it: sed -E 's/ +/\\t/g' FILE > NEW.", path, number)
    if len(columns) != COLUMNS:
        problem = f"has {len(columns)} columns, but {layout} has {COLUMNS}. Put _ in each column that has no value."
        raise CorpusError(problem, path, number)
    if not columns[FORM]:
        raise CorpusError("has an empty word. Give the word in the second column.", path, number)
    return columns


def _is_range(name: str) -> bool:
    ends = _RANGE.fullmatch(name)
    return ends is not None and int(ends[1]) <= int(ends[2])


def _split_head_label(line: str, path: Path, number: int) -> tuple[str, str, str]:
    row = HEAD_LABEL.fullmatch(line)
    if row is None:
        problem = f"reads {line.strip()[:60]!r}. Give a word, a space, and its head and label: dogs 2-nsubj."
        raise CorpusError(problem, path, number)
    return row["word"], row["head"], row["relation"]


def _head_index(text: str, words: int, path: Path, line: int) -> int:
    if text == "_":
        raise CorpusError("has no head, while other words of the sentence have one. Add its head.", path, line)
    if not re.fullmatch("[0-9]{1,9}", text):
        problem = f"the head {text[:20]!r} is not a number. Give the number of a word, or 0 for the root."
        raise CorpusError(problem, path, line)
    if int(text) > words:
        problem = f"the head is word {text}, but the sentence has only {words}. Correct it, or use 0 for the root."
        raise CorpusError(problem, path, line)
    return int(text) - 1 if int(text) else ROOT
