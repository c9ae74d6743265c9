"""One answer at a time: a model must not run twice at once, and a queue without end would never be caught up with."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

Answer = TypeVar("Answer")
MOST_INSIDE = 4  # answered or waiting
SECONDS = 60.0


class BusyError(Exception):
    """Too many are waiting already."""


class Turns:
    """Runs work on one thread of its own, in the order it came, each with a limit of time."""

    def __init__(self, most: int = MOST_INSIDE, seconds: float = SECONDS) -> None:
        self._room = threading.BoundedSemaphore(most)
        self._seconds = seconds
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="headatlas-model")

    async def run(self, work: Callable[[], Answer]) -> Answer:
        """The work's answer; BusyError where the queue is full, TimeoutError where it takes too long.

        Work that has begun cannot be broken off: it keeps its place until it ends, though nobody waits for it.
        """
        if not self._room.acquire(blocking=False):
            raise BusyError
        future: Future[Answer] = self._worker.submit(work)
        future.add_done_callback(self._leave)
        return await asyncio.wait_for(asyncio.wrap_future(future), self._seconds)

    def _leave(self, _future: Future[Any]) -> None:
        self._room.release()
