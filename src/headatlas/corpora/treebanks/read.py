"""Treebanks: sentences with a dependency tree (paper, section 4.2), from files of several formats.

- ``conllu``: CoNLL-U, the format of Universal Dependencies;
- ``conllx``: CoNLL-X, ten columns without ranges, in which Stanford Dependencies are usually distributed;
- ``head-label``: ``word head-label`` per line, the format of the paper's released code;
- ``spacy``: a spaCy DocBin.

``auto`` looks at the first sentence and, if two formats fit it, at the name of the file. A file that marks no
documents is one document. Text without a treebank can be parsed: see `spacy_docs`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Literal, get_args

from headatlas.corpora.files import at_least_one, cannot_read, each_once, read_blocks
from headatlas.corpora.treebanks.columns import COLUMNS, HEAD_LABEL, read_conllu, read_conllx, read_head_label
from headatlas.corpora.treebanks.sentence import NO_TREE, UNIVERSAL_TAGS, Sentence, is_tree
from headatlas.corpora.treebanks.spacy_docs import read_doc_bin
from headatlas.errors import CorpusError

TreebankFormat = Literal["auto", "conllu", "conllx", "head-label", "spacy"]
_DOC_BIN = b"x\x9c"  # zlib at its default level; no UTF-8 text begins like this
TREEBANK_FORMATS: tuple[str, ...] = get_args(TreebankFormat)


def read_treebank(
    paths: Iterable[Path], layout: TreebankFormat = "auto", left_out: Counter[str] | None = None
) -> Iterator[Sentence]:
    """Stream the sentences of all files, in order.

    A sentence whose heads do not form a tree is counted in `left_out` by reason and keeps its number, so that the ids
    of the others do not depend on it; without `left_out` it raises. Anything malformed raises CorpusError.
    """
    for file, path in each_once(paths, "sentences"):
        document = number = 0
        sentences = _READERS[_detect(path) if layout == "auto" else layout](path)
        problem = "has no sentence. Give a treebank: one word per line, with its head."
        for sentence in at_least_one(sentences, problem, path):
            if NO_TREE in sentence.heads:
                problem = "the sentence has no dependency tree: all its heads are _. Use a file with heads."
                raise CorpusError(problem, path, sentence.line)
            if sentence.starts_document and number:
                document += 1
                number = 0
            if is_tree(sentence, left_out):
                yield replace(sentence, id=f"{file}.{document}.{number}")
            number += 1


def _detect(path: Path) -> str:
    """The format of a file by its first sentence; any for an empty file, in which no reader finds a sentence."""
    if path.is_fifo():
        raise CorpusError("is a pipe, which can be read only once. Name its format instead of auto.", path)
    if path.suffix == ".spacy" or is_doc_bin(path):
        return "spacy"
    for block in read_blocks(path):
        for number, line in block:
            if HEAD_LABEL.fullmatch(line):
                return "head-label"
            if line.startswith("#"):
                continue
            if line.count("\t") == COLUMNS - 1:
                return _conllu_or_conllx(path, [row for _, row in block if not row.startswith("#")])
            if len(line.split()) == COLUMNS:
                return "conllu"  # whose reader says what is wrong with blanks between columns
            raise CorpusError(
                f"is in none of the known formats: {', '.join(TREEBANK_FORMATS[1:])}. Convert it, "
                "or name its format with --format treebank=NAME to see what is wrong with the line.",
                path,
                number,
            )
    return "conllu"


def is_doc_bin(path: Path) -> bool:
    """Whether the file begins like a DocBin."""
    try:
        with path.open("rb") as file:
            return file.read(len(_DOC_BIN)) == _DOC_BIN
    except OSError as error:
        raise cannot_read(path, error) from error


def _conllu_or_conllx(path: Path, rows: list[str]) -> str:
    """By name, else by whether the fourth column contains universal parts of speech."""
    suffixes = path.suffixes
    if ".conllu" in suffixes:
        return "conllu"
    if {".conllx", ".conll10", ".conll06"} & set(suffixes):
        return "conllx"
    tags = {row.split("\t")[3] for row in rows if row.count("\t") > 3}
    return "conllu" if tags <= UNIVERSAL_TAGS | {"_"} else "conllx"


_READERS: dict[str, Callable[[Path], Iterator[Sentence]]] = {
    "conllu": read_conllu,
    "conllx": read_conllx,
    "head-label": read_head_label,
    "spacy": read_doc_bin,
}
