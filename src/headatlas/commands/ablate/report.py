"""What `ablate` prints when it ends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from headatlas.commands.ablate.causal_findings import joint_findings, matched_words_line, needed_findings
from headatlas.commands.ablate.options import AblateOptions
from headatlas.commands.ablate.score_table import score_findings, score_table
from headatlas.commands.shared.ending import finish, model_and_size, with_omissions
from headatlas.commands.shared.printing import DrawingOptions
from headatlas.corpora.files import name_files
from headatlas.results.atlas import Atlas
from headatlas.wording import counted

_SHOWN = 3


def report_ablate(results: Atlas, options: AblateOptions, printing: DrawingOptions) -> Iterator[str]:
    """Say what removing heads did to every task, and draw figures."""
    report = with_omissions(_ablation_report(results), results.manifest)
    return finish(results, report, draw=printing.figures, write=None, out=options.out)


def _ablation_report(results: Atlas) -> Iterator[str]:
    manifest, tables = results.manifest, results.tables
    yield f"\n{model_and_size(manifest['model'])}, on"
    for task, summary in manifest["summary"].items():
        if task == "causal":
            yield from _causal_findings(tables, summary)
            continue
        about = manifest["corpora"][task]
        yield f"  {task}: {counted(about['examples'], 'example')} of {name_files(about['files'])}"
        rows = tables["ablation"].query("task == @task")
        yield from _task_findings(rows, summary)
        if task == "translation":
            yield from _translation_findings(rows)
        if "removal_curve" in tables:
            yield _curve_finding(tables["removal_curve"].query("task == @task"))


def _task_findings(rows: pd.DataFrame, summary: Mapping[str, Any]) -> Iterator[str]:
    scores = ", ".join(f"{name} {value:.3f}" for name, value in summary["scores"].items())
    yield f"  - with all heads: {scores}"
    worse, better = summary["worse_without"], summary["better_without"]
    yield f"  - of {summary['heads']} heads, {worse} are needed and {better} do harm (p < 0.01, corrected)"
    most = rows[rows["measure"] == rows["measure"].iloc[0]].nsmallest(_SHOWN, "change")
    named = ", ".join(f"{row['layer']}-{row['head']} ({row['change']:+.3f})" for row in most.to_dict("records"))
    yield f"  - largest losses: {named}"
    fall = f"the fall of {summary['harm_measured_by'].replace('_', ' ')} without a head"
    for key, words in (
        ("importance_of_halves", "importance on one half of the examples agrees with that on the other"),
        ("importance_and_harm", f"importance agrees with {fall}"),
    ):
        if summary[key] is not None:
            yield f"  - {words}: Spearman {summary[key]:.2f}"


def _curve_finding(rows: pd.DataFrame) -> str:
    main = rows[rows["measure"] == rows["measure"].iloc[0]]
    share = float(main.loc[main["share"] >= 0.5, "share"].min())
    scores = main[main["share"] == share].set_index("order")["score"]
    listed = ", ".join(f"{str(order).replace('_', ' ')} {score:.3f}" for order, score in scores.items())
    return f"  - with {100 * share:.0f} % of the heads removed, by order: {listed}"


def _causal_findings(tables: Mapping[str, pd.DataFrame], summary: Mapping[str, Any]) -> Iterator[str]:
    yield f"  causal: {summary['relations']} relations"
    for finding in (
        *joint_findings(tables["causal_places"]),
        *needed_findings(tables["causal"], summary["needed"]),
    ):
        yield f"  - {finding}"
    yield f"  - {matched_words_line(tables['causal'])}"


def _translation_findings(rows: pd.DataFrame) -> Iterator[str]:
    bleu = rows[rows["measure"] == "bleu"]
    for finding in score_findings(bleu, _SHOWN):
        yield f"  - {finding}"
    for line in score_table(bleu):
        yield f"    {line}"
