"""`reproduce`: survey, probes, figures, and a report of every published number and finding beside ours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from headatlas.choices import MapDistance
from headatlas.commands.probe.options import WITH_WORDS, probe
from headatlas.commands.reproduce.checks import (
    Check,
    coreference_checks,
    dependency_checks,
    probe_checks,
    table_of,
)
from headatlas.commands.reproduce.findings import finding_checks, number_checks
from headatlas.commands.reproduce.options import ReproduceOptions
from headatlas.commands.reproduce.report import REPORT, report_text
from headatlas.commands.survey.options import SurveyOptions
from headatlas.commands.survey.run import run_survey
from headatlas.corpora.coreference.read import read_coreference
from headatlas.corpora.files import find_files, refuse_same_files
from headatlas.corpora.text import read_text
from headatlas.corpora.treebanks.label_sets import labels_of
from headatlas.corpora.treebanks.read import read_treebank
from headatlas.errors import SettingError
from headatlas.files import write_text
from headatlas.probes.vectors import GLOVE, glove_is_installed, load_vectors
from headatlas.results.atlas import Atlas, add_table
from headatlas.studies import STUDIES
from headatlas.views.figures.write import write_figures
from headatlas.views.page import write_page
from headatlas.views.published.tables import published_text
from headatlas.views.published.views import view_of

PROBES_FOLDER = "probes"
TABLE_3 = ("right_branching", "distances_words", "attention", "attention_words", "structural")
OPTION_OF = {"text": "wikipedia", "treebank": "ptb-dev", "coreference": "conll2012"}
"""The input that each corpus of a survey comes from."""


SHARED = ("max_tokens", "batch_tokens", "bootstrap", "device", "dtype", "seed", "trust_remote_code", "progress")
"""The options that the survey and the probes have too."""


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


def read_inputs(options: ReproduceOptions) -> Inputs:
    """Read every file to its end, so that an unreadable file is reported before a model is loaded."""
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
    sets = {part: labels_of(sentences).name for part, sentences in trees.items()}
    if len(set(sets.values())) > 1:
        raise SettingError(
            f"--ptb-train has {sets['train']} relations, --ptb-dev {sets['eval']} relations. Give two parts of one "
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
            load_vectors(vectors, {word for sentences in trees.values() for tree in sentences for word in tree.words})
    return Inputs(files, vectors)


def _exhaust(records: Iterable[object]) -> None:
    for _ in records:
        pass


@dataclass(frozen=True, kw_only=True)
class PaperSurveyOptions(SurveyOptions):
    """A survey as the paper describes it: the map of heads of figure 6, and the beginning of coreference documents."""

    @property
    def map_distance(self) -> MapDistance:
        """The divergence itself, which is not a metric."""
        return "js"

    @property
    def whole_documents(self) -> bool:
        return False

    def settings(self) -> dict[str, Any]:
        return super().settings() | {"definitions": "paper"}


def run_reproduce(options: ReproduceOptions) -> Atlas:
    """Survey, train the probes, and write the table, the figures, the page and the report.

    The folder is the atlas of the survey, with the table `reproduction`, report.md and the probes in `probes`.
    """
    inputs = read_inputs(options)
    shared: dict[str, Any] = {name: getattr(options, name) for name in SHARED}
    surveying = PaperSurveyOptions(
        options.model,
        text=inputs.get("wikipedia"),
        treebank=inputs.get("ptb-dev"),
        coreference=inputs.get("conll2012"),
        out=options.out,
        segments=options.segments,
        format=options.format,
        least_count=options.least_count,
        control="ptb-dev" in inputs,
        **shared,
    )
    atlas = run_survey(surveying)
    probed = None
    if (train := inputs.get("ptb-train")) is not None:
        probed = probe(
            options.model,
            treebank=train,
            eval=inputs.get("ptb-dev"),
            out=atlas.folder / PROBES_FOLDER,
            probes=[name for name in TABLE_3 if inputs.vectors or name not in WITH_WORDS],
            vectors=inputs.vectors,
            sentences=options.probe_sentences,
            seeds=options.probe_seeds,
            control=True,
            **shared,
        )
    return _finish(atlas, probed, inputs)


def _finish(atlas: Atlas, probed: Atlas | None, inputs: Inputs) -> Atlas:
    """The table, the figures, the page and the report, from what has been run."""
    tables = dict(atlas.tables) | (dict(probed.tables) if probed else {})
    if "dependency_best" in tables:
        tables["dependency_best"] = view_of(atlas, "dependencies").frame
    reproduction = table_of(checks_of(tables, _missing(atlas, inputs)))
    add_table(atlas.folder, "reproduction", reproduction)
    finished = Atlas(atlas.folder)
    for drawn in (finished, probed):
        if drawn is not None:
            write_figures(drawn, atlas.folder / "figures")
    write_page(finished)
    write_text(atlas.folder / REPORT, report_text(finished, probed))
    return finished


def checks_of(tables: Mapping[str, pd.DataFrame], missing: Mapping[str, str]) -> list[Check]:
    """Every published number and finding: the tables, then the text in its order. missing: why a table is not there."""
    places = list(published_text("findings")["place"].unique())
    text = [*number_checks(tables, missing), *finding_checks(tables, missing)]
    return [
        *dependency_checks(tables, missing.get("dependency_best", "")),
        *coreference_checks(tables, missing.get("coreference", "")),
        *probe_checks(tables, missing.get("probes", "")),
        *sorted(text, key=lambda check: places.index(check.place)),
    ]


def _missing(atlas: Atlas, inputs: Inputs) -> dict[str, str]:
    """For each table that could not be made, which input it needs."""
    missing = {
        "dependency_best" if name == "dependencies" else name: f"--{OPTION_OF[study.corpus]}"
        for name, study in STUDIES.items()
        if study.corpus in OPTION_OF and OPTION_OF[study.corpus] not in inputs
    }
    if "gradients" in atlas.manifest["studies_skipped"]:
        missing["gradients"] = "--model with a language model head"
    if "ptb-train" not in inputs:
        missing["probes"] = "--ptb-train" if "ptb-dev" in inputs else "--ptb-train and --ptb-dev"
    return missing
