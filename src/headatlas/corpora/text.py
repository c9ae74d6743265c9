"""Plain text, line by line, as documents (paper, section 3, Setup).

Three formats are read, all UTF-8, plain or gzipped, of any size:

- ``documents``: one sentence or paragraph per line, an empty line between documents;
- ``wikitext``: WikiText's raw files; a heading ``= Title =`` starts a document, empty lines mean nothing;
- ``paragraphs``: every line is a document, split into sentences where they seem to end.

``auto`` is ``wikitext`` if a file begins with such a heading, else ``documents``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Literal, get_args

from headatlas.corpora.files import at_least_one, each_once, read_lines

TextFormat = Literal["auto", "documents", "wikitext", "paragraphs"]
TEXT_FORMATS: tuple[str, ...] = get_args(TextFormat)

_TITLE = re.compile(r"^= (?!=).* =$")
_HEADING = re.compile(r"^= .* =$")
_WIKITEXT_MARK = re.compile(r" @([-,.])@ ")
_SENTENCE_END = re.compile(
    r"(?<=[.!?؟۔।])[\"'”’»)\]]*\s+(?=[\"'“‘„«(\[¿¡]*([^\W_]))"  # noqa: RUF001
    r"|(?<=[。！？])[”’」』）]*(?=[^。！？”’」』）])"  # noqa: RUF001
)


@dataclass(frozen=True)
class TextLine:
    """One line of a document: a sentence or a paragraph."""

    path: Path
    number: int  # line of the file, from 1
    document: int  # document of the file, from 0
    text: str


def read_text(paths: Iterable[Path], layout: TextFormat = "auto") -> Iterator[TextLine]:
    """Stream the lines of all documents in the files, in order.

    Headings and empty lines are structure, not text, and are not yielded.
    Raises CorpusError with file and line for anything that is not text.
    """
    for _, path in each_once(paths, "segments"):
        problem = "has no text. Give a UTF-8 file with one sentence or paragraph per line."
        yield from at_least_one(_read_file(path, layout), problem, path)


def has_two_lines(lines: Iterable[TextLine]) -> bool:
    """Whether any document has two lines; reads no further than the first that does."""
    return any((a.path, a.document) == (b.path, b.document) for a, b in pairwise(lines))


def split_sentences(paragraph: str) -> list[str]:
    """Split a paragraph after ``.``, ``!``, ``?`` and similar marks in other scripts, unless a small letter follows.

    There is no list of abbreviations: ``Dr. Smith`` is split in two.

    >>> split_sentences("It rained. Nobody minded! Why would they?")
    ['It rained.', 'Nobody minded!', 'Why would they?']
    """
    pieces = []
    start = 0
    for end in _SENTENCE_END.finditer(paragraph):
        if end[1] and end[1].islower():
            continue
        pieces.append(paragraph[start : end.end()].strip())
        start = end.end()
    pieces.append(paragraph[start:].strip())
    return [piece for piece in pieces if piece]


def _read_file(path: Path, layout: TextFormat) -> Iterator[TextLine]:
    document = 0
    document_has_text = False
    for number, raw in read_lines(path):
        text = _WIKITEXT_MARK.sub(r"\1", raw.strip())
        if layout == "auto" and text:
            layout = "wikitext" if _TITLE.match(text) else "documents"
        starts_document = bool(_TITLE.match(text)) if layout == "wikitext" else not text
        if starts_document and document_has_text:
            document += 1
            document_has_text = False
        if not text or (layout == "wikitext" and _HEADING.match(text)):
            continue
        if layout == "paragraphs":
            for sentence in split_sentences(text):
                yield TextLine(path, number, document, sentence)
            document += 1
            continue
        document_has_text = True
        yield TextLine(path, number, document, text)
