"""The progress display of all commands: named stages with bars, on a terminal, in a log or in a notebook.

    with showing():
        with stage("Surveying bert-base: 129 segments", total=tokens) as bar:
            for batch in batches:
                observe(batch)
                bar.advance(batch.tokens)

`showing` is the only switch. It belongs to whoever starts the work: the command line and the functions for Python. Code
below opens stages and reports what is done, and need not know whether anybody looks. Work that is far away from the
stage that it belongs to reports by `moved`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self

from headatlas.wording import counted

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

clock = time.monotonic
_CREEP = 0.02  # of what is left of a unit, for each report that does not say how much is done
_MOST_GUESSED = 0.9  # of a unit
_FIRST_ESTIMATE = 2.0  # seconds after which there is one
_LONG = 30.0  # seconds: a log gets an estimate of longer stages only
_NOTEBOOK_SECONDS = 0.5  # between two updates


class Display(Protocol):
    """Whoever shows the stages. Only the outermost of nested stages is shown; the others move its bar."""

    def begin(self, stage: Stage) -> None:
        """Name a stage before its work starts."""

    def update(self, stage: Stage) -> None:
        """Show that something moved."""

    def end(self, stage: Stage, finished: bool) -> None:
        """Leave one line about the stage; `finished` is false if an error or Ctrl-C ended it."""


_display: ContextVar[Display | None] = ContextVar("headatlas_display", default=None)
_current: ContextVar[Stage | None] = ContextVar("headatlas_stage", default=None)


class Stage:
    """A part of a run that takes time, with a bar.

    Attributes:
        name: What happens, and how much of it.
        total: All work in any unit; None if that is not known beforehand.
        completed: How much of it is done, including a part of the current unit of work.
        note: The latest news, such as a loss.
        later: What follows this stage, and how much work that is in the same unit, for the estimate.
    """

    def __init__(self, name: str, total: float | None, done: float, later: tuple[str, float] | None) -> None:
        self.name, self.total, self.later = name, total, later
        self.completed = self._whole = self._done_before = float(done)
        self.note = ""
        self._unit = total or 1.0
        self._inside = 0.0  # share of the current unit that is done for certain
        self._step, self._crept = 1.0, 0.0  # the latest share reported, and how much of the next one has been guessed
        self._display = _display.get()
        self._outer = _current.get()
        self.started = clock()

    def begin(self, amount: float, note: str = "") -> None:
        """Say how much work the next unit is, of which `moved` then reports shares, and what it is about."""
        self._unit, self._inside, self._crept = amount, 0.0, 0.0
        self.note = note or self.note
        self._show()

    def advance(self, amount: float = 1, note: str = "") -> None:
        """Count more work as done; `note` is shown beside the bar."""
        self._whole += amount
        self.begin(amount or self._unit, note)

    def moved(self, share: float | None = None) -> None:
        """Report that a share of the current unit is done, or that something is, nobody knows how much."""
        if share is None:
            self._crept += (1 - self._crept) * _CREEP
        else:
            self._inside, self._step, self._crept = min(self._inside + share, 1.0), share, 0.0
        self._show()

    @property
    def _certain(self) -> float:
        return self._whole + self._inside * self._unit

    def _show(self) -> None:
        guessed = min(_MOST_GUESSED * self._crept * self._step, 1 - self._inside) * self._unit
        self.completed = max(self.completed, self._certain + guessed)
        if self.total is not None:
            self.completed = min(self.completed, self.total)
        if self._outer is not None:
            self._outer.moved()
        elif self._display is not None:
            self._display.update(self)

    @property
    def elapsed(self) -> float:
        """Seconds since the stage began."""
        return clock() - self.started

    @property
    def seconds_per_unit(self) -> float | None:
        """How long a unit of work takes; None before that can be said."""
        done = self._certain - self._done_before
        return self.elapsed / done if done > 0 and self.elapsed >= _FIRST_ESTIMATE else None

    @property
    def seconds_left(self) -> float | None:
        """How long the rest will take; None before that can be said."""
        pace = self.seconds_per_unit
        return None if pace is None or self.total is None else pace * (self.total - self.completed)

    def estimate(self) -> str:
        """Say how long the rest of the stage will take, and what follows; empty before that can be said."""
        pace, left = self.seconds_per_unit, self.seconds_left
        if pace is None or left is None or left <= 0:
            return ""
        later = f", then {self.later[0]}: about {spoken_duration(pace * self.later[1])}" if self.later else ""
        return f"about {spoken_duration(left)} left{later}"

    def __enter__(self) -> Self:
        self._token = _current.set(self)
        if self._outer is not None:
            self._outer.note = self.name
            self._outer.moved()
        elif self._display is not None:
            self._display.begin(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _current.reset(self._token)
        if self._outer is not None:
            self._outer.note = ""
        elif self._display is not None:
            self._display.end(self, finished=kind is None)


def stage(name: str, total: float | None = None, done: float = 0, later: tuple[str, float] | None = None) -> Stage:
    """Open a stage, as a context manager.

    Args:
        name: What happens, and how much of it: "Surveying bert-base: 129 segments".
        total: All work in any unit, such as tokens; None if that is not known beforehand.
        done: How much of it an earlier run has done.
        later: The name of what follows and how much work that is, in the same unit, if it should be in the estimate.

    Returns:
        The stage, whose `advance` counts work.
    """
    return Stage(name, total, done, later)


def moved(share: float | None = None) -> None:
    """Report to the innermost open stage, if there is one, that a share of its current unit of work is done.

    Args:
        share: The share; None if it is not known, then the bar creeps on within the unit.
    """
    if (current := _current.get()) is not None:
        current.moved(share)


@contextmanager
def showing(show: bool | Display = True) -> Iterator[None]:
    """Within this context stages are shown, unless an outer one hides them.

    Args:
        show: False hides them. A display shows them in its own way.
    """
    display = (_display.get() or _choose_display()) if show is True else (show or _Hidden())
    display_token, stage_token = _display.set(display), _current.set(_current.get() if show is True else None)
    try:
        yield
    finally:
        _display.reset(display_token)
        _current.reset(stage_token)


def _choose_display() -> Display:
    from rich.console import Console

    console = Console(stderr=True)
    if console.is_jupyter:
        return _Notebook()
    return _Terminal(console) if console.is_terminal and not console.is_dumb_terminal else _Log()


class _Hidden:
    """Shows nothing."""

    def begin(self, stage: Stage) -> None:
        pass

    def update(self, stage: Stage) -> None:
        pass

    def end(self, stage: Stage, finished: bool) -> None:
        pass


class _Log:
    """One line per stage without control characters: its name at once, an estimate of a long one, then its time."""

    def __init__(self) -> None:
        self._estimated = False

    def begin(self, stage: Stage) -> None:
        self._estimated = False
        self._write(stage.name)

    def update(self, stage: Stage) -> None:
        if not self._estimated and (left := stage.seconds_left) is not None:
            self._estimated = True
            if left >= _LONG:
                self._write(f" ... {stage.estimate()}")

    def end(self, stage: Stage, finished: bool) -> None:
        self._write(f" ... {'' if finished else 'stopped after '}{clock_time(stage.elapsed)}\n")

    def _write(self, text: str) -> None:
        print(text, end="", file=sys.stderr, flush=True)


class _Notebook:
    """One line per stage, replaced while it runs. Needs no widgets."""

    def begin(self, stage: Stage) -> None:
        display = import_module("IPython.display").display
        self._handle = display(_plain(stage.name), raw=True, display_id=True)
        self._shown = clock()

    def update(self, stage: Stage) -> None:
        if clock() - self._shown >= _NOTEBOOK_SECONDS:
            self._shown = clock()
            share = "" if not stage.total else f" {stage.completed / stage.total:4.0%}"
            parts = (f"{stage.name}{share} {clock_time(stage.elapsed)}", stage.estimate(), stage.note)
            self._replace(", ".join(filter(None, parts)))

    def end(self, stage: Stage, finished: bool) -> None:
        self._replace(f"{stage.name} {'' if finished else 'stopped after '}{clock_time(stage.elapsed)}")

    def _replace(self, text: str) -> None:
        self._handle.update(_plain(text), raw=True)


def _plain(text: str) -> dict[str, Any]:
    return {"text/plain": text}


class _Terminal:
    """A bar that moves, and stays as one line when the stage has finished."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar: Progress
        self._room = 0
        self._task: TaskID

    def begin(self, stage: Stage) -> None:
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
        from rich.table import Column

        bar = 8 if self._console.width < 100 else 24
        room = self._console.width - bar - len(" 100% 0:00:00  ")
        longest = max(20, room - len("about 59 seconds left"))
        self._room = room - min(len(stage.name), longest)
        name_column = Column(overflow="ellipsis", no_wrap=True, max_width=longest)
        self._bar = Progress(
            TextColumn("{task.description}", markup=False, table_column=name_column),
            BarColumn(bar_width=bar),
            TaskProgressColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[news]}", markup=False),
            console=self._console,
        )
        self._task = self._bar.add_task(stage.name, total=stage.total, completed=int(stage.completed), news="")
        self._bar.start()

    def update(self, stage: Stage) -> None:
        left = stage.estimate()
        whole = ", ".join(filter(None, (left, stage.note)))
        news = next((text for text in (whole, left, left.partition(",")[0]) if len(text) <= self._room), "")
        self._bar.update(self._task, completed=stage.completed, news=news)

    def end(self, stage: Stage, finished: bool) -> None:
        total = stage.total or max(stage.completed, 1)
        self._bar.update(self._task, total=total, completed=total if finished else stage.completed, news=stage.note)
        self._bar.stop()


def clock_time(seconds: float) -> str:
    """A duration as a clock shows it.

    >>> clock_time(3.6), clock_time(3723)
    ('0:00:04', '1:02:03')
    """
    whole = round(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"


def spoken_duration(seconds: float) -> str:
    """A duration rounded as people say it.

    >>> spoken_duration(1), spoken_duration(8), spoken_duration(200), spoken_duration(9000)
    ('1 second', '8 seconds', '3 minutes', '2.5 hours')
    """
    if seconds < 90:
        return counted(max(1, round(seconds)), "second")
    return counted(round(seconds / 60), "minute") if seconds < 5400 else f"{seconds / 3600:.1f} hours"
