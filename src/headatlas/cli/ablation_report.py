"""What an ablation says on the screen when it ends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import typer

from headatlas.cli.endings import tell_unknown
from headatlas.corpora.files import name_files
from headatlas.results.atlas import Atlas
from headatlas.results.naming import layers_and_heads, model_named
from headatlas.views.figures.write import write_figures
from headatlas.views.words.about import left_out
from headatlas.wording import counted

_SHOWN = 3


def finish(atlas: Atlas, draw: bool) -> None:
    """Print what was found on each task and what was left out; draw the figures; end with their place."""
    manifest = atlas.manifest
    model = manifest["model"]
    typer.echo(f"\n{model_named(model)}: {layers_and_heads(model)}, on")
    for task, summary in manifest["summary"].items():
        about = manifest["corpora"][task]
        if task == "causal":
            _say_causal(atlas.tables["causal"], summary)
        else:
            typer.echo(f"  {task}: {counted(about['examples'], 'example')} of {name_files(about['files'])}")
            _say_task(atlas.tables["ablation"].query("task == @task"), summary)
            if "removal_curve" in atlas.tables:
                _say_curve(atlas.tables["removal_curve"].query("task == @task"))
    tell_unknown(manifest)
    if omitted := left_out(manifest):
        typer.echo(f"Left out: {', '.join(omitted)}")
    typer.echo(f"Tables:  {atlas.folder / 'tables'}")
    if draw:
        write_figures(atlas)
        typer.echo(f"Figures: {atlas.folder / 'figures'}")


def _say_task(rows: pd.DataFrame, summary: Mapping[str, Any]) -> None:
    scores = ", ".join(f"{name} {value:.3f}" for name, value in summary["scores"].items())
    typer.echo(f"  - with all heads: {scores}")
    worse, better = summary["worse_without"], summary["better_without"]
    typer.echo(f"  - of {summary['heads']} heads, {worse} are needed and {better} are in the way (p < 0.01, corrected)")
    most = rows[rows["measure"] == rows["measure"].iloc[0]].nsmallest(_SHOWN, "change")
    named = ", ".join(f"{row['layer']}-{row['head']} ({row['change']:+.3f})" for row in most.to_dict("records"))
    typer.echo(f"  - most missed: {named}")
    for key, words in (
        ("importance_of_halves", "importance on one half of the examples agrees with that on the other"),
        (
            "importance_and_harm",
            f"importance agrees with the fall of {summary['harm_measured_by'].replace('_', ' ')} without a head",
        ),
    ):
        if summary[key] is not None:
            typer.echo(f"  - {words}: Spearman {summary[key]:.2f}")


def _say_curve(rows: pd.DataFrame) -> None:
    main = rows[rows["measure"] == rows["measure"].iloc[0]]
    share = float(main.loc[main["share"] >= 0.5, "share"].min())
    scores = main[main["share"] == share].set_index("order")["score"]
    said = ", ".join(f"{str(order).replace('_', ' ')} {score:.3f}" for order, score in scores.items())
    typer.echo(f"  - with {100 * share:.0f} % of the heads removed, by order: {said}")


def _say_causal(table: pd.DataFrame, summary: Mapping[str, Any]) -> None:
    needed = ", ".join(summary["needed"]) or "none"
    typer.echo(f"  causal: {summary['relations']} relations")
    typer.echo(f"  - the head found is needed more in its relation than outside, beyond other heads: {needed}")
    most = table.nlargest(_SHOWN, "lead")
    named = ", ".join(
        f"{row['relation']} {row['layer']}-{row['head']} ({row['lead']:+.3f} nats)" for row in most.to_dict("records")
    )
    typer.echo(f"  - largest leads: {named}")
