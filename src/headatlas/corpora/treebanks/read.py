"""Treebanks: sentences with a dependency tree (paper, section 4.2), from files of several formats.

- ``conllu``: CoNLL-U, the format of Universal Dependencies;
- ``conllx``: CoNLL-X, ten columns without ranges, as Stanford Dependencies are usually given;
- ``head-label``: ``word head-label`` a line, the format of the paper's released code;
- ``spacy``: a spaCy DocBin.

``auto`` looks at the first sentence and, where that leaves two formats, at the file's name. A file that marks no
documents is one document. Text without a treebank can be parsed: see `parsing`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Literal, get_args

from headatlas.corpora.files import each_once
from headatlas.corpora.treebanks.blocks import COLUMNS, read_blocks
from headatlas.corpora.treebanks.checks import FoundTree, make_sentence
from headatlas.corpora.treebanks.conllu import read_conllu
from headatlas.corpora.treebanks.conllx import read_conllx
from headatlas.corpora.treebanks.head_label import HEAD_LABEL, read_head_label
from headatlas.corpora.treebanks.sentence import Sentence
from headatlas.corpora.treebanks.spacy_docs import is_doc_bin, read_doc_bin
from headatlas.errors import CorpusError

TreebankFormat = Literal["auto", "conllu", "conllx", "head-label", "spacy"]
TREEBANK_FORMATS: tuple[str, ...] = get_args(TreebankFormat)

UNIVERSAL_TAGS = {
    "ADJ", "ADP", "ADV", "AUX", "CCONJ", "CONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN", "PUNCT",
    "SCONJ", "SYM", "VERB", "X", "_",
}  # fmt: skip


def read_treebank(
    paths: Iterable[Path], layout: TreebankFormat = "auto", left_out: Counter[str] | None = None
) -> Iterator[Sentence]:
    """Stream the sentences of all files, in order.

    A sentence whose heads form no tree (see `checks`) is counted in `left_out` by reason and keeps its number, so that
    the ids of the others do not depend on it; without `left_out` it raises. Anything malformed raises CorpusError.
    """
    for file, path in each_once(paths, "sentences"):
        document = number = 0
        found = False
        for tree in _READERS[_detect(path) if layout == "auto" else layout](path):
            if tree.starts_document and found:
                document += 1
                number = 0
            found = True
            sentence = make_sentence(tree, f"{file}.{document}.{number}", left_out)
            number += 1
            if sentence:
                yield sentence
        if not found:
            raise CorpusError("holds no sentence. Give a treebank: one word a line, with its head.", path)


def _detect(path: Path) -> str:
    """The format of a file by its first sentence; of an empty one any, since each reader finds nothing in it."""
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
            raise CorpusError(
                f"is in none of the formats known: {', '.join(TREEBANK_FORMATS[1:])}. Convert it, "
                "or name its format for a message on what is wrong with the line.",
                path,
                number,
            )
    return "conllu"


def _conllu_or_conllx(path: Path, rows: list[str]) -> str:
    """By name, else by whether the fourth column holds universal parts of speech."""
    suffixes = path.suffixes
    if ".conllu" in suffixes:
        return "conllu"
    if {".conllx", ".conll10", ".conll06"} & set(suffixes):
        return "conllx"
    return "conllu" if {row.split("\t")[3] for row in rows if row.count("\t") > 3} <= UNIVERSAL_TAGS else "conllx"


def _conllu_trees(path: Path) -> Iterator[FoundTree]:
    for found in read_conllu(path):
        if found.heads is None:
            problem = "the sentence has no dependency tree: all its heads are _. Give a file with heads, a parsed one."
            raise CorpusError(problem, path, found.lines[0])
        yield FoundTree(path, found.lines, found.starts_document, found.words, found.heads, found.relations, found.tags)


_READERS: dict[str, Callable[[Path], Iterator[FoundTree]]] = {
    "conllu": _conllu_trees,
    "conllx": read_conllx,
    "head-label": read_head_label,
    "spacy": read_doc_bin,
}
