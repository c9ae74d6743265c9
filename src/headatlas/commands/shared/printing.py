"""The options for printing, which `--help` reads, and the shortest reports. Nothing here imports anything heavy."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headatlas.commands.shared.options import OnByDefault, Options
from headatlas.wording import counted

if TYPE_CHECKING:
    from headatlas.commands.shared.report import Listed, Written

OTHERS = (
    "Any other MODEL is a folder or a .gguf file on this machine or a name on the Hugging Face hub: encoders, decoders "
    "and encoder-decoders."
)


@dataclass(frozen=True, kw_only=True)
class NoOptions(Options):
    """For commands that print a text or nothing."""


@dataclass(frozen=True, kw_only=True)
class ReportOptions(Options, panel="Output"):
    """How to print the report."""

    quiet: bool = False
    """Print only the paths of what was written, and errors."""
    json: bool = False
    """Print the report as one JSON object: folder, page, tables, findings. Progress goes to standard error."""


@dataclass(frozen=True, kw_only=True)
class RowOptions(Options, panel="Output"):
    """How to print rows."""

    json: bool = False
    """Print one JSON object, which holds every row under the key rows, with its values by column."""


@dataclass(frozen=True, kw_only=True)
class FigureOptions(ReportOptions, panel="Output"):
    """What to write besides tables."""

    figures: OnByDefault = True
    """Draw figures and write index.html."""


@dataclass(frozen=True, kw_only=True)
class DrawingOptions(ReportOptions, panel="Output"):
    """What to draw besides tables."""

    figures: OnByDefault = True
    """Draw figures."""


def report_models(models: list[dict[str, Any]], *_: object) -> Iterable[Listed]:
    """List models line by line, so that each is broken where the screen ends, and say what to do with one."""
    from headatlas.commands.shared.report import Listed

    texts = []
    for model in models:
        state = "installed" if model["installed"] else f"not installed: {model['install']}"
        about = f"{model['licence']}, {model['package']} {model['version']}, {state}"
        texts += [model["name"], f"    {model['about']}", f"    {about}"]
    steps = ("headatlas survey embedded", "describe its heads"), ("headatlas explore embedded-mlm", "in a browser")
    yield Listed((*texts, "", OTHERS, ""), models, steps)


def report_nothing(*_: object) -> Iterable[str]:
    """Say nothing more."""
    return []


def report_page(page: Path, options: Any, _printing: object) -> Iterable[Written]:
    """Say where the page is."""
    from headatlas.commands.shared.report import Written

    yield Written(page, page=page, next=((f"headatlas table {options.folder}", "list the tables behind it"),))


def report_figures(figures: list[Path], options: Any, _printing: object) -> Iterable[Written]:
    """Say where the figures are."""
    from headatlas.commands.shared.report import Written

    made = f"{counted(len({path.stem for path in figures}), 'figure')}, each as SVG, PNG and PDF"
    place = figures[0].parent if figures else Path(options.out or options.folder)
    step = f"headatlas page {options.folder}", "the same results as a page to browse"
    yield Written(place, made, files=tuple(figures), next=(step,))


def report_shard(_result: object, options: Any, _printing: object) -> Iterable[Written]:
    """Say how to merge the shard that was run."""
    from headatlas.commands.shared.report import Written

    step = "headatlas merge DIR... --out DIR", "when all shards are done"
    yield Written(options.out, f"shard {options.shard}", next=(step,))
