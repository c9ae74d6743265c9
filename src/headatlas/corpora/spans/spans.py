"""Texts with labelled spans, or pairs of spans, which edge probes are trained and scored on (Tenney et al. 2019).

Three kinds of files contain them directly:

- entities in columns (WNUT-17, CoNLL-2003 and many others): a word per line with ``B-TYPE``, ``I-TYPE`` or ``O`` in the
  last column, an empty line between texts. An entity begins at ``B-TYPE``, and at an ``I-TYPE`` that continues none of
  that type (the older IOB1). The span is given, its type asked;
- marked relations (SemEval-2010 task 8): ``NUMBER TAB "a <e1>text</e1> with <e2>two spans</e2>"``, the relation on the
  next line, and comments up to an empty line. Marks may stand within a word and then split it;
- edge probing data as jiant reads it: JSON lines such as
  ``{"text": "He smoked Toronto", "targets": [{"span1": [2, 3], "label": "ORG"}]}``. Words are separated by spaces, and
  spans count them from 0, the end not included. With ``span2`` a target has two spans; ``label`` may be a list.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from headatlas.corpora.files import Block, read_blocks, read_lines
from headatlas.corpora.rows import json_object
from headatlas.errors import CorpusError

BIO_TAG = re.compile(r"O|[BI]-\S+")
_NEW_DOCUMENT = "-DOCSTART-"
_MARKED_LINE = re.compile(r"\s*\d+\t(.*)")
_MARKED_PIECE = re.compile(r"</?e[12]>|\w+(?:'\w+)?|[^\w\s]")
_MARKS = ("<e1>", "</e1>", "<e2>", "</e2>")

Span = tuple[int, int]
"""First word, from 0, and one past the last."""


@dataclass(frozen=True)
class Target:
    """One or two spans of a text and their label."""

    spans: tuple[Span, ...]
    labels: tuple[str, ...]  # one, unless the task allows several or none
    line: int | None  # of the file, from 1, if known


@dataclass(frozen=True)
class SpanText:
    """The words of a text with its targets, by task."""

    id: str  # "file.document.text", each from 0 in reading order
    path: Path
    words: tuple[str, ...]
    targets: Mapping[str, tuple[Target, ...]]


def read_bio(path: Path, file: int, task: str) -> Iterator[SpanText]:
    """Stream the texts of a file with entities in columns; file: its number in their ids."""
    document = number = 0
    for block in read_blocks(path):
        rows = [(line, *_split_bio(text, path, line)) for line, text in block]
        if rows[0][1].startswith(_NEW_DOCUMENT):
            document, number = document + (number > 0), 0
            rows = rows[1:]
        if rows:
            words = tuple(word for _, word, _ in rows)
            targets = tuple(_entities([(line, tag) for line, _, tag in rows]))
            yield SpanText(f"{file}.{document}.{number}", path, words, {task: targets})
            number += 1


def read_marked_relations(path: Path, file: int, task: str) -> Iterator[SpanText]:
    """Stream the texts of a file with marked relations; file: its number in their ids."""
    for number, block in enumerate(read_blocks(path)):
        line, text = block[0]
        numbered = _MARKED_LINE.fullmatch(text)
        if not numbered:
            problem = 'is not a marked text. Give: NUMBER, a tab, "a <e1>marked</e1> <e2>text</e2>".'
            raise CorpusError(problem, path, line)
        if len(block) < 2 or block[1][1].startswith("Comment"):
            raise CorpusError("has no relation. Give it on the line after the text.", path, line)
        words, spans = _split_marked(numbered[1].removeprefix('"').rstrip().removesuffix('"'), path, line)
        relation = block[1][1].strip()
        yield SpanText(f"{file}.{number}.0", path, words, {task: (Target(spans, (relation,), line),)})


def is_marked(line: str) -> bool:
    """Whether a line is a text with marked spans."""
    return bool(_MARKED_LINE.fullmatch(line.rstrip("\r\n"))) and all(mark in line for mark in _MARKS)


def read_jiant(path: Path, file: int, task: str) -> Iterator[SpanText]:
    """Stream the texts of a file of edge probing data; file: its number in their ids."""
    number = 0
    for line, raw in read_lines(path):
        if not raw.strip():
            continue
        record = json_object(raw, path, line)
        text, targets = record.get("text"), record.get("targets")
        if not isinstance(text, str) or not text.strip():
            raise CorpusError("has no text. Give a string with words.", path, line)
        if not isinstance(targets, list) or not all(isinstance(target, dict) for target in targets):
            raise CorpusError('has no targets. Give a list of {"span1": [0, 1], "label": "..."}.', path, line)
        words = tuple(text.split())
        labelled = tuple(_jiant_target(target, len(words), path, line) for target in targets)
        yield SpanText(f"{file}.{number}.0", path, words, {task: labelled})
        number += 1


def _split_bio(text: str, path: Path, line: int) -> tuple[str, str]:
    columns = text.split("\t") if "\t" in text else text.split()
    if len(columns) < 2:
        raise CorpusError("has one column. Give a word and its tag: B-TYPE, I-TYPE or O.", path, line)
    word, tag = columns[0].strip(), columns[-1].strip()
    if not BIO_TAG.fullmatch(tag):
        raise CorpusError(f"the tag {tag[:20]!r} is not valid. Use B-TYPE, I-TYPE or O.", path, line)
    if not word:
        raise CorpusError("has an empty word. Give the word in the first column.", path, line)
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


def _split_marked(text: str, path: Path, line: int) -> tuple[tuple[str, ...], tuple[Span, Span]]:
    """The words, and the spans of e1 and e2 among them."""
    words: list[str] = []
    places: dict[str, int] = {}
    for piece in _MARKED_PIECE.findall(text):
        if piece not in _MARKS:
            words.append(piece)
        elif piece in places:
            raise CorpusError(f"has {piece} twice. Mark two spans, each once.", path, line)
        else:
            places[piece] = len(words)
    if missing := [mark for mark in _MARKS if mark not in places]:
        raise CorpusError(f"has no {missing[0]}. Mark both spans: <e1>...</e1> and <e2>...</e2>.", path, line)
    first, second = ((places[f"<{name}>"], places[f"</{name}>"]) for name in ("e1", "e2"))
    for name, (start, end) in (("e1", first), ("e2", second)):
        if start >= end:
            raise CorpusError(f"marks no word as {name}. Put <{name}> before and </{name}> after it.", path, line)
    return tuple(words), (first, second)


def _jiant_target(target: dict[str, object], words: int, path: Path, line: int) -> Target:
    spans = tuple(_jiant_span(name, target[name], path, line) for name in ("span1", "span2") if name in target)
    if "span1" not in target:
        raise CorpusError("has a target without span1. Give its first word and one past its last.", path, line)
    _check_spans(spans, words, path, line)
    label = target.get("label")
    labels: Sequence[object] = label if isinstance(label, list) else [label]
    if not all(isinstance(name, str | int) and not isinstance(name, bool) for name in labels):
        problem = f"has a target with the label {str(label)[:40]}. Give a string, or a list of them."
        raise CorpusError(problem, path, line)
    return Target(spans, tuple(dict.fromkeys(map(str, labels))), line)


def _jiant_span(name: str, span: object, path: Path, line: int) -> Span:
    if not isinstance(span, list) or len(span) != 2 or not all(type(end) is int for end in span):
        raise CorpusError(f"has the {name} {str(span)[:40]}. Give two whole numbers, [first, end].", path, line)
    return span[0], span[1]


def _check_spans(spans: Sequence[Span], words: int, path: Path, line: int) -> None:
    for start, end in spans:
        if not 0 <= start < end <= words:
            problem = (
                f"the span from word {start} to {end} (the end not included) is not within its text of {words} words. "
                "Count words from 0, and give each span at least one."
            )
            raise CorpusError(problem, path, line)
