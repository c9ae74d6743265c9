"""What `ablate` prints when it ends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from headatlas.commands.ablate.findings import (
    agreement_findings,
    amount,
    curve_findings,
    head_findings,
    joint_findings,
    label_findings,
    matched_words_line,
    needed_findings,
    score_table,
    set_findings,
    spoken,
)
from headatlas.commands.ablate.options import AblateOptions
from headatlas.commands.shared.ending import finish, model_and_size, with_omissions
from headatlas.commands.shared.printing import FigureOptions
from headatlas.commands.shared.report import Item
from headatlas.corpora.files import name_files
from headatlas.results.atlas import Atlas
from headatlas.wording import counted


def report_ablate(results: Atlas, options: AblateOptions, printing: FigureOptions) -> Iterator[Item]:
    """Say what removing heads did to every task, and draw figures."""
    report = with_omissions(_ablation_report(results), results.manifest)
    choice = f"--by importance --share 0.3 --ablation {results.folder}"
    prune = f"headatlas prune {results.manifest['model']['name']} {choice}", "cut out the heads that it needs least"
    steps = [prune] if "importance" in results.tables else []
    return finish(results, report, draw=printing.figures, write=None, out=options.out, next_steps=steps)


def _ablation_report(results: Atlas) -> Iterator[Item]:
    manifest, tables = results.manifest, results.tables
    yield f"\n{model_and_size(manifest['model'])}, on"
    for task, summary in manifest["summary"].items():
        if task == "causal":
            yield from _causal_findings(tables, summary)
            continue
        about = manifest["corpora"][task]
        yield f"  {task}: {counted(about['examples'], 'example')} of {name_files(about['files'])}"
        scores = (f"{spoken(name)} is {amount(value, name)}" for name, value in summary["scores"].items())
        yield f"  - With all heads, {' and '.join(scores)}."
        of_task = {name: table[table["task"] == task] for name, table in tables.items() if "task" in table}
        yield from head_findings(of_task["ablation"], summary)
        yield from agreement_findings(summary)
        if task.partition(":")[0] == "translation":
            bleu = of_task["ablation"].query("measure == 'bleu'")
            yield from (f"    {line}" for line in score_table(bleu))
        if "removal_curve" in tables:
            yield from curve_findings(of_task["removal_curve"], of_task["removable_heads"])
        if "label_importance" in tables:
            yield from label_findings(of_task["label_importance"])
    if "set_agreement" in tables:
        yield from set_findings(tables["set_agreement"])


def _causal_findings(tables: Mapping[str, pd.DataFrame], summary: Mapping[str, Any]) -> Iterator[Item]:
    yield f"  causal: {counted(summary['relations'], 'relation')}"
    yield from joint_findings(tables["causal_places"])
    yield from needed_findings(tables["causal"], summary["needed"])
    yield f"  - {matched_words_line(tables['causal'])}"
