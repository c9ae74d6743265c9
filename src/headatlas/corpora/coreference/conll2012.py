"""CoNLL-2012 (OntoNotes, OntoGUM, LitBank): word, part of speech and parse in columns 4 to 6, brackets in the last.

What scores coreference reads less of it, and files made for that have five columns alone: document, part, number, word
and brackets. They are read as well, without parts of speech and trees.

Each part of a document is a document of its own, as in the shared task: entities are numbered anew in each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from headatlas.corpora.coreference.brackets import BracketReader
from headatlas.corpora.coreference.column_documents import NO_VALUE, ColumnDocument, read_column_documents
from headatlas.corpora.coreference.constituents import heads_from_parse
from headatlas.corpora.coreference.mention_heads import NO_TREE, make_mentions
from headatlas.corpora.coreference.mentions import MentionDocument
from headatlas.corpora.treebanks.sentence import ROOT
from headatlas.errors import CorpusError

FEWEST_COLUMNS = 7
SCORER_COLUMNS = 5
_WORD, _TAG, _PARSE = 3, 4, 5


def read_conll2012(path: Path, file: int, left_out: Counter[str]) -> Iterator[MentionDocument]:
    """Stream the documents of one file; file is its number in their ids."""
    for number, document in enumerate(read_column_documents(path)):
        yield _read_document(document, path, f"{file}.{number}", left_out)


def _read_document(document: ColumnDocument, path: Path, name: str, left_out: Counter[str]) -> MentionDocument:
    brackets = BracketReader(path)
    short = len(document.rows[0]) == SCORER_COLUMNS
    for number, (line, row) in enumerate(zip(document.lines, document.rows, strict=True)):
        fits = len(row) == SCORER_COLUMNS if short else len(row) >= FEWEST_COLUMNS
        if not fits or not row[_WORD].strip():
            due = "5 in every line of this document" if short else "at least 7 or, in every line, 5"
            problem = f"has {len(row)} columns, or no word in the fourth. Give the columns of CoNLL-2012, {due}."
            raise CorpusError(problem, path, line)
        if row[-1].strip() not in NO_VALUE:
            brackets.read(row[-1].strip(), number, number + 1, line)
    words = tuple(row[_WORD] for row in document.rows)
    tags = tuple("" if short or row[_TAG] in NO_VALUE else row[_TAG] for row in document.rows)
    heads = None if short else _heads(document, tags, path)
    mentions = make_mentions(brackets.spans(left_out), words, tags, document.sentences, heads)
    return MentionDocument(name, path, document.lines[0], words, tags, tuple(document.sentences), mentions)


def _heads(document: ColumnDocument, tags: tuple[str, ...], path: Path) -> list[int]:
    """The head of each of the document's words from the parse column, NO_TREE where it is empty."""
    heads: list[int] = []
    for start, end in zip(document.sentences, [*document.sentences[1:], len(document.rows)], strict=True):
        try:
            found = heads_from_parse([row[_PARSE] for row in document.rows[start:end]], tags[start:end])
        except ValueError as error:
            problem = f"the parse of the sentence that begins here fails: {error}. Correct column 6, or put * in it."
            raise CorpusError(problem, path, document.lines[start]) from error
        heads += [NO_TREE] * (end - start) if found is None else [h if h == ROOT else h + start for h in found]
    return heads
