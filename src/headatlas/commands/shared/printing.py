"""The options for printing, which `--help` reads, and the shortest reports. Nothing here imports anything heavy."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headatlas.commands.shared.options import OnByDefault, Options


@dataclass(frozen=True, kw_only=True)
class NoOptions(Options):
    """For reports without options of their own."""


@dataclass(frozen=True, kw_only=True)
class FigureOptions(Options, panel="Output"):
    """What to write besides tables."""

    figures: OnByDefault = True
    """Draw figures and write index.html."""


@dataclass(frozen=True, kw_only=True)
class DrawingOptions(Options, panel="Output"):
    """What to draw besides tables."""

    figures: OnByDefault = True
    """Draw figures."""


def report_paths(paths: Path | list[Path], *_: object) -> Iterable[str]:
    """Say where files were written."""
    return map(str, paths if isinstance(paths, list) else [paths])


def report_text(text: str, *_: object) -> Iterable[str]:
    """Show a text that ends with a line break."""
    return [text.removesuffix("\n")]


def report_nothing(*_: object) -> Iterable[str]:
    """Say nothing more."""
    return []


def report_shard(_result: object, options: Any, _printing: object) -> Iterable[str]:
    """Say how to merge the shard that was run."""
    yield f"Shard {options.shard} is done: {options.out}."
    yield "Next: headatlas merge DIR... --out DIR, when all shards are done"
