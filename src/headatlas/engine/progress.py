"""A progress bar with the share done, tokens per second and the remaining time."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text


class _TokensPerSecond(ProgressColumn):
    """The speed, or a dash before it is known."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text(f"{speed:,.0f} tokens/s" if speed else "- tokens/s")


class TokenProgress:
    """A progress bar on standard error; hidden if `show` is false."""

    def __init__(self, description: str, total: int, done: int = 0, show: bool = True) -> None:
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TaskProgressColumn(),
            _TokensPerSecond(),
            TimeRemainingColumn(elapsed_when_finished=True),
            TextColumn("{task.fields[what]}"),
            TextColumn("{task.fields[note]}"),
            console=Console(stderr=True),
            disable=not show,
            speed_estimate_period=30,
        )
        self._task = self._bar.add_task(description, total=total, completed=done, what="left", note="")

    def advance(self, tokens: int, note: str = "") -> None:
        """Count more tokens as done; `note` is shown after the remaining time."""
        self._bar.update(self._task, advance=tokens, note=note)
        if self._bar.finished:
            self._bar.update(self._task, what="in all")

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()
