"""The options for printing, which `--help` reads. Nothing here imports anything heavy."""

from __future__ import annotations

from dataclasses import dataclass

from headatlas.commands.shared.options import OnByDefault, Options


@dataclass(frozen=True, kw_only=True)
class NoOptions(Options):
    """For commands that print nothing at their end."""


@dataclass(frozen=True, kw_only=True)
class RowOptions(Options, panel="Output"):
    """How to print rows."""

    json: bool = False
    """Print one JSON object: folder, page, tables, findings, rows. Progress goes to standard error."""


@dataclass(frozen=True, kw_only=True)
class ReportOptions(RowOptions, panel="Output"):
    """How to print the report."""

    quiet: bool = False
    """Print only the paths of what was written, and errors."""


@dataclass(frozen=True, kw_only=True)
class FigureOptions(ReportOptions, panel="Output"):
    """What to write besides tables."""

    figures: OnByDefault = True
    """Draw figures, and write index.html if the results have a page."""
