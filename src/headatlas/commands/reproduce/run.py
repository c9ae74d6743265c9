"""`reproduce`: survey, random weights, probes, figures, and a verdict on every published number and finding."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

import pandas as pd

from headatlas.choices import Definitions, RandomWeights
from headatlas.commands.probe.options import WITH_WORDS, probe
from headatlas.commands.reproduce.claims import CLAIMS, Check, Claim, Tables, judge
from headatlas.commands.reproduce.claims.probes import PROBES, USED, of_random_weights
from headatlas.commands.reproduce.document import REPORT, report_text
from headatlas.commands.reproduce.options import ReproduceOptions
from headatlas.commands.reproduce.results import TRAINED, ResultTables, read_results, sources_of
from headatlas.commands.shared.options import list_given
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
from headatlas.progress import stage
from headatlas.results.atlas import Atlas
from headatlas.results.folder import Results, add_table
from headatlas.results.tables import TABLES
from headatlas.views.figures.write import write_figures
from headatlas.views.page import write_page
from headatlas.views.published.views import view_of

PROBES_FOLDER, RANDOM_FOLDER = "probes", "random-{}"
TABLE_3 = ("right_branching", "distances_words", "attention", "attention_words", "structural")
OPTION_OF = {"text": "wikipedia", "treebank": "ptb-dev", "coreference": "conll2012"}
"""The input that each corpus of a survey comes from."""
KINDS: tuple[RandomWeights, ...] = get_args(RandomWeights)
SHARED = ("max_tokens", "batch_tokens", "bootstrap", "device", "dtype", "seed", "trust_remote_code")
"""The options that the survey and the probes have too."""
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
    """Survey the model and the same network with random weights, train the probes, and write the verdicts.

    The folder is the atlas of the survey, with the table `reproduction`, report.md, the probes in `probes`, and the
    surveys of random weights in `random-fresh` and `random-shuffled`.
    """
    with output_folder(options.out, "reproduce") as folder:
        return _reproduce(options, folder)


def _reproduce(options: ReproduceOptions, folder: Path) -> Atlas:
    with stage("Reading all inputs"):
        files, vectors = read_inputs(options)
        results = read_results(list_given(options.results), str(options.model))
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
        **shared,
    )
    controls = {
        kind: replace(surveying, out=folder / RANDOM_FOLDER.format(kind), random_weights=kind, examples=1)
        for kind in KINDS
    }
    atlas = run_survey(surveying)
    random = {kind: run_survey(control) for kind, control in controls.items()}
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
    return _finish(atlas, random, probed, files, results)


def _finish(
    atlas: Atlas, random: Mapping[RandomWeights, Atlas], probed: Results | None, files: Files, results: ResultTables
) -> Atlas:
    """The table, the figures, the page and the report, from what has been run. results: as of `read_results`."""
    trained = dict(probed.tables) if probed else {}
    others = results[TRAINED]
    tables: Tables = {**others, **_tables(atlas), **trained}
    of_random: dict[str, Tables] = {kind: {**results[kind], **_tables(theirs)} for kind, theirs in random.items()}
    if probed:
        of_random["fresh"] = {**of_random["fresh"], **of_random_weights(trained)}
    missing = missing_tables(atlas, files)
    checks = [_sourced(judge(claim, tables, of_random, missing), claim, others) for claim in CLAIMS]
    add_table(atlas.folder, "reproduction", table_of(checks))
    finished = Atlas(atlas.folder)
    for drawn in (finished, probed):
        if drawn is not None:
            write_figures(drawn, atlas.folder / "figures")
    write_page(finished)
    write_text(atlas.folder / REPORT, report_text(finished, probed, sources_of(others)))
    return finished


def _sourced(check: Check, claim: Claim, others: Tables) -> Check:
    """The verdict, with the other folders that it rests on."""
    sources = sources_of({name: others[name] for name in claim.tables if name in others})
    return replace(check, ours=f"{check.ours} ({'; '.join(sources)})") if sources and check.ours else check


def _tables(atlas: Atlas) -> dict[str, pd.DataFrame]:
    """The tables of a survey, that of best heads with the published ones beside ours, and facts about its corpora."""
    tables = dict(atlas.tables)
    corpora = atlas.manifest["corpora"]
    if common := corpora.get("text", {}).get("common_tokens"):
        tables["common_tokens"] = pd.DataFrame(common)
    if "split_words" in corpora.get("treebank", {}):
        tables["split_words"] = pd.DataFrame([{name: corpora["treebank"][name] for name in ("words", "split_words")}])
    if "dependency_best" in tables:
        tables["dependency_best"] = view_of(atlas, "dependencies").frame
    return tables


def table_of(checks: list[Check]) -> pd.DataFrame:
    """The table `reproduction`."""
    frame = pd.DataFrame([vars(check) for check in checks])
    return frame.assign(difference=frame["our_value"] - frame["published_value"])


def missing_tables(atlas: Atlas, files: Files) -> dict[str, str]:
    """For each table that could not be made, which input it needs."""
    options = {name: OPTION_OF.get(made.corpus or "") for name, made in TABLES.made.items()}
    missing = {name: f"--{option}" for name, option in options.items() if option and option not in files}
    if "gradients" in atlas.manifest["studies_skipped"]:
        missing["gradients"] = "--model with a language model head"
    if "ptb-train" not in files:
        reason = "--ptb-train" if "ptb-dev" in files else "--ptb-train and --ptb-dev"
        missing |= dict.fromkeys((*PROBES, *USED), reason)
    return missing
