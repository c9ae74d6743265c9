"""Coreference files as documents with mentions (paper, section 4.3).

Three formats are read, all UTF-8, plain or gzipped:

- ``conll2012``: the columns of the shared task (OntoNotes' ``*_conll`` and ``*_gold_conll``, OntoGUM, LitBank): word,
  part of speech and parse in columns 4 to 6, brackets in the last; or the five columns that its scorer needs: document,
  part, number, word and brackets. Each part of a document is a document, as in the shared task, since entities are
  numbered anew in each;
- ``corefud``: CoNLL-U with ``Entity=`` in its last column (CorefUD 1.x, GUM). ``# global.Entity`` names the fields
  within a bracket, such as ``eid-etype-head``; the entity is the field ``eid`` (GUM: ``GRP``), or the first if no field
  has that name. Mentions in several parts (``e1[1/2]``) and those on empty nodes alone, which a model does not read,
  are left out and counted;
- ``brackets``: number, word and brackets, separated by tabs, as in GUM's ``coref/conll``.

``auto`` tells them apart by the columns of the first word of a file.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from headatlas.corpora.coreference.brackets import BracketReader, Span
from headatlas.corpora.coreference.english_words import word_set
from headatlas.corpora.coreference.mention_heads import heads_from_parse, make_mentions
from headatlas.corpora.coreference.mentions import MentionDocument
from headatlas.corpora.files import Extent, each_once, read_lines, too_large
from headatlas.corpora.treebanks import columns as conllu
from headatlas.corpora.treebanks.sentence import NO_TREE
from headatlas.errors import CorpusError
from headatlas.limits import LARGEST_DOCUMENT, MOST_WORDS

CoreferenceFormat = Literal["auto", "conll2012", "corefud", "brackets"]
COREFERENCE_FORMATS: tuple[CoreferenceFormat, ...] = get_args(CoreferenceFormat)

_BEGIN = re.compile(r"#\s*begin document\b")
_END = re.compile(r"#\s*end document\b")
_NO_VALUE = frozenset({"-", "_", ""})  # marks of a column without a value
_FEWEST_COLUMNS, _SCORER_COLUMNS, _BRACKET_COLUMNS = 7, 5, 3
_WORD, _TAG, _PARSE = 3, 4, 5  # columns of CoNLL-2012

_FIELDS = re.compile(r"#\s*global\.Entity\s*=\s*(\S.*)")
_PART = re.compile(r"\[(\d+)/\d+\]$")
_PENN_TAGS = word_set(
    "CC CD DT EX FW IN JJ JJR JJS LS MD NN NNS NNP NNPS PDT POS PRP PRP$ RB RBR RBS RP SYM TO UH VB VBD VBG VBN VBP "
    "VBZ WDT WP WP$ WRB . , : `` '' -LRB- -RRB- $ # HYPH NFP ADD AFX GW XX"
)


def read_coreference(
    paths: Iterable[Path], layout: CoreferenceFormat = "auto", left_out: Counter[str] | None = None
) -> Iterator[MentionDocument]:
    """Stream the documents of all files, in order.

    Raises CorpusError with file and line for anything malformed. Mentions that a model could not read (in several
    parts, or on empty nodes) and repeated ones are not in the documents; left_out counts them by reason.
    """
    left_out = Counter() if left_out is None else left_out
    for file, path in each_once(paths, "documents"):
        mentions = 0
        for document in _READERS[detect_format(path) if layout == "auto" else layout](path, file, left_out):
            mentions += len(document.mentions)
            yield document
        if not mentions:
            raise CorpusError("has no coreferent mention. Give a file with coreference brackets.", path)


def detect_format(path: Path) -> CoreferenceFormat:
    """The format of a file by the columns of its first word, one of which contains the number of the word."""
    begins = False
    for number, line in read_lines(path):
        begins = begins or bool(_BEGIN.match(line))
        if line.startswith("#") or not line.strip():
            continue
        columns = _split_row(line)
        if len(columns) == _BRACKET_COLUMNS and columns[0].isdigit():
            return "brackets"
        if len(columns) == conllu.COLUMNS and not begins and columns[0][:1].isdigit():
            return "corefud"
        enough = len(columns) >= _FEWEST_COLUMNS or len(columns) == _SCORER_COLUMNS
        if enough and columns[2].isdigit():
            return "conll2012"
        problem = (
            f"is in none of the known coreference formats ({len(columns)} columns). Give CoNLL-2012 (12 or more, or 5, "
            "words numbered in the third), CorefUD (10, in the first) or number, word and brackets (3)."
        )
        raise CorpusError(problem, path, number)
    raise CorpusError("is empty. Give a file with words and coreference brackets.", path)


def read_conll2012(path: Path, file: int, left_out: Counter[str]) -> Iterator[MentionDocument]:
    """Stream the documents of a CoNLL-2012 file; file: its number in their ids."""
    for number, document in enumerate(_column_documents(path)):
        short = len(document.rows[0]) == _SCORER_COLUMNS
        for line, row in zip(document.lines, document.rows, strict=True):
            fits = len(row) == _SCORER_COLUMNS if short else len(row) >= _FEWEST_COLUMNS
            if not fits or not row[_WORD].strip():
                due = "5 in every line of this document" if short else "at least 7 or, in every line, 5"
                problem = f"has {len(row)} columns, or no word in the fourth. Give the columns of CoNLL-2012, {due}."
                raise CorpusError(problem, path, line)
        tags = ["" if short or row[_TAG] in _NO_VALUE else row[_TAG] for row in document.rows]
        heads = None if short else _heads(document, tags, path)
        yield document.with_mentions(f"{file}.{number}", path, _WORD, tags, heads, left_out)


def read_bracket_columns(path: Path, file: int, left_out: Counter[str]) -> Iterator[MentionDocument]:
    """Stream the documents of a file with number, word and brackets; file: its number in their ids."""
    for number, document in enumerate(_column_documents(path)):
        for line, row in zip(document.lines, document.rows, strict=True):
            if len(row) != _BRACKET_COLUMNS or not row[1].strip():
                problem = f"has {len(row)} columns, or no word in the second. Give number, word, brackets (_ for none)."
                raise CorpusError(problem, path, line)
        yield document.with_mentions(f"{file}.{number}", path, 1, [""] * len(document.rows), None, left_out)


def read_corefud(path: Path, file: int, left_out: Counter[str]) -> Iterator[MentionDocument]:
    """Stream the documents of a CorefUD file; file: its number in their ids."""
    document = _CorefudDocument(path, entity_field=0)
    number = 0
    for comments, rows, _ in conllu.read_rows(path, "CoNLL-U"):
        if document.words and any(map(conllu.is_document_mark, comments)):
            yield document.finish(f"{file}.{number}", left_out)
            document = _CorefudDocument(path, document.entity_field)
            number += 1
        for fields in filter(None, map(_FIELDS.match, comments)):
            names = fields[1].strip().split("-")
            document.entity_field = next((place for place, name in enumerate(names) if name in ("eid", "GRP")), 0)
        document.add(rows)
    if document.words:
        yield document.finish(f"{file}.{number}", left_out)


@dataclass
class _ColumnDocument:
    """The rows of one document, one word each."""

    lines: list[int] = field(default_factory=list)  # of each row, from 1
    rows: list[list[str]] = field(default_factory=list)
    sentences: list[int] = field(default_factory=list)  # first row of each sentence

    def with_mentions(
        self, name: str, path: Path, word_column: int, tags: list[str], heads: list[int] | None, left_out: Counter[str]
    ) -> MentionDocument:
        """The document under its id, with the mentions that the brackets in the last column mark."""
        brackets = BracketReader(path)
        for word, (line, row) in enumerate(zip(self.lines, self.rows, strict=True)):
            if row[-1].strip() not in _NO_VALUE:
                brackets.read(row[-1].strip(), word, word + 1, line)
        words = tuple(row[word_column] for row in self.rows)
        mentions = make_mentions(brackets.spans(left_out), words, tags, self.sentences, heads)
        return MentionDocument(name, path, self.lines[0], words, tuple(tags), tuple(self.sentences), mentions)


def _column_documents(path: Path) -> Iterator[_ColumnDocument]:
    """Stream the documents of a file that have a word; without a line ``#begin document`` it is one document.

    An empty line ends a sentence, and other lines that begin with # are comments.
    """
    document = _ColumnDocument()
    sentence_ended = True
    extent = Extent(path, LARGEST_DOCUMENT, "Put a line #begin document before each document.")
    for number, line in read_lines(path):
        if not line.strip():
            sentence_ended = True
        elif _BEGIN.match(line) or _END.match(line):
            if document.rows:
                yield document
            document = _ColumnDocument()
            extent.restart()
            sentence_ended = True
        elif not line.startswith("#"):
            if sentence_ended:
                document.sentences.append(len(document.rows))
            sentence_ended = False
            extent.add(number, line)
            document.lines.append(number)
            document.rows.append(_split_row(line))
    if document.rows:
        yield document


def _split_row(line: str) -> list[str]:
    """Split a row by tabs if there are any, since a column may then be empty, else by spaces."""
    return line.rstrip("\r\n").split("\t") if "\t" in line else line.split()


def _heads(document: _ColumnDocument, tags: list[str], path: Path) -> list[int]:
    """The head of each of the document's words from the parse column, NO_TREE where it is empty."""
    heads: list[int] = []
    for start, end in zip(document.sentences, [*document.sentences[1:], len(document.rows)], strict=True):
        try:
            parsed = heads_from_parse([row[_PARSE] for row in document.rows[start:end]], tags[start:end])
        except ValueError as error:
            problem = f"the parse of the sentence that begins here fails: {error}. Correct column 6, or put * in it."
            raise CorpusError(problem, path, document.lines[start]) from error
        heads += _shift(parsed or (NO_TREE,) * (end - start), start)
    return heads


