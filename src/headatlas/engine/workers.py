"""Running a job with several workers: blocks of batches go out, sums come back and are merged.

A worker that dies, for whatever reason, loses only its current block: another worker gets it. Idle workers get the next
block, so slow workers delay nobody. Workers are processes on this machine or actors on a Ray cluster; both are a
`WorkerPool`, and the loop here does not know which.
"""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from headatlas.encoding.segments import Segment
from headatlas.engine.job import Failures, Job, Sums, Work, attempt
from headatlas.errors import LESS_MEMORY, ModelError
from headatlas.studies.state import Arrays
from headatlas.studies.study import Study

BLOCKS_EACH = 16  # per worker: many, so that all end at about the same time; few, since each sends its sums
MOST_ATTEMPTS = 3  # per block

_log = logging.getLogger(__name__)

Block = tuple[int, ...]  # numbers of batches


@dataclass(frozen=True)
class Reply:
    """What a worker sends: the sums of its block and what failed, or None if the worker was lost, and how."""

    worker: int
    result: tuple[Sums, Failures] | None
    loss: str = "was lost"


class WorkerPool(Protocol):
    """Numbered workers that share a job."""

    def give(self, worker: int, batches: Sequence[Sequence[Segment]]) -> None:
        """Send some batches to an idle worker, which is started if it gets its first."""

    def receive(self) -> Reply:
        """Wait for the next worker that has finished or is lost. An error within the job is raised."""

    def replace(self, worker: int) -> None:
        """Start a worker, in place of a lost one if there was one."""

    def close(self) -> None:
        """End all workers, finished or not."""


@dataclass(frozen=True)
class Workers:
    """How many workers share the batches, and where they run.

    Attributes:
        workers: Number of workers, each with its own copy of the model.
        ray: Address of a Ray cluster, "auto" to find a running one, or "local" to start one here. None: processes of
            this machine.
        threads: Threads of each worker. None: the threads of this machine, divided evenly.
        use_gpus: Give each Ray worker a GPU if the cluster has at least as many GPUs as workers.
    """

    workers: int
    ray: str | None = None
    threads: int | None = None
    use_gpus: bool = True

    def start(self, job: Job) -> WorkerPool:
        """Make a pool of these workers."""
        if self.ray is not None:
            from headatlas.engine.ray_workers import RayPool

            return RayPool(job, self.workers, self.ray, self.threads, self.use_gpus)
        from headatlas.engine.processes import ProcessPool

        return ProcessPool(job, self.workers, self.threads)


def observe_with_workers(
    workers: Workers, job: Job, work: Work, studies: Mapping[str, Study], failures: Failures
) -> Generator[Sequence[int]]:
    """Divide the remaining batches among workers, merge their sums into the studies, and yield each finished block.

    A study that fails in one block is left out of all: it is added to the failures.
    """
    waiting = deque(make_blocks(work, workers.workers))
    if not waiting:
        return
    running: dict[int, Block] = {}
    attempts: Counter[Block] = Counter()
    idle = list(range(min(workers.workers, len(waiting))))
    with closing(workers.start(job)) as pool:
        while waiting or running:
            while waiting and idle:
                worker, block = idle.pop(), waiting.popleft()
                pool.give(worker, [[work.segments[index] for index in work.plan[number]] for number in block])
                running[worker] = block
            reply = pool.receive()
            block = running.pop(reply.worker)
            idle.append(reply.worker)
            if reply.result is None:
                attempts[block] += 1
                loss = f"Worker {reply.worker + 1} {reply.loss}"
                if attempts[block] == MOST_ATTEMPTS:
                    raise ModelError(f"{MOST_ATTEMPTS} workers were lost at the same batches; {loss}. {LESS_MEMORY}")
                _log.warning("%s. Another worker takes over its batches.", loss)
                pool.replace(reply.worker)
                waiting.appendleft(block)
                continue
            sums, new_failures = reply.result
            failures |= new_failures
            for name, study in job.blank().items():
                if name not in failures:
                    attempt(name, study, failures, partial(_merge, studies[name], study, sums[name]))
            yield block


def _merge(study: Study, part: Study, sums: Arrays) -> None:
    part.restore(sums)
    study.merge(part)


def make_blocks(work: Work, workers: int) -> list[Block]:
    """Divide the remaining batches into blocks of successive batches with about the same number of tokens."""
    share = sum(work.sizes[number] for number in work.left) / (workers * BLOCKS_EACH)
    blocks: list[Block] = []
    tokens = 0
    for number in work.left:
        if blocks and tokens + work.sizes[number] <= share:
            blocks[-1] = (*blocks[-1], number)
            tokens += work.sizes[number]
        else:
            blocks.append((number,))
            tokens = work.sizes[number]
    return blocks
