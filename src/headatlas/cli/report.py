"""What a survey or a comparison says on the screen when it ends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import typer

from headatlas.results.atlas import Atlas
from headatlas.results.comparison import Comparison
from headatlas.results.naming import layers_and_heads, model_named
from headatlas.views.figures.comparison import write_comparison_figures
from headatlas.views.figures.write import write_figures
from headatlas.views.page import write_page
from headatlas.views.words.about import corpora_read, left_out, unknown_warnings
from headatlas.views.words.comparison import comparison_findings, comparison_warnings, models_of, not_compared
from headatlas.views.words.findings import findings


def finish(atlas: Atlas, draw: bool) -> None:
    """Print the findings and what was left out; draw the figures and the page; end with their place."""
    manifest = atlas.manifest
    model = manifest["model"]
    typer.echo(f"\n{model_named(model)}: {layers_and_heads(model)}, on")
    for corpus in corpora_read(manifest):
        typer.echo(f"  {corpus}")
    tell_unknown(manifest)
    for finding in findings(atlas.tables):
        typer.echo(f"  - {finding}")
    tell_omissions(manifest)
    typer.echo(f"Tables:  {atlas.folder / 'tables'}")
    if draw:
        write_figures(atlas)
        typer.echo(f"Figures: {atlas.folder / 'figures'}")
        typer.echo(f"Page:    {write_page(atlas)}")


def tell_unknown(manifest: Mapping[str, Any]) -> None:
    """Warn of corpora that the tokenizer hardly knows, whose tables look like results."""
    for warning in unknown_warnings(manifest):
        typer.secho(warning, fg="yellow")


def tell_omissions(manifest: Mapping[str, Any]) -> None:
    """Print what was not run, and why, and what was left out."""
    for name, reason in manifest["studies_skipped"].items():
        typer.secho(f"Not run: {name}: {reason}", fg="yellow")
    if omitted := left_out(manifest):
        typer.echo(f"Left out: {', '.join(omitted)}")


def finish_comparison(comparison: Comparison, draw: bool) -> None:
    """Print what differs and what was not compared; draw the figures and the page; end with their place."""
    manifest = comparison.manifest
    for end, name in zip("ab", models_of(manifest), strict=True):
        model = manifest[end]["model"]
        typer.echo(f"{end.upper()}: {name}, {layers_and_heads(model)}")
    for warning in comparison_warnings(manifest):
        typer.secho(warning, fg="yellow")
    for finding in comparison_findings(comparison):
        typer.echo(f"  - {finding}")
    for omission in not_compared(manifest):
        typer.echo(omission)
    typer.echo(f"Tables:  {comparison.folder / 'tables'}")
    if draw:
        write_comparison_figures(comparison)
        typer.echo(f"Figures: {comparison.folder / 'figures'}")
        typer.echo(f"Page:    {write_page(comparison)}")
