"""Ctrl-C: pressed once it stops a run at the next safe point, pressed twice it stops it at once."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from headatlas.errors import SurveyInterruptedError

STOPPING = "Stopping after this batch; press Ctrl-C again to stop now."
KEPT = "Finished work is saved; the same command continues."

_current: threading.Event | None = None  # of the outermost run that catches Ctrl-C


@contextmanager
def ctrl_c() -> Iterator[threading.Event]:
    """Turn the first Ctrl-C into an event, so that a batch is never half counted; the second interrupts.

    Runs may be nested (a survey within a reproduction): all of them share one event. The code within stops at its next
    safe point; a request during the last batch, which nobody checks for any more, is honoured at the end. Python
    delivers signals only to the main thread, so in other threads the event is never set.

    Yields:
        The event that the first Ctrl-C sets.

    Raises:
        SurveyInterruptedError: Ctrl-C was pressed and the code within did not stop.
    """
    global _current
    if threading.current_thread() is not threading.main_thread():
        yield threading.Event()
        return
    if _current is not None:
        yield _current
        return
    stop = _current = threading.Event()

    def request_stop(_number: int, _frame: FrameType | None) -> None:
        stop.set()
        # Not the previous handler: a background job of a shell starts with Ctrl-C ignored.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _say(STOPPING)

    before = signal.signal(signal.SIGINT, request_stop)
    try:
        yield stop
    finally:
        _current = None
        signal.signal(signal.SIGINT, before if before is not None else signal.default_int_handler)
    if stop.is_set():
        raise SurveyInterruptedError(f"Stopped. {KEPT}")


def _say(text: str) -> None:
    """Print a line on standard error from within a signal handler."""
    try:
        print(text, file=sys.stderr, flush=True)
    except RuntimeError:  # the signal came in the middle of another write to the same stream
        os.write(2, f"\n{text}\n".encode())
