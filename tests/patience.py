"""Limits that turn a hang into a failure, and that no busy machine reaches."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

SECONDS = 300  # to wait for another process, thread or browser: much longer than it takes under heavy load


@contextmanager
def cpu_seconds(most: float = 120) -> Iterator[None]:
    """Fail when the code inside has used this much processor time.

    Processor time hardly depends on what else the machine does, unlike the time on a clock. The matcher of regular
    expressions looks for signals while it works, so a pattern that never comes to an end is interrupted, too.
    """

    def give_up(*_: object) -> None:
        pytest.fail(f"no end after {most:g} seconds of processor time")

    before = signal.signal(signal.SIGVTALRM, give_up)
    signal.setitimer(signal.ITIMER_VIRTUAL, most)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
