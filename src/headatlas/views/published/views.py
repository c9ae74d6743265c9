"""Tables of an atlas ready to print: as they are, or beside the published figures."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

import pandas as pd

from headatlas.corpora.files import name_files
from headatlas.errors import AtlasError
from headatlas.results.folder import Results
from headatlas.results.naming import model_named
from headatlas.results.tables import TABLES
from headatlas.results.view import Column, View, plain_view
from headatlas.studies.findings import Finding
from headatlas.views.published.compare import (
    OTHERS,
    Cells,
    compare_coreference,
    compare_dependencies,
    compare_probes,
    make_view,
)
from headatlas.views.published.tables import source
from headatlas.views.words.findings import all_findings

COMPARED = {
    "dependencies": ("treebank", ("dependency_best",)),
    "coreference": ("coreference", ("coreference", "coreference_best", "coreference_baselines")),
    "probes": ("eval", ("probes",)),
}
"""Table that the paper has -> the corpus it comes from, and the tables that are set beside the paper's."""
_MADE_BY = {
    "probe": ("no such probe was trained", "headatlas probe {} --treebank TRAIN --eval DEV --out DIR"),
    "layers": ("no layers were probed", "headatlas layers {} --train TRAIN --eval DEV --out DIR"),
}
"""Command -> why its tables are missing, and how to make them."""
FINDINGS = "findings"  # printed like a table
_DECIMALS = {"%": 1, "nats": 2}  # by unit
RANDOM, _MET = "random weights", " *"
_COLUMNS: Cells = {
    Column("claim", number=True): lambda row: str(row["claim"]),
    Column("where"): lambda row: row["place"],
    Column("what"): lambda row: row["item"] + (f", {row['unit']}" if row["unit"] in ("%", "nats") else ""),
    Column("published"): lambda row: row["published"],
    Column("ours"): lambda row: row["ours"],
    Column("95 % interval", number=True): lambda row: _interval(row["low"], row["high"], row["unit"]),
    Column("difference", number=True): lambda row: _signed(row["difference"], row["unit"]),
    Column("verdict"): lambda row: f"{row['verdict']}: {row['missing']}" if row["missing"] else row["verdict"],
    Column("fresh", RANDOM): lambda row: row["fresh"] + _MET * ("fresh" in row["met_by"]),
    Column("shuffled", RANDOM): lambda row: row["shuffled"] + _MET * ("shuffled" in row["met_by"]),
}


def comparisons(atlas: Results) -> list[View]:
    """The paper's tables 1 to 3 beside this atlas, if it has the tables they need."""
    return [view_of(atlas, name) for name in COMPARED if all(table in atlas.tables for table in COMPARED[name][1])]


def list_tables(results: Results) -> View:
    """The tables of a folder, each with its number of rows and the question that it answers."""
    said = {FINDINGS: len(all_findings(results))}
    rows = (said if said[FINDINGS] else {}) | results.manifest.get("tables", {})
    questions = {name: TABLES[name].question for name in TABLES} | {FINDINGS: "What do the tables show, in sentences?"}
    frame = pd.DataFrame(
        [(name, number, questions.get(name, "")) for name, number in rows.items()], columns=["table", "rows", "about"]
    )
    return plain_view(frame, results.title)


def findings_view(results: Results) -> View:
    """Every finding with its whole evidence; as CSV with its numbers apart."""
    found = [one if isinstance(one, Finding) else Finding(one.removesuffix(".")) for one in all_findings(results)]
    if not found:
        raise AtlasError(_why_not(results, FINDINGS))
    records = [
        one.record()
        | {
            "heads": " ".join(f"{layer}-{head}" for layer, head in one.heads),
            "rivals": "; ".join(f"{name} {value:.4g}" for name, value in one.rivals.items()),
            "evidence": "; ".join(one.evidence),
        }
        for one in found
    ]
    cells = tuple((one.study, str(one)) for one in found)
    return View(pd.DataFrame(records), (Column("study"), Column("finding")), cells, (results.title,))


