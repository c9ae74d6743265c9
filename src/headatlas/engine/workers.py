"""Many hands: blocks of batches go out to workers, their sums come back and are merged as they come.

A worker that dies, by whatever cause, loses only the block it had: another gets it. Whoever is idle gets the next
block, so that slow workers hold nobody up. Workers are processes of this machine or actors on a Ray cluster; both are
a `Team`, and the loop here does not know which.
"""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Protocol, get_args

from headatlas.choices import Engine
from headatlas.encoding.segments import Segment
from headatlas.engine.job import Job, Work
from headatlas.engine.memory import REMEDY
from headatlas.errors import ModelError, SettingError
from headatlas.studies import Study
from headatlas.studies.study import State

ENGINES: tuple[str, ...] = get_args(Engine)
BLOCKS_EACH = 16  # for every worker: many, so that all end at about the same time; few, since each sends its sums
MOST_ATTEMPTS = 3  # at one block

_log = logging.getLogger(__name__)

Block = tuple[int, ...]  # numbers of batches


@dataclass(frozen=True)
class Answer:
    """What one member of a team says: the sums of its block, or None where it was lost, and how."""

    member: int
    sums: dict[str, State] | None
    lost: str = "was lost"


class Team(Protocol):
    """Workers with a job, told apart by number."""

    def give(self, member: int, batches: Sequence[Sequence[Segment]]) -> None:
        """Let an idle member see some batches."""

    def hear(self) -> Answer:
        """Wait for the next member that has finished or is lost. What goes wrong within the job is raised."""

    def replace(self, member: int) -> None:
        """Put a new worker in the place of a lost one."""

    def close(self) -> None:
        """Send everyone home, finished or not."""


@dataclass(frozen=True)
class Crew:
    """Who runs a survey beside this process.

    threads: of each worker; by default those of this process are shared out. gpus: of each Ray worker, or a part of
    one. address: of a running Ray cluster; by default one is started on this machine.
    """

    workers: int
    engine: Engine = "processes"
    threads: int | None = None
    gpus: float = 0.0
    address: str | None = None

    def check(self) -> None:
        """Refuse what cannot work before a model is loaded."""
        if self.engine not in ENGINES:
            raise SettingError(f"--engine {self.engine} is unknown. Use one of: {', '.join(ENGINES)}.")
        if self.workers < 1:
            raise SettingError(f"--workers must be at least 1, not {self.workers}.")
        if self.threads is not None and self.threads < 1:
            raise SettingError(f"--worker-threads must be at least 1, not {self.threads}.")
        if self.gpus < 0:
            raise SettingError(f"--worker-gpus must not be negative, but is {self.gpus:g}.")
        if self.engine != "ray" and (self.address is not None or self.gpus):
            raise SettingError("--address and --worker-gpus are for --engine ray. Add it, or leave them out.")

    def assemble(self, job: Job) -> Team:
        """Start the workers."""
        if self.engine == "ray":
            from headatlas.engine.ray_workers import RayTeam

            return RayTeam(job, self.workers, self.threads, self.gpus, self.address)
        from headatlas.engine.processes import Processes

        return Processes(job, self.workers, self.threads)


def see_together(crew: Crew, job: Job, work: Work, studies: Mapping[str, Study]) -> Generator[Block]:
    """Let the crew see every batch that is left, merge what comes back into the studies, and tell what is done."""
    waiting = deque(make_blocks(work, crew.workers))
    if not waiting:
        return
    at_work: dict[int, Block] = {}
    attempts: Counter[Block] = Counter()
    idle = list(range(min(crew.workers, len(waiting))))
    with closing(crew.assemble(job)) as team:
        while waiting or at_work:
            while waiting and idle:
                member, block = idle.pop(), waiting.popleft()
                team.give(member, [[work.segments[index] for index in work.plan[number]] for number in block])
                at_work[member] = block
            answer = team.hear()
            block = at_work.pop(answer.member)
            idle.append(answer.member)
            if answer.sums is None:
                attempts[block] += 1
                worker = f"Worker {answer.member + 1} {answer.lost}"
                if attempts[block] == MOST_ATTEMPTS:
                    raise ModelError(f"{MOST_ATTEMPTS} workers were lost at the same batches; {worker}. {REMEDY}")
                _log.warning("%s. Another worker takes over its batches.", worker)
                team.replace(answer.member)
                waiting.appendleft(block)
                continue
            _merge(studies, job.blank(), answer.sums)
            yield block


def make_blocks(work: Work, workers: int) -> list[Block]:
    """Batches that follow each other, in blocks of about the same number of tokens."""
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


def _merge(studies: Mapping[str, Study], others: Mapping[str, Study], sums: Mapping[str, State]) -> None:
    for name, study in studies.items():
        others[name].restore(sums[name])
        study.merge(others[name])
