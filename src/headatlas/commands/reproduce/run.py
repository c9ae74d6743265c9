"""`reproduce`: survey, probes, figures, and a report of every published number and finding beside ours."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from headatlas.choices import Definitions
from headatlas.commands.probe.options import WITH_WORDS, probe
from headatlas.commands.reproduce.checks import (
    TOLERANCES,
    WIDEST_INTERVAL,
    Check,
    coreference_checks,
    dependency_checks,
    probe_checks,
    table_of,
)
from headatlas.commands.reproduce.findings import finding_checks, number_checks
from headatlas.commands.reproduce.options import ReproduceOptions
from headatlas.commands.survey.options import SurveyOptions
from headatlas.commands.survey.run import run_survey
from headatlas.corpora.coreference.read import read_coreference
from headatlas.corpora.files import find_files, refuse_same_files
from headatlas.corpora.text import read_text
from headatlas.corpora.treebanks.label_sets import labels_of
from headatlas.corpora.treebanks.read import read_treebank
from headatlas.engine.guards import output_folder
from headatlas.errors import SettingError
from headatlas.files import write_text
from headatlas.probes.vectors import GLOVE, glove_is_installed, load_vectors
from headatlas.results.atlas import Atlas
from headatlas.results.folder import Results, add_table
from headatlas.results.rendering import markdown_text, render
from headatlas.results.view import Column, View
from headatlas.studies import STUDIES
from headatlas.views.figures.write import write_figures
from headatlas.views.page import write_page
from headatlas.views.published.tables import published_text, source
from headatlas.views.published.views import COMPARED, counts, reproduction_view, view_of
from headatlas.views.words.about import corpora_read, left_out, unknown_warnings

PROBES_FOLDER = "probes"
TABLE_3 = ("right_branching", "distances_words", "attention", "attention_words", "structural")
OPTION_OF = {"text": "wikipedia", "treebank": "ptb-dev", "coreference": "conll2012"}
"""The input that each corpus of a survey comes from."""


SHARED = ("max_tokens", "batch_tokens", "bootstrap", "device", "dtype", "seed", "trust_remote_code", "progress")
"""The options that the survey and the probes have too."""
REPORT = "report.md"
FIGURES = {
    "figure1_heads": "Figure 1: heads at work on one input",
    "figure2_token_kinds": "Figure 2: attention to kinds of tokens",
    "figure2_positions": "Section 3.1: attention to neighbours",
    "figure3_gradients": "Figure 3: gradients",
    "figure4_entropy": "Figure 4: entropy",
    "figure5_relations": "Figure 5: heads for relations",
    "table3_probes": "Table 3 as bars",
    "probe_weights": "Which heads the probes use",
    "probe_layers": "The structural probe on every layer",
    "figure6_head_map": "Figure 6: which heads are similar",
}
RULES = (
    "A number is *reproduced* if ours lies within a tolerance of the published one, or if our 95 % interval "
    f"contains it and is at most {WIDEST_INTERVAL:g} points wide. Tolerances: {TOLERANCES['table 1']:g} points in "
    f"table 1 and the notebook, {TOLERANCES['table 2']:g} in tables 2 and 3, which are printed without decimals; "
    f"{TOLERANCES['nats']:g} nats; {TOLERANCES['heads']:g} head in counts of heads; heads and offsets the same. "
    "A finding is a yes or no by the rule beside it. *differs* means that a number is different, as one expects of "
    "another model or corpus."
)


Files = dict[str, list[Path]]
"""The given files by the names of their options."""


def read_inputs(options: ReproduceOptions) -> tuple[Files, str | None]:
    """Return the files and the word vectors for the probes.

    Every file is read to its end, so that an unreadable file is reported before a model is loaded.
    """
    given = {name: getattr(options, name.replace("-", "_")) for name in ("ptb-train", *OPTION_OF.values())}
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
        deque(read_text(files["wikipedia"], options.format_of("text")), maxlen=0)
    if "conll2012" in files:
        deque(read_coreference(files["conll2012"]), maxlen=0)
    vectors = None
    if "train" in trees:
        vectors = str(options.glove) if options.glove is not None else GLOVE if glove_is_installed() else None
        if vectors is not None:
            load_vectors(vectors, {word for sentences in trees.values() for tree in sentences for word in tree.words})
    return files, vectors


@dataclass(frozen=True, kw_only=True)
class PaperSurveyOptions(SurveyOptions):
    """A survey as the paper describes it: the map of heads of figure 6, and the beginning of coreference documents."""

    @property
    def definitions(self) -> Definitions:
        return "paper"

    def settings(self) -> dict[str, Any]:
        return super().settings() | {"definitions": self.definitions}


def run_reproduce(options: ReproduceOptions) -> Atlas:
    """Survey, train the probes, and write the table, the figures, the page and the report.

    The folder is the atlas of the survey, with the table `reproduction`, report.md and the probes in `probes`.
    """
    with output_folder(options.out, "reproduce") as folder:
        return _reproduce(options, folder)


def _reproduce(options: ReproduceOptions, folder: Path) -> Atlas:
    files, vectors = read_inputs(options)
    shared: dict[str, Any] = {name: getattr(options, name) for name in SHARED}
    surveying = PaperSurveyOptions(
        options.model,
        text=files.get("wikipedia"),
        treebank=files.get("ptb-dev"),
        coreference=files.get("conll2012"),
        out=folder,
        segments=options.segments,
        format=options.format,
        least_count=options.least_count,
        control="fresh" if "ptb-dev" in files else None,
        **shared,
    )
    atlas = run_survey(surveying)
    probed = None
    if (train := files.get("ptb-train")) is not None:
        probed = probe(
            options.model,
            treebank=train,
            eval=files.get("ptb-dev"),
            out=atlas.folder / PROBES_FOLDER,
            probes=[name for name in TABLE_3 if vectors or name not in WITH_WORDS],
            vectors=vectors,
            sentences=options.probe_sentences,
            seeds=options.probe_seeds,
            control="fresh",
            **shared,
        )
    return _finish(atlas, probed, files)


def _finish(atlas: Atlas, probed: Results | None, files: Files) -> Atlas:
    """The table, the figures, the page and the report, from what has been run."""
    tables = dict(atlas.tables) | (dict(probed.tables) if probed else {})
    if "dependency_best" in tables:
        tables["dependency_best"] = view_of(atlas, "dependencies").frame
    reproduction = table_of(checks_of(tables, _missing(atlas, files)))
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


def _missing(atlas: Atlas, files: Files) -> dict[str, str]:
    """For each table that could not be made, which input it needs."""
    missing = {
        "dependency_best" if name == "dependencies" else name: f"--{OPTION_OF[study.corpus]}"
        for name, study in STUDIES.items()
        if study.corpus in OPTION_OF and OPTION_OF[study.corpus] not in files
    }
    if "gradients" in atlas.manifest["studies_skipped"]:
        missing["gradients"] = "--model with a language model head"
    if "ptb-train" not in files:
        missing["probes"] = "--ptb-train" if "ptb-dev" in files else "--ptb-train and --ptb-dev"
    return missing


def report_text(atlas: Atlas, probed: Results | None) -> str:
    """The report as Markdown. atlas: of the survey, with the table `reproduction`; probed: of the probes."""
    table = atlas.tables["reproduction"]
    model, paper = atlas.manifest["model"], source("dependencies")
    name, heads = markdown_text(model["name"]), model["heads"]
    parts = [
        f"# {paper.paper} with {name}",
        f"**{counts(table)}**, of {len(table)} published numbers and findings. The paper's model is {paper.model}; "
        f"this is {name}, with {sum(heads)} heads in {len(heads)} layers.",
        "\n".join(f"- {markdown_text(line)}" for line in _corpora(atlas, probed)),
        "## When a number counts as reproduced",
        RULES,
    ]
    for place in table["place"].unique():
        parts += [f"## {place[0].upper()}{place[1:]}", _rows_of(table[table["place"] == place], model["name"])]
    parts += ["## The tables side by side", *_side_by_side(atlas), *(_side_by_side(probed) if probed else ())]
    parts += ["## Figures", *_figures(atlas.folder)]
    return "\n\n".join(parts) + "\n"


def _corpora(atlas: Atlas, probed: Results | None) -> Iterator[str]:
    """What was read and what was left out of it."""
    yield from corpora_read(atlas.manifest)
    yield from unknown_warnings(atlas.manifest)
    if probed is not None:
        train, scored = (probed.manifest["corpora"][part] for part in ("treebank", "eval"))
        vectors = probed.manifest["vectors"]
        with_words = f", word vectors of {vectors['width']} numbers ({Path(vectors['name']).name})" if vectors else ""
        yield f"probes trained on {train['sentences']:,} sentences, scored on {scored['sentences']:,}{with_words}"
    for omitted in left_out(atlas.manifest) + (left_out(probed.manifest) if probed is not None else []):
        yield f"left out: {omitted}"
    for study, reason in atlas.manifest["studies_skipped"].items():
        yield f"not run: {study}: {reason}"


def _rows_of(table: pd.DataFrame, name: str) -> str:
    """The rows of one place, with the rule of each."""
    whole = reproduction_view(table, name)
    cells = tuple((*row[1:], rule) for row, rule in zip(whole.cells, table["rule"], strict=True))
    return render(View(table, (*whole.columns[1:], Column("reproduced if")), cells), "markdown").strip()


def _side_by_side(atlas: Results) -> Iterator[str]:
    """Tables 1 to 3 in full."""
    for name in COMPARED:
        if all(table in atlas.tables for table in COMPARED[name][1]):
            yield render(view_of(atlas, name), "markdown").strip()


def _figures(folder: Path) -> Iterator[str]:
    for stem, caption in FIGURES.items():
        if (folder / "figures" / f"{stem}.png").exists():
            yield f"![{caption}](figures/{stem}.png)\n\n{caption}"
