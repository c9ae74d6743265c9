"""What a survey says on the screen when it ends."""

from __future__ import annotations

import typer

from headatlas.atlas.about import corpora_read, left_out
from headatlas.atlas.figures import write_figures
from headatlas.atlas.findings import findings
from headatlas.atlas.page import write_page
from headatlas.results.atlas import Atlas


def finish(atlas: Atlas, draw: bool) -> None:
    """Print the findings and what was left out; draw the figures and the page; end with their place."""
    manifest = atlas.manifest
    model = manifest["model"]
    typer.echo(f"\n{model['name']}: {model['layers']} layers, {sum(model['heads'])} heads, on")
    for corpus in corpora_read(manifest):
        typer.echo(f"  {corpus}")
    for finding in findings(atlas.tables):
        typer.echo(f"  - {finding}")
    for study, reason in manifest["studies_skipped"].items():
        typer.secho(f"Not run: {study}: {reason}", fg="yellow")
    if omitted := left_out(manifest):
        typer.echo(f"Left out: {', '.join(omitted)}")
    typer.echo(f"Tables:  {atlas.folder / 'tables'}")
    if draw:
        write_figures(atlas)
        typer.echo(f"Figures: {atlas.folder / 'figures'}")
        typer.echo(f"Page:    {write_page(atlas)}")