def view_of(atlas: Results, name: str, raw: bool = False) -> View:
    """A table to print. Those in COMPARED, and `reproduction`, are set beside the paper's unless `raw`."""
    if name == FINDINGS:
        return findings_view(atlas)
    compared = name in COMPARED and not raw
    for needed in COMPARED[name][1] if compared else (name,):
        if needed not in atlas.tables:
            raise AtlasError(_why_not(atlas, name))
    if name == "reproduction" and not raw:
        return reproduction_view(atlas.tables[name], atlas.manifest["model"]["name"])
    if not compared:
        question = f": {TABLES[name].question}" if name in TABLES else ""
        return plain_view(atlas.tables[name], f"{name}{question}")
    corpus, tables = COMPARED[name]
    frames, surveyed = [atlas.tables[table] for table in tables], _surveyed(atlas, corpus)
    if name == "dependencies":
        universal = _about(atlas, corpus)["label_set"] == "universal"
        return compare_dependencies(frames[0], surveyed, universal)
    if name == "probes":
        return compare_probes(frames[0], surveyed)
    return compare_coreference(frames[0], frames[1], frames[2], surveyed)


def _why_not(atlas: Results, name: str) -> str:
    """Say why a table is missing and how to make it."""
    if name == "reproduction":
        return f"{atlas.folder}: this folder has no reproduction. Make one with: headatlas reproduce clark2019"
    made = TABLES.made.get(name)
    if made and (skipped := atlas.manifest.get("studies_skipped", {}).get(made.study)):
        return f"{atlas.folder}: there is no table {name}, because the study {made.study} was not run: {skipped}"
    if made and made.corpus:
        what = made.corpus if made.corpus in ("text", "treebank") else f"text with {made.corpus}"
        surveyed = made.corpus in atlas.manifest.get("corpora", {})
        reason = "its study was not run" if surveyed else f"no {what} was surveyed"
        command = f"headatlas survey {{}} --{made.corpus} FILE --out DIR"
    else:
        reason, command = _MADE_BY.get(made.command if made else "", ("", ""))
    if not reason or "model" not in atlas.manifest:
        near = get_close_matches(name, list(atlas.tables), 1)
        meant = f" Did you mean {near[0]}?" if near else ""
        return f"{atlas.folder}: this folder has no table {name}.{meant} It has: {', '.join(atlas.tables)}."
    make = command.format(atlas.manifest["model"]["name"])
    return f"{atlas.folder}: {reason}, so the table {name} is missing. Make it with: {make}"


def _surveyed(atlas: Results, corpus: str) -> str:
    """The model and the files of a corpus, as the manifest names them."""
    about = _about(atlas, corpus)
    files = name_files(about["files"])
    parsed = f", trees by {about['parsed_by']}" if about.get("parsed_by") else ""
    return f"{model_named(atlas.manifest['model'])} on {files}{parsed}"


def _about(atlas: Results, corpus: str) -> dict[str, Any]:
    return dict(atlas.manifest["corpora"][corpus])


def reproduction_view(table: pd.DataFrame, model: str) -> View:
    """Every published number and finding beside ours, and what random weights give."""
    title = (
        f"{source('dependencies').paper}, reproduced with {model}: {counts(table)}",
        f"Published: {source('dependencies').model}",
    )
    notes = (
        "When a number or finding counts as reproduced is in the column `rule` (--raw).",
        "* The same network with random weights meets the rule too, or comes too close to ours.",
        OTHERS,
    )
    return make_view(table, _COLUMNS, title, notes, keys=3)


def counts(table: pd.DataFrame) -> str:
    """How many numbers and findings are reproduced, how many rules random weights meet, and checks of the corpus."""
    run = table[table["verdict"] != "not run"]
    corpus = run["decided_by"] == "corpus"
    decided, checks = run[~corpus], run[corpus]
    reproduced, open_ones, agreeing = (
        int((rows["verdict"] == verdict).sum())
        for rows, verdict in ((decided, "reproduced"), (decided, "not decided"), (checks, "reproduced"))
    )
    by_random = ", ".join(f"{int(decided['met_by'].str.contains(kind).sum())} {kind}" for kind in ("fresh", "shuffled"))
    return (
        f"{reproduced} of {len(decided)} reproduced; random weights: {by_random}, and a rule that they meet decides "
        f"nothing ({open_ones} not decided). Checks of the corpus: {agreeing} of {len(checks)} agree. "
        f"Not run: {len(table) - len(run)}."
    )


def _interval(low: float, high: float, unit: str) -> str:
    decimals = _DECIMALS.get(unit, 0)
    return "" if pd.isna(low) else f"[{low:.{decimals}f}, {high:.{decimals}f}]"


def _signed(difference: float, unit: str) -> str:
    if pd.isna(difference):
        return ""
    decimals = _DECIMALS.get(unit, 0)
    return f"{difference:+.{decimals}f}"
