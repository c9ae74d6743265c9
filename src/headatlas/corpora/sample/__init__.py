"""The embedded sample: original documents with syntax and coreference, shipped with the package (see README.md)."""

from __future__ import annotations

from pathlib import Path


def sample_text() -> Path:
    """The sample as plain text: one sentence per line, an empty line between documents."""
    return Path(__file__).with_name("sample.txt")


def sample_treebank() -> Path:
    """The sample as CoNLL-U, with dependency trees and, as `Entity=`, coreference."""
    return Path(__file__).with_name("sample.conllu")


def sample_corpora() -> dict[str, Path]:
    """The file of the sample for each kind of corpus that it can stand for."""
    return {"text": sample_text(), "treebank": sample_treebank(), "coreference": sample_treebank()}
