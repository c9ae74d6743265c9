"""The last lines of a command: what was found, what was omitted, where the results are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from headatlas.cli.screen import warn
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
    print(f"\n{model_named(manifest['model'])}: {layers_and_heads(manifest['model'])}, on")
    for corpus in corpora_read(manifest):
        print(f"  {corpus}")
    finish_with((f"  - {finding}" for finding in findings(atlas.tables)), atlas, draw)
    if draw:
        print(f"Page:    {write_page(atlas)}")


def finish_with(lines: Iterable[str], results: Atlas, draw: bool) -> None:
    """Print these findings and what was left out; draw the figures; end with their place."""
    tell_unknown(results.manifest)
    for line in lines:
        print(line)
    tell_omissions(results.manifest)
    print(f"Tables:  {results.folder / 'tables'}")
    if draw:
        write_figures(results)
        print(f"Figures: {results.folder / 'figures'}")


def tell_unknown(manifest: Mapping[str, Any]) -> None:
    """Warn of corpora that the tokenizer hardly knows, whose tables look like results."""
    for warning in unknown_warnings(manifest):
        warn(warning)


def tell_omissions(manifest: Mapping[str, Any]) -> None:
    """Print what was not run, and why, and what was left out."""
    for name, reason in manifest.get("studies_skipped", {}).items():
        warn(f"Not run: {name}: {reason}")
    if omitted := left_out(manifest):
        print(f"Left out: {', '.join(omitted)}")


def finish_comparison(comparison: Comparison, draw: bool) -> None:
    """Print what differs and what was not compared; draw the figures and the page; end with their place."""
    manifest = comparison.manifest
    for end, name in zip("ab", models_of(manifest), strict=True):
        model = manifest[end]["model"]
        print(f"{end.upper()}: {name}, {layers_and_heads(model)}")
    for warning in comparison_warnings(manifest):
        warn(warning)
    for finding in comparison_findings(comparison):
        print(f"  - {finding}")
    for omission in not_compared(manifest):
        print(omission)
    print(f"Tables:  {comparison.folder / 'tables'}")
    if draw:
        write_comparison_figures(comparison)
        print(f"Figures: {comparison.folder / 'figures'}")
        print(f"Page:    {write_page(comparison)}")
