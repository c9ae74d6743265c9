"""What a command reports when it ends: as text, as bare paths (`--quiet`), or as one JSON object (`--json`).

A report is a series of lines, findings and what was written. Commands say these things; how they are shown is decided
here alone.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headatlas.studies.findings import LEADING, Finding, leading
from headatlas.wording import counted

COLOURS = re.compile(r"(\x1b\[[\d;]*m)")
OTHERS = "Any other MODEL is a folder, a .gguf file or a name on the Hugging Face hub: encoder, decoder or both."


@dataclass(frozen=True)
class Findings:
    """All findings of a folder. As text these are the leading ones, and where the others are."""

    every: list[Finding | str]
    folder: Path

    def lines(self) -> Iterator[str]:
        """The findings to read first, in brief."""
        first = leading(self.every, LEADING)
        yield from (f"  - {finding.brief if isinstance(finding, Finding) else finding}" for finding in first)
        if others := len(self.every) - len(first):
            yield (
                f"{counted(others, 'further finding')}, and the whole evidence: headatlas table {self.folder} findings"
            )


@dataclass(frozen=True)
class Written:
    """What a command wrote, and what to do with it.

    Attributes:
        place: The folder or file, or a folder's URL.
        made: What it holds, for example "18 tables, 12 figures".
        page: The page to open in a browser, if there is one.
        tables: The tables with their numbers of rows.
        files: Pictures and other files, for scripts.
        next: Commands that make sense now, each with what it does.
        verb: What was done with the place.
    """

    place: str | Path
    made: str = ""
    page: Path | None = None
    tables: Mapping[str, int] = field(default_factory=dict)
    files: tuple[Path, ...] = ()
    next: tuple[tuple[str, str], ...] = ()
    verb: str = "Wrote"

    def lines(self) -> Iterator[str]:
        """What was written and what to do next."""
        end = os.sep if Path(self.place).is_dir() else ""
        opening = "" if self.page is None else f" Open {'it' if self.page == self.place else self.page} in a browser."
        yield f"\n{self.verb} {self.place}{end}{f' ({self.made})' if self.made else ''}.{opening}"
        yield from next_lines(self.next)

    @property
    def essential(self) -> tuple[str | Path, ...]:
        """What a script wants to know: files if there are any, else the page, else the folder."""
        return self.files or (self.page or self.place,)


@dataclass(frozen=True)
class Listed:
    """Rows that a command prints instead of writing them.

    Attributes:
        texts: The rows as people read them; a text of several lines stays as it is.
        rows: The rows as values that JSON can hold, by column.
        next: Commands that make sense now, each with what it does.
    """

    texts: tuple[str, ...]
    rows: list[dict[str, Any]]
    next: tuple[tuple[str, str], ...] = ()

    def lines(self) -> Iterator[str]:
        """The texts and what to do next."""
        yield from self.texts
        yield from next_lines(self.next)


Item = str | Finding | Findings | Written | Listed


def as_item(sentence: Finding | str) -> Item:
    """A finding, or a sentence that is listed like one."""
    return f"  - {sentence}" if isinstance(sentence, str) else sentence


def next_lines(steps: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Commands to run next, one below the other, each with what it does: behind it, or below if that is too wide."""
    width, steps = terminal_width(), list(steps)
    longest = max((len(command) for command, _ in steps), default=0)
    for number, (command, purpose) in enumerate(steps):
        start = f"{'Next: ' if number == 0 else ' ' * 6}{command:<{longest if purpose else 0}}"
        fits = width is None or len(start) + 4 + len(purpose) <= width
        yield f"{start}    {purpose}".rstrip() if fits else f"{start.rstrip()}\n{' ' * 10}{purpose}"


def show(items: Iterable[Item], command: str, *, quiet: bool, as_json: bool) -> Iterator[str]:
    """Show a report in the way that was asked for, line by line."""
    if as_json:
        yield json.dumps(as_record(items, command), ensure_ascii=False, allow_nan=False)
        return
    for item in items:
        if quiet:
            yield from map(str, item.essential if isinstance(item, Written) else ())
        else:
            lines = [f"  - {item}"] if isinstance(item, Finding) else [item] if isinstance(item, str) else item.lines()
            yield from map(wrapped, lines)


def as_record(items: Iterable[Item], command: str) -> dict[str, Any]:
    """A report as values that JSON can hold. Every key is always there."""
    findings: list[dict[str, Any]] = []
    notes: list[str] = []
    ended: Written | Listed = Listed((), [])
    for item in items:
        if isinstance(item, Written | Listed):
            ended = item
        elif isinstance(item, str):
            notes += filter(None, map(str.strip, COLOURS.sub("", item).splitlines()))
        else:
            every = item.every if isinstance(item, Findings) else [item]
            findings += [one.record() if isinstance(one, Finding) else {"text": one} for one in every]
    written = ended if isinstance(ended, Written) else None
    is_file = written is not None and Path(written.place).is_file()
    return {
        "command": command,
        "folder": None if written is None else str(Path(written.place).parent if is_file else written.place),
        "page": None if written is None or written.page is None else str(written.page),
        "tables": {} if written is None else dict(written.tables),
        "files": [] if written is None else [str(file) for file in written.files],
        "findings": findings,
        "rows": ended.rows if isinstance(ended, Listed) else [],
        "notes": notes,
        "next": [step for step, _ in ended.next],
    }


def terminal_width() -> int | None:
    """The columns of the terminal; None if the output goes into a file or a pipe, where lines stay whole."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def wrapped(line: str) -> str:
    """Break a line of a report between words where the terminal ends, below its own indentation.

    A text of several lines, such as a table, stays as it is.
    """
    text, width = line.lstrip("\n"), terminal_width()
    if width is None or "\n" in text or text.startswith(("Next: ", " " * 6)):
        return line
    indent = " " * (len(text) - len(text.lstrip()) + 2)
    joined, room = text.replace(" %", "\N{NO-BREAK SPACE}%"), max(width, 2 * len(indent))
    broken = textwrap.fill(joined, room, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return line.removesuffix(text) + broken.replace("\N{NO-BREAK SPACE}%", " %")


def as_warning(text: str) -> str:
    """Return a warning, in yellow if standard output is a terminal."""
    return f"\x1b[33m{text}\x1b[0m" if sys.stdout.isatty() else text


def report_models(models: list[dict[str, Any]], *_: object) -> Iterable[Listed]:
    """List models line by line, so that each is broken where the screen ends, and say what to do with one."""
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
    yield Written(page, page=page, next=((f"headatlas table {options.folder}", "list the tables behind it"),))


def report_figures(figures: list[Path], options: Any, _printing: object) -> Iterable[Written]:
    """Say where the figures are."""
    made = f"{counted(len({path.stem for path in figures}), 'figure')}, each as SVG, PNG and PDF"
    place = figures[0].parent if figures else Path(options.out or options.folder)
    step = f"headatlas page {options.folder}", "the same results as a page to browse"
    yield Written(place, made, files=tuple(figures), next=(step,))


def report_shard(_result: object, options: Any, _printing: object) -> Iterable[Written]:
    """Say how to merge the shard that was run."""
    merge = (("headatlas merge DIR... --out DIR", "when all shards are done"),)
    yield Written(options.out, f"shard {options.shard}", next=merge)