def _shift(heads: Iterable[int], start: int) -> list[int]:
    """Count the heads of a sentence from the first word of its document; ROOT and NO_TREE stay."""
    return [head + start if head >= 0 else head for head in heads]


class _CorefudDocument:
    """One document of a CorefUD file, read sentence by sentence."""

    def __init__(self, path: Path, entity_field: int) -> None:
        self.entity_field = entity_field
        self.words: list[str] = []
        self._path = path
        self._line = 0
        self._tags: list[str] = []
        self._heads: list[int] = []
        self._sentences: list[int] = []
        self._brackets = BracketReader(path, self._entity)

    def add(self, rows: list[conllu.Row]) -> None:
        """Take in a sentence, with the brackets of its words and empty nodes in their order."""
        words = [row for row in rows if not conllu.is_empty_node(row)]
        start = len(self.words)
        self._line = self._line or words[0][0]
        if start + len(words) > MOST_WORDS:
            remedy = "Put a comment # newdoc before each document."
            raise too_large("begins a document of", f"{MOST_WORDS:,} words", remedy, self._path, self._line)
        heads = conllu.read_head_column([row[conllu.HEAD] for _, row in words], [line for line, _ in words], self._path)
        self._sentences.append(start)
        self._heads += _shift(heads, start)
        for row in rows:
            line, columns = row
            before = len(self.words)
            if not conllu.is_empty_node(row):
                self.words.append(columns[conllu.FORM])
                self._tags.append(_tag(columns[conllu.TAG], columns[conllu.COARSE_TAG]))
            if brackets := _misc(columns[conllu.MISC]).get("Entity"):
                self._brackets.read(brackets, before, len(self.words), line)

    def finish(self, name: str, left_out: Counter[str]) -> MentionDocument:
        """The document under its id."""
        spans = _readable(self._brackets.spans(left_out), left_out)
        mentions = make_mentions(spans, self.words, self._tags, self._sentences, self._heads)
        words, tags = tuple(self.words), tuple(self._tags)
        return MentionDocument(name, self._path, self._line, words, tags, tuple(self._sentences), mentions)

    def _entity(self, inside: str) -> str:
        """The entity among the fields of a bracket; a closing bracket may contain it alone."""
        fields = inside.split("-")
        return fields[self.entity_field] if self.entity_field < len(fields) else fields[0]


def _misc(column: str) -> dict[str, str]:
    """The last column of CoNLL-U: ``SpaceAfter=No|Entity=(1)``."""
    parts = (part.partition("=") for part in column.split("|"))
    return {key: value for key, _, value in parts}


def _readable(spans: list[Span], left_out: Counter[str]) -> Iterator[Span]:
    """The spans in one part that contain a word; the others are counted."""
    for span in spans:
        part = _PART.search(span.entity)
        if part and part[1] == "1":
            left_out["mention_in_several_parts"] += 1
        elif not part and span.start == span.end:
            left_out["mention_on_empty_node"] += 1
        elif not part:
            yield span


def _tag(tag: str, universal: str) -> str:
    """The Penn Treebank's part of speech if the file has it, else the universal one, else any other."""
    if tag in _PENN_TAGS:
        return tag
    return next((name for name in (universal, tag) if name not in ("_", "")), "")


_READERS: dict[CoreferenceFormat, Callable[[Path, int, Counter[str]], Iterator[MentionDocument]]] = {
    "conll2012": read_conll2012,
    "corefud": read_corefud,
    "brackets": read_bracket_columns,
}
