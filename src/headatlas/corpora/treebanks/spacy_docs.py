"""spaCy's `Doc` and its file format, the DocBin (``.spacy``): parsed text, gold or predicted.

Tokens of white space, which spaCy keeps so that no character is lost, are not words: they are dropped, and what hangs
on one hangs on its head instead. A DocBin holds msgpack, whose reading runs no code; the free-form data it may carry
beside the annotation are not unpacked at all. It has no lines: in sentences and errors the line is the document's
number, from 1.
"""

from __future__ import annotations

import gc
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headatlas.corpora.treebanks.checks import FoundTree, make_sentence
from headatlas.corpora.treebanks.sentence import ROOT, Sentence
from headatlas.errors import CorpusError, SettingError
from headatlas.limits import LARGEST_DOC_BIN, RAISE

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

_CHUNK_BYTES = 1 << 20
_MAGIC = b"x\x9c"  # zlib at its usual strength; no UTF-8 text begins so


def import_spacy() -> Any:
    """The `spacy` package, which is an extra."""
    try:
        import spacy
    except ImportError as error:
        raise SettingError('This needs spaCy. Install it: pip install "headatlas[spacy]".') from error
    return spacy


def is_doc_bin(path: Path) -> bool:
    """Whether the file's first bytes are a DocBin's."""
    try:
        with path.open("rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError as error:
        raise CorpusError(f"cannot be read ({error.strerror or error}). Check the path.", path) from error


def read_doc_bin(path: Path) -> Iterator[FoundTree]:
    """The sentences of a ``.spacy`` file, each Doc a document."""
    spacy = import_spacy()
    try:
        _refuse_too_large(path)
        doc_bin = _load(path, spacy)
        doc_bin.user_data = []
        doc_bin.span_groups = [b""] * len(doc_bin)
        for number, doc in enumerate(doc_bin.get_docs(spacy.blank("xx").vocab), start=1):
            yield from find_trees(doc, path, number, starts_document=True)
    except CorpusError:
        raise
    except OSError as error:
        raise CorpusError(f"cannot be read ({error.strerror or error}). Check the path.", path) from error
    except Exception as error:  # damaged msgpack fails in many ways, some of them when a token is looked at
        problem = f"is no DocBin of spaCy ({_first_line(error)}). Write it with DocBin(docs=docs).to_disk(FILE)."
        raise CorpusError(problem, path) from error


def from_doc(
    doc: Doc, document: str = "0.0", path: Path = Path("doc"), left_out: Counter[str] | None = None
) -> Iterator[Sentence]:
    """The sentences of a Doc you hold; `document` is its id, `path` the file that errors name.

    >>> import spacy
    >>> from spacy.tokens import Doc
    >>> doc = Doc(spacy.blank("en").vocab, ["She", "sleeps"], heads=[1, 1], deps=["nsubj", "ROOT"])
    >>> [(sentence.id, sentence.words, sentence.heads) for sentence in from_doc(doc)]
    [('0.0.0', ('She', 'sleeps'), (1, -1))]
    """
    for number, tree in enumerate(find_trees(doc, path)):
        sentence = make_sentence(tree, f"{document}.{number}", left_out)
        if sentence:
            yield sentence


def find_trees(doc: Doc, path: Path, line: int = 1, starts_document: bool = False) -> Iterator[FoundTree]:
    """The sentences of a Doc that hold a word, not yet numbered."""
    if not doc.has_annotation("DEP"):
        raise CorpusError("has no dependency tree. Parse it with a spaCy pipeline that has a parser.", path, line)
    for span in doc.sents:
        words = [token for token in span if not token.is_space]
        if words:
            yield _tree(words, path, line, starts_document)
            starts_document = False


def _tree(words: list[Token], path: Path, line: int, starts_document: bool) -> FoundTree:
    for token in words:
        if not token.dep_:
            raise CorpusError(f"the word {token.text!r} has no relation to its head. Give it one.", path, line)
    places = {token.i: place for place, token in enumerate(words)}
    outside = len(words)
    return FoundTree(
        path=path,
        lines=(line,) * len(words),
        starts_document=starts_document,
        words=tuple(token.text for token in words),
        heads=tuple(ROOT if (head := _head(token)) is None else places.get(head.i, outside) for token in words),
        relations=tuple(token.dep_ for token in words),
        tags=tuple(token.tag_ or token.pos_ for token in words),
    )


def _head(token: Token) -> Token | None:
    """The nearest head that is a word; None for a root, or what hangs on a root of white space."""
    climbed = {token.i}
    while token.head.i != token.i:
        token = token.head
        if not token.is_space or token.i in climbed:
            return token
        climbed.add(token.i)
    return None


def _refuse_too_large(path: Path) -> None:
    """Unpack piece by piece, keeping nothing, since a small file may unpack to more than the memory holds."""
    unpacker, size = zlib.decompressobj(), 0
    with path.open("rb") as file:
        while not unpacker.eof and (packed := unpacker.unconsumed_tail or file.read(_CHUNK_BYTES)):
            size += len(unpacker.decompress(packed, _CHUNK_BYTES))
            if size > LARGEST_DOC_BIN:
                problem = f"unpacks to more than {LARGEST_DOC_BIN:,} bytes. Write the docs to several smaller files."
                raise CorpusError(f"{problem} {RAISE}", path)


def _load(path: Path, spacy: Any) -> Any:
    """Unpack the file; where that fails, spaCy's unpacking would leave Python's garbage collection off."""
    collects_garbage = gc.isenabled()
    try:
        return spacy.tokens.DocBin().from_disk(path)
    finally:
        if collects_garbage:
            gc.enable()


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)[:120]
