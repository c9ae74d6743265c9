"""Plain bracket columns, as in GUM's ``coref/conll``: number, word and brackets, separated by tabs, one word a line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from headatlas.corpora.coreference.brackets import BracketReader
from headatlas.corpora.coreference.column_documents import NO_VALUE, read_column_documents
from headatlas.corpora.coreference.mention_heads import make_mentions
from headatlas.corpora.coreference.mentions import MentionDocument
from headatlas.errors import CorpusError

COLUMNS = 3


def read_bracket_columns(path: Path, file: int, left_out: Counter[str]) -> Iterator[MentionDocument]:
    """Stream the documents of one file; file is its number in their ids. Parts of speech and trees: `add_syntax`."""
    for number, document in enumerate(read_column_documents(path)):
        reader = BracketReader(path)
        for word, (line, row) in enumerate(zip(document.lines, document.rows, strict=True)):
            if len(row) != COLUMNS or not row[1].strip():
                problem = f"has {len(row)} columns, or no word in the second. Give number, word, brackets (_ for none)."
                raise CorpusError(problem, path, line)
            if row[2].strip() not in NO_VALUE:
                reader.read(row[2].strip(), word, word + 1, line)
        words = tuple(row[1] for row in document.rows)
        tags = ("",) * len(words)
        mentions = make_mentions(reader.spans(left_out), words, tags, document.sentences)
        sentences = tuple(document.sentences)
        yield MentionDocument(f"{file}.{number}", path, document.lines[0], words, tags, sentences, mentions)
