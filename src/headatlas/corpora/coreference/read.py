"""Coreference files as documents with mentions (paper, 4.3).

Three layouts are read, all UTF-8, plain or gzipped:

- ``conll2012``: the columns of the shared task (OntoNotes' ``*_conll`` and ``*_gold_conll``, OntoGUM, LitBank), or the
  five that its scorer needs: document, part, number, word and brackets;
- ``corefud``: CoNLL-U with ``Entity=`` in its last column (CorefUD, GUM);
- ``brackets``: three columns, number, word and begin/end brackets.

``auto`` tells them apart by the columns of a file's first word.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Literal, get_args

from headatlas.corpora.coreference import bracket_columns, conll2012
from headatlas.corpora.coreference.bracket_columns import read_bracket_columns
from headatlas.corpora.coreference.column_documents import BEGIN, split_row
from headatlas.corpora.coreference.conll2012 import read_conll2012
from headatlas.corpora.coreference.corefud import read_corefud
from headatlas.corpora.coreference.mentions import MentionDocument
from headatlas.corpora.files import each_once
from headatlas.corpora.lines import read_lines
from headatlas.corpora.treebanks import blocks
from headatlas.errors import CorpusError

CoreferenceFormat = Literal["auto", "conll2012", "corefud", "brackets"]
COREFERENCE_FORMATS: tuple[CoreferenceFormat, ...] = get_args(CoreferenceFormat)

_READERS: dict[CoreferenceFormat, Callable[[Path, int, Counter[str]], Iterator[MentionDocument]]] = {
    "conll2012": read_conll2012,
    "corefud": read_corefud,
    "brackets": read_bracket_columns,
}


def read_coreference(
    paths: Iterable[Path], layout: CoreferenceFormat = "auto", left_out: Counter[str] | None = None
) -> Iterator[MentionDocument]:
    """Stream the documents of all files, in order.

    Raises CorpusError with file and line for what is malformed. What a model could not read (mentions in several parts
    or on empty nodes) or what is said twice is not in the documents; left_out counts it by reason.
    """
    counted = Counter[str]() if left_out is None else left_out
    for file, path in each_once(paths, "documents"):
        mentions = 0
        for document in _READERS[detect_format(path) if layout == "auto" else layout](path, file, counted):
            mentions += len(document.mentions)
            yield document
        if not mentions:
            raise CorpusError("holds no coreferent mention. Give a file with coreference brackets.", path)


def detect_format(path: Path) -> CoreferenceFormat:
    """The layout of a file by its first word's columns, one of which holds the word's number."""
    begins = False
    for number, line in read_lines(path):
        begins = begins or bool(BEGIN.match(line))
        if line.startswith("#") or not line.strip():
            continue
        columns = split_row(line)
        if len(columns) == bracket_columns.COLUMNS and columns[0].isdigit():
            return "brackets"
        if len(columns) == blocks.COLUMNS and not begins and columns[0][:1].isdigit():
            return "corefud"
        enough = len(columns) >= conll2012.FEWEST_COLUMNS or len(columns) == conll2012.SCORER_COLUMNS
        if enough and columns[2].isdigit():
            return "conll2012"
        problem = (
            f"is no coreference format ({len(columns)} columns). Give CoNLL-2012 (12 or more, or 5, words numbered in "
            "the third), CorefUD (10, in the first) or number, word and brackets (3)."
        )
        raise CorpusError(problem, path, number)
    raise CorpusError("is empty. Give a file with words and coreference brackets.", path)
