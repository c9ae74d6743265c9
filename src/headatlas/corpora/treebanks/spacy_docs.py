"""spaCy's `Doc` and its file format, the DocBin (``.spacy``): parsed text, gold or predicted.

Whitespace tokens, which spaCy keeps so that no character is lost, are not words: they are dropped, and their dependents
move to their heads. A DocBin contains msgpack, which runs no code when it is read; the free-form data it may carry
beside the annotation are not unpacked at all. It has no lines: in sentences and errors the line is the number of the
document, from 1.
"""

from __future__ import annotations

import gc
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headatlas.corpora.lines import too_large
from headatlas.corpora.treebanks.sentence import ROOT, Sentence
from headatlas.errors import CorpusError, SettingError, first_line
from headatlas.limits import LARGEST_DOC_BIN

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

_CHUNK_BYTES = 1 << 20
_MAGIC = b"x\x9c"  # zlib at its default level; no UTF-8 text begins like this


def import_spacy() -> Any:
    """The `spacy` package, which is an extra."""
    try:
        import spacy
    except ImportError as error:
        raise SettingError('This needs spaCy. Install it: pip install "headatlas[spacy]".') from error
    return spacy


def is_doc_bin(path: Path) -> bool:
    """Whether the file begins like a DocBin."""
    try:
        with path.open("rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError as error:
        raise CorpusError(f"cannot be read ({error.strerror or error}). Check the path.", path) from error


def read_doc_bin(path: Path) -> Iterator[Sentence]:
    """Stream the sentences of a ``.spacy`` file; each Doc is a document."""
    spacy = import_spacy()
    try:
        _refuse_too_large(path)
        doc_bin = _load(path, spacy)
        doc_bin.user_data = []
        doc_bin.span_groups = [b""] * len(doc_bin)
        for number, doc in enumerate(doc_bin.get_docs(spacy.blank("xx").vocab), start=1):
            yield from read_doc(doc, path, number, starts_document=True)
    except CorpusError:
        raise
    except OSError as error:
        raise CorpusError(f"cannot be read ({error.strerror or error}). Check the path.", path) from error
    except Exception as error:  # damaged msgpack fails in many ways, some only when a token is read
        problem = f"is not a valid DocBin ({first_line(error)[:120]}). Write it with DocBin(docs=docs).to_disk(FILE)."
        raise CorpusError(problem, path) from error


def read_doc(doc: Doc, path: Path, line: int = 1, starts_document: bool = False) -> Iterator[Sentence]:
    """The sentences of a Doc that contain a word, not yet numbered. path, line: how errors name the Doc."""
    if not doc.has_annotation("DEP"):
        raise CorpusError("has no dependency tree. Parse it with a spaCy pipeline that has a parser.", path, line)
    for span in doc.sents:
        words = [token for token in span if not token.is_space]
        if words:
            yield _sentence(words, path, line, starts_document)
            starts_document = False


def _sentence(words: list[Token], path: Path, line: int, starts_document: bool) -> Sentence:
    for token in words:
        if not token.dep_:
            raise CorpusError(f"the word {token.text!r} has no relation to its head. Add one.", path, line)
    places = {token.i: place for place, token in enumerate(words)}
    outside = len(words)
    return Sentence(
        id="",
        path=path,
        line=line,
        words=tuple(token.text for token in words),
        heads=tuple(ROOT if (head := _head(token)) is None else places.get(head.i, outside) for token in words),
        relations=tuple(token.dep_ for token in words),
        tags=tuple(token.tag_ or token.pos_ for token in words),
        starts_document=starts_document,
    )


def _head(token: Token) -> Token | None:
    """The nearest head that is a word; None for a root, or a dependent of a whitespace root."""
    climbed = {token.i}
    while token.head.i != token.i:
        token = token.head
        if not token.is_space or token.i in climbed:
            return token
        climbed.add(token.i)
    return None


def _refuse_too_large(path: Path) -> None:
    """Unpack piece by piece without keeping anything, since a small file may unpack to more than fits in memory."""
    unpacker, size = zlib.decompressobj(), 0
    with path.open("rb") as file:
        while not unpacker.eof and (packed := unpacker.unconsumed_tail or file.read(_CHUNK_BYTES)):
            size += len(unpacker.decompress(packed, _CHUNK_BYTES))
            if size > LARGEST_DOC_BIN:
                remedy = "Write the docs to several smaller files."
                raise too_large("unpacks to", f"{LARGEST_DOC_BIN:,} bytes", remedy, path)


def _load(path: Path, spacy: Any) -> Any:
    """Unpack the file; if that fails, spaCy would leave Python's garbage collection off."""
    collects_garbage = gc.isenabled()
    try:
        return spacy.tokens.DocBin().from_disk(path)
    finally:
        if collects_garbage:
            gc.enable()
