"""How small work shares the threads: waking others and waiting for them can take longer than the work itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Lock
from typing import TypeVar

import numba
import torch

Item = TypeVar("Item")

_one_caller = Lock()  # not every threading layer of numba bears two callers at a time


@contextmanager
def one_thread() -> Iterator[None]:
    """Let torch work in one thread on the CPU: for operations of a millisecond or less each."""
    usual = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(usual)


def side_by_side(work: Callable[[Item], None], items: Iterable[Item]) -> None:
    """Do independent pieces of work on the CPU at the same time, each in one thread, so that none waits for another."""
    usual = torch.get_num_threads()
    try:
        with ThreadPoolExecutor(usual, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            list(pool.map(work, items))
    finally:
        torch.set_num_threads(usual)


@contextmanager
def numba_threads(many: bool) -> Iterator[None]:
    """Run a parallel numba kernel alone, with as many threads as torch may use, or with one where the work is small.

    Starting numba's threads can change how many OpenMP gives to torch: torch gets back what it had.
    """
    usual = torch.get_num_threads()
    with _one_caller:
        numba.set_num_threads(min(usual if many else 1, numba.config.NUMBA_NUM_THREADS))
        try:
            yield
        finally:
            torch.set_num_threads(usual)
