"""`reproduce`: survey, probes, figures, and a report of every published number and finding beside ours."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from headatlas.commands.probe.options import WITH_WORDS, probe
from headatlas.commands.reproduce.findings import finding_checks, number_checks
from headatlas.commands.reproduce.inputs import Inputs, check_paper, read_inputs
from headatlas.commands.reproduce.report import REPORT, report_text
from headatlas.commands.reproduce.tables import coreference_checks, dependency_checks, probe_checks
from headatlas.commands.reproduce.verdicts import Check, table_of
from headatlas.commands.survey.run import survey
from headatlas.corpora.files import Files
from headatlas.corpora.text import TextFormat
from headatlas.engine.locking import alone_in_out
from headatlas.errors import SettingError
from headatlas.files import write_text
from headatlas.results.atlas import Atlas, add_table
from headatlas.studies import STUDIES
from headatlas.views.figures.write import write_figures
from headatlas.views.page import write_page
from headatlas.views.published.tables import published_text
from headatlas.views.published.views import view_of

MODEL = "bert-base-uncased"
PROBES_FOLDER = "probes"
TABLE_3 = ("right_branching", "distances_words", "attention", "attention_words", "structural")
OPTION_OF = {"text": "wikipedia", "treebank": "ptb-dev", "coreference": "conll2012"}
"""The input that each corpus of a survey comes from."""


@alone_in_out("reproduce")
def reproduce(
    paper: str,
    *,
    model: str = MODEL,
    wikipedia: Files | None = None,
    ptb_train: Files | None = None,
    ptb_dev: Files | None = None,
    conll2012: Files | None = None,
    glove: str | Path | None = None,
    out: str | Path,
    segments: int = 1000,
    max_tokens: int = 128,
    probe_sentences: int | None = None,
    probe_seeds: int = 3,
    least_count: int = 100,
    bootstrap: int = 1000,
    batch_tokens: int = 4096,
    device: str = "auto",
    dtype: str = "float32",
    seed: int = 0,
    revision: str | None = None,
    text_format: TextFormat = "auto",
    trust_remote_code: bool = False,
    progress: bool = True,
) -> Atlas:
    """Every table, figure and finding of a paper from whatever of its inputs is given; return the atlas.

    >>> atlas = reproduce("clark2019", wikipedia="wiki.txt", ptb_dev="dev.conllx", out="clark2019")  # doctest: +SKIP
    >>> atlas.tables["reproduction"].query("verdict == 'differs'")                                   # doctest: +SKIP

    The folder is the atlas of the survey, with the table `reproduction`, report.md and the probes in `probes`. A run
    that was stopped continues when called again with the same arguments.
    probe_sentences: train probes on so many sentences, drawn by the seed; by default on all. probe_seeds: how often.
    least_count: relations with fewer words have no best head. The other arguments are those of `survey`.
    """
    check_paper(paper)
    if probe_sentences is not None and ptb_train is None:
        raise SettingError("--probe-sentences are drawn from --ptb-train, which is not given.")
    inputs = read_inputs(
        wikipedia=wikipedia,
        ptb_train=ptb_train,
        ptb_dev=ptb_dev,
        conll2012=conll2012,
        glove=glove,
        text_format=text_format,
    )
    shared: dict[str, Any] = {
        "max_tokens": max_tokens,
        "batch_tokens": batch_tokens,
        "bootstrap": bootstrap,
        "device": device,
        "dtype": dtype,
        "seed": seed,
        "revision": revision,
        "trust_remote_code": trust_remote_code,
        "progress": progress,
    }
    atlas = survey(
        model,
        text=inputs.get("wikipedia"),
        treebank=inputs.get("ptb-dev"),
        coreference=inputs.get("conll2012"),
        out=out,
        segments=segments,
        text_format=text_format,
        least_count=least_count,
        control="ptb-dev" in inputs,
        map_distance="js",
        **shared,
    )
    probed = None
    if (train := inputs.get("ptb-train")) is not None:
        probed = probe(
            model if revision is None else f"{model}@{revision}",
            treebank=train,
            eval=inputs.get("ptb-dev"),
            out=atlas.folder / PROBES_FOLDER,
            probes=[name for name in TABLE_3 if inputs.vectors or name not in WITH_WORDS],
            vectors=inputs.vectors,
            sentences=probe_sentences,
            seeds=probe_seeds,
            control=True,
            **{name: value for name, value in shared.items() if name != "revision"},
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
