"""The corpora of a reproduction, all read before a model is loaded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from headatlas.commands.reproduce.options import ReproduceOptions
from headatlas.corpora.coreference.read import read_coreference
from headatlas.corpora.files import find_files, refuse_same_files
from headatlas.corpora.text import read_text
from headatlas.corpora.treebanks.label_sets import labels_of
from headatlas.corpora.treebanks.read import read_treebank
from headatlas.errors import SettingError
from headatlas.probes.vectors import GLOVE, glove_is_installed, load_vectors


@dataclass(frozen=True)
class Inputs:
    """The files that are given, by the names of their options, and the word vectors for the probes."""

    files: dict[str, list[Path]]
    vectors: str | None

    def __contains__(self, name: str) -> bool:
        return name in self.files

    def get(self, name: str) -> list[Path] | None:
        """The files of an option."""
        return self.files.get(name)


def read_inputs(options: ReproduceOptions) -> Inputs:
    """Read all that is given to its end once, so that an unreadable file is found before a model is loaded."""
    given = {
        "wikipedia": options.wikipedia,
        "ptb-train": options.ptb_train,
        "ptb-dev": options.ptb_dev,
        "conll2012": options.conll2012,
    }
    files = {name: find_files(paths, name) for name, paths in given.items() if paths is not None}
    treebanks = {part: files[name] for part, name in (("train", "ptb-train"), ("eval", "ptb-dev")) if name in files}
    refuse_same_files(treebanks, "Give another file with --ptb-dev.")
    trees = {part: list(read_treebank(paths, left_out=Counter())) for part, paths in treebanks.items()}
    sets = {part: labels_of(found).name for part, found in trees.items()}
    if len(set(sets.values())) > 1:
        raise SettingError(
            f"--ptb-train speaks of {sets['train']} relations, --ptb-dev of {sets['eval']} ones. Give two parts of one "
            "treebank."
        )
    if "wikipedia" in files:
        _exhaust(read_text(files["wikipedia"], options.format_of("text")))
    if "conll2012" in files:
        _exhaust(read_coreference(files["conll2012"]))
    vectors = None
    if "train" in trees:
        vectors = str(options.glove) if options.glove is not None else GLOVE if glove_is_installed() else None
        if vectors is not None:
            load_vectors(vectors, {word for found in trees.values() for tree in found for word in tree.words})
    return Inputs(files, vectors)


def _exhaust(records: Iterable[object]) -> None:
    for _ in records:
        pass
