"""Relations between two marked spans, in the format of SemEval-2010 task 8.

``number TAB "a text with <e1>one</e1> and <e2>another</e2> span."``, the relation on the next line, and after it
comments up to an empty line. Marks may stand within a word; they part it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from headatlas.corpora.spans.spans import Span, SpanText, Target
from headatlas.corpora.treebanks.blocks import read_blocks
from headatlas.errors import CorpusError

_FIRST_LINE = re.compile(r"\s*\d+\t(.*)")
_PIECE = re.compile(r"</?e[12]>|\w+(?:'\w+)?|[^\w\s]")
_MARKS = ("<e1>", "</e1>", "<e2>", "</e2>")


def is_marked(line: str) -> bool:
    """Whether a line is a text with marks."""
    return bool(_FIRST_LINE.fullmatch(line.rstrip("\r\n"))) and all(mark in line for mark in _MARKS)


def read_marked_relations(path: Path, file: int, task: str) -> Iterator[SpanText]:
    """Stream the texts of one file; file is its number in their ids."""
    for number, block in enumerate(read_blocks(path)):
        line, text = block[0]
        found = _FIRST_LINE.fullmatch(text)
        if not found:
            raise CorpusError('is no marked text. Give: NUMBER, a tab, "a <e1>marked</e1> <e2>text</e2>".', path, line)
        if len(block) < 2 or block[1][1].startswith("Comment"):
            raise CorpusError("has no relation. Give it on the line after the text.", path, line)
        words, spans = _words(found[1].removeprefix('"').rstrip().removesuffix('"'), path, line)
        relation = block[1][1].strip()
        yield SpanText(f"{file}.{number}.0", path, words, {task: (Target(spans, (relation,), line),)})


def _words(text: str, path: Path, line: int) -> tuple[tuple[str, ...], tuple[Span, Span]]:
    """The words, and the spans of e1 and e2 among them."""
    words: list[str] = []
    places: dict[str, int] = {}
    for piece in _PIECE.findall(text):
        if piece not in _MARKS:
            words.append(piece)
        elif piece in places:
            raise CorpusError(f"has {piece} twice. Mark two spans, each once.", path, line)
        else:
            places[piece] = len(words)
    if missing := [mark for mark in _MARKS if mark not in places]:
        raise CorpusError(f"has no {missing[0]}. Mark both spans: <e1>...</e1> and <e2>...</e2>.", path, line)
    first, second = ((places[f"<e{one}>"], places[f"</e{one}>"]) for one in (1, 2))
    for name, (start, end) in (("e1", first), ("e2", second)):
        if start >= end:
            raise CorpusError(f"marks no word as {name}. Put <{name}> before and </{name}> after it.", path, line)
    return tuple(words), (first, second)
