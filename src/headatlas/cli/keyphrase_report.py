"""What the search for keyphrases says on the screen when it ends."""

from __future__ import annotations

import typer

from headatlas.cli.endings import tell_omissions, tell_unknown
from headatlas.results.atlas import Atlas
from headatlas.results.naming import model_named
from headatlas.views.figures.shaded import write_shaded
from headatlas.views.figures.write import write_figures

_SHOWN_DOCUMENTS, _SHOWN_PHRASES = 3, 8


def report(found: Atlas, draw: bool) -> None:
    """Print the heads, the first phrases, the scores beside those of other methods, and where all of it is."""
    manifest, tables = found.manifest, found.tables
    chosen = manifest["heads_chosen"]
    form = f"{chosen['pooling']} of {chosen['rows']} rows"
    names = ", ".join(chosen["names"])
    typer.echo(f"\n{model_named(manifest['model'])}: heads {names} ({chosen['origin']}); {form}")
    tell_unknown(manifest)
    phrases = tables["keyphrases"]
    for name, own in list(phrases.groupby("document", sort=False))[:_SHOWN_DOCUMENTS]:
        first = own.nsmallest(_SHOWN_PHRASES, "rank")["phrase"]
        typer.echo(f"  {name}: {'; '.join(first)}")
    if "keyphrase_scores" in tables:
        scores = tables["keyphrase_scores"]
        cuts = sorted(scores["k"].unique())
        typer.echo("F1 of the first " + ", ".join(map(str, cuts)) + " phrases:")
        for method, rows in scores.groupby("method", sort=False):
            values = ", ".join(f"{row.f1:.3f} [{row.low:.3f}, {row.high:.3f}]" for row in rows.itertuples())
            typer.echo(f"  {method:<10} {values}")
    if "keyphrase_curve" in tables:
        for row in tables["keyphrase_curve"].itertuples():
            typer.echo(f"  words, {row.method}, {row.heads} heads: F1 {row.f1:.3f} [{row.low:.3f}, {row.high:.3f}]")
    if "keyphrase_taggers" in tables:
        for row in tables["keyphrase_taggers"].itertuples():
            typer.echo(f"  tagger, {row.tagger}, {row.heads} heads: F1 {row.f1:.3f} [{row.low:.3f}, {row.high:.3f}]")
    tell_omissions(manifest)
    typer.echo(f"Tables:  {found.folder / 'tables'}")
    if draw:
        write_figures(found)
        typer.echo(f"Figures: {found.folder / 'figures'}")
        typer.echo(f"Texts:   {write_shaded(found)}")
