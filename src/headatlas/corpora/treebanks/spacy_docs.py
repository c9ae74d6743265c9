"""Trees by spaCy: its file format, the DocBin (``.spacy``), and text that an installed pipeline parses.

Whitespace tokens, which spaCy keeps so that no character is lost, are not words: they are dropped, and their dependents
move to their heads. A DocBin contains msgpack, which runs no code when it is read; the free-form data it may carry
beside the annotation are not unpacked at all. It has no lines: in sentences and errors the line is the number of the
document, from 1.

Scores on text that a pipeline parsed include its mistakes, so use a treebank if there is one.
"""

from __future__ import annotations

import gc
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headatlas.corpora.files import cannot_read, too_large
from headatlas.corpora.text import TextLine
from headatlas.corpora.treebanks.sentence import ROOT, Sentence, is_tree, word_class
from headatlas.errors import CorpusError, SettingError, first_line
from headatlas.limits import LARGEST_DOC_BIN

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

LINES_AT_ONCE = 128
_CHUNK_BYTES = 1 << 20


def import_spacy() -> Any:
    """The `spacy` package, which is an extra."""
    try:
        import spacy
    except ImportError as error:
        raise SettingError('This needs spaCy. Install it: pip install "headatlas[spacy]".') from error
    return spacy


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
        raise cannot_read(path, error) from error
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


def parse_text(lines: Iterable[TextLine], pipeline: str, left_out: Counter[str] | None = None) -> Iterator[Sentence]:
    """Stream the parsed sentences of the lines; `pipeline` is the name of a spaCy pipeline or its folder.

    Sentences keep the document of their line and are numbered through each document. One whose heads do not form a
    tree is counted in `left_out`, without which it raises.
    """
    files: dict[Path, int] = {}
    next_number: Counter[str] = Counter()
    parser = load_parser(pipeline)
    for doc, line in parser.pipe(((line.text, line) for line in lines), as_tuples=True, batch_size=LINES_AT_ONCE):
        document = f"{files.setdefault(line.path, len(files))}.{line.document}"
        for sentence in read_doc(doc, line.path, line.number):
            if is_tree(sentence, left_out):
                yield replace(sentence, id=f"{document}.{next_number[document]}")
            next_number[document] += 1


def load_parser(pipeline: str) -> Any:
    """Load a spaCy pipeline by name or folder; it must have a dependency parser."""
    nlp = load_pipeline(pipeline)
    if not any("token.dep" in nlp.get_pipe_meta(name).assigns for name in nlp.pipe_names):
        parts = ", ".join(nlp.pipe_names) or "nothing"
        raise SettingError(
            f"The spaCy pipeline {pipeline} has no parser (it has {parts}). Use one that has, such as en_core_web_sm."
        )
    return nlp


def load_pipeline(pipeline: str) -> Any:
    """Load a spaCy pipeline by name or folder."""
    spacy = import_spacy()
    try:
        return spacy.load(pipeline)
    except OSError as error:
        if Path(pipeline).exists():
            problem = f"{pipeline} does not contain a spaCy pipeline. Give the folder with its config.cfg, or a name."
            raise SettingError(problem) from error
        raise SettingError(
            f"The spaCy pipeline {pipeline} is not installed. Install it: python -m spacy download {pipeline}; "
            "or give its folder."
        ) from error
    except (ImportError, ValueError) as error:
        problem = f"The spaCy pipeline {pipeline} cannot be loaded ({error}). Install what it needs, or fetch it again."
        raise SettingError(problem) from error


def _sentence(words: list[Token], path: Path, line: int, starts_document: bool) -> Sentence:
    for token in words:
        if not token.dep_:
            raise CorpusError(f"the word {token.text!r} has no relation to its head. Add one.", path, line)
    places = {token.i: place for place, token in enumerate(words)}
    outside = len(words)
    classes = tuple(word_class(token.pos_, token.tag_) for token in words)
    return Sentence(
        id="",
        path=path,
        line=line,
        words=tuple(token.text for token in words),
        heads=tuple(ROOT if (head := _head(token)) is None else places.get(head.i, outside) for token in words),
        relations=tuple(token.dep_ for token in words),
        tags=tuple(token.tag_ or token.pos_ for token in words),
        starts_document=starts_document,
        classes=classes if any(classes) else (),
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
