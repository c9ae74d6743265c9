"""The documents to find keyphrases in: plain texts, or a corpus with keyphrases to compare with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

from headatlas.commands.keyphrases.key_words import gold_stems
from headatlas.commands.keyphrases.phrases import Stems, Words, split_words
from headatlas.commands.keyphrases.reading import KeyphraseDocument
from headatlas.corpora.text import TextLine


@dataclass(frozen=True)
class Document:
    """A text in words, and its keyphrases according to people, if known."""

    id: str
    text: str
    words: Words
    gold: frozenset[Stems]


def with_keyphrases(documents: Iterable[KeyphraseDocument]) -> list[Document]:
    """Documents of a corpus, their keyphrases as stems, each once."""
    return [
        Document(document.id, document.text, split_words(document.text), gold_stems(document)) for document in documents
    ]


def of_texts(lines: Iterable[TextLine], left_out: Counter[str]) -> list[Document]:
    """Documents of plain text; those without a word are counted."""
    documents = []
    files: dict[object, int] = {}
    for (path, number), of_document in groupby(lines, key=lambda line: (line.path, line.document)):
        text = "\n".join(line.text for line in of_document)
        words = split_words(text)
        if len(words):
            documents.append(Document(f"{files.setdefault(path, len(files))}.{number}", text, words, frozenset()))
        else:
            left_out["document_without_words"] += 1
    return documents
