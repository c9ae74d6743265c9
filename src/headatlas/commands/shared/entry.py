"""What a command's folder declares in its `__init__.py`, from which the command line and the facade are made.

Nothing else names a command. `headatlas --help` reads every entry, so an entry names modules and imports nothing heavy.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal, get_args

from headatlas.plugins import command_folders

# In the order of `headatlas --help`.
Panel = Literal["Start here", "Survey", "Intervene", "Look", "Scale and storage"]


@dataclass(frozen=True)
class Entry:
    """One command. Reports and classes are named as "module:name", the module under `headatlas.commands`.

    Attributes:
        panel: The heading in `headatlas --help`.
        place: The place below that heading, counted from 1.
        report: Returns the lines to print. It gets the result, the command's options and the options for printing.
        printing: The options for printing, which Python callers do not have.
        arguments: The arguments without a flag, for the usage line.
        resumes: Whether the same command resumes after it was stopped.
        in_python: Whether `headatlas` has the function too, for Python callers.
        light: Whether it answers at once, without torch.
    """

    panel: Panel
    place: int
    report: str
    printing: str = "shared.printing:ReportOptions"
    arguments: str = "MODEL "
    resumes: bool = False
    in_python: bool = True
    light: bool = False


def list_entries() -> dict[str, Entry]:
    """Return the entries of all commands, by folder, in the order of `headatlas --help`."""
    entries: dict[str, Entry] = {
        name: folder.ENTRY for name, folder in command_folders().items() if hasattr(folder, "ENTRY")
    }
    panels = get_args(Panel)
    return dict(sorted(entries.items(), key=lambda item: (panels.index(item[1].panel), item[1].place)))


def summary_of(name: str) -> str:
    """Return the first line of the docstring of a command's folder, which is that of its function too."""
    return (inspect.getdoc(command_folders()[name]) or "").split("\n")[0]


def function_of(name: str) -> Any:
    """Import the function of a command, which its `options.py` holds under the name of the folder."""
    return load(f"{name}.options:{name}")


def load(place: str) -> Any:
    """Import what an entry names, for example "ablate.report:report_ablate"."""
    module, _, name = place.partition(":")
    return getattr(import_module(f"headatlas.commands.{module}"), name)
