"""Two workers with a thread each against one, and against one process with two threads; and merging many shards."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import headatlas as ha
from benchmarks.measuring import STUDIED, Result, base_size, random_batch, ratio
from headatlas.encoding.segments import Segment
from headatlas.engine.crew import Crew, Team
from headatlas.engine.job import Job
from headatlas.engine.processes import Processes
from headatlas.engine.run import run_studies
from headatlas.models.model import Model
from headatlas.studies import STUDIES

GOAL = 1.8
SHARDS, MERGE_SECONDS = 1000, 10.0
TOKENS, BATCH_TOKENS = 128, 1024
FACTOR = 20  # over which the cost in tokens is fitted


def measure(quick: bool) -> Result:
    """Time of one worker over that of two, each with a thread, once all are running."""
    model = base_size()
    segments = random_batch(model, 32 if quick else 96, TOKENS).segments
    rounds = 1 if quick else 5
    with closing(_Standing.of(model, 1)) as one, closing(_Standing.of(model, 2)) as two:
        gain = ratio(lambda: _see(model, segments, one), lambda: _see(model, segments, two), rounds)
        over_threads = ratio(lambda: _see(model, segments), lambda: _see(model, segments, two), rounds)
    seconds = _merge_seconds(SHARDS // 20 if quick else SHARDS)
    also = {
        "one_process_over_two_workers": round(over_threads, 3),
        "merge_seconds": round(seconds, 2),
        "merge_goal": MERGE_SECONDS,
        "cost_in_tokens": round(_cost_in_tokens(model, 1 if quick else 3), 2),
    }
    holds = over_threads >= 1 and seconds <= MERGE_SECONDS
    return Result("workers", gain, GOAL, at_least=True, also=also, also_holds=holds)


@dataclass(frozen=True)
class _Standing(Crew):
    """A crew whose team stays together from run to run, so that its start is not measured."""

    team: Processes | None = None

    @classmethod
    def of(cls, model: Model, workers: int) -> _Standing:
        job = Job(model, {name: STUDIES[name]() for name in STUDIED}, model.kinds, model.default_stack)
        return cls(workers, threads=1, team=Processes(job, workers, 1))

    def assemble(self, _job: Job) -> Team:
        assert self.team is not None
        return _Staying(self.team)

    def close(self) -> None:
        assert self.team is not None
        self.team.close()


class _Staying:
    """A team that is not sent home at the end of a run."""

    def __init__(self, team: Processes) -> None:
        self.give, self.hear, self.replace = team.give, team.hear, team.replace

    def close(self) -> None:
        """Stay."""


def _see(model: Model, segments: Sequence[Segment], crew: Crew | None = None) -> None:
    studies = {name: STUDIES[name]() for name in STUDIED}
    run_studies(model, segments, studies, kinds=model.kinds, batch_tokens=BATCH_TOKENS, crew=crew)


def _cost_in_tokens(model: Model, rounds: int) -> float:
    """How many times as long so many times the tokens take, over how many."""
    few, many = (random_batch(model, times * BATCH_TOKENS // TOKENS, TOKENS).segments for times in (1, FACTOR))
    return ratio(lambda: _see(model, many), lambda: _see(model, few), rounds) / FACTOR


def _merge_seconds(shards: int) -> float:
    """To merge a thousand shards of a survey of the embedded model, with intervals; fewer are scaled up."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        options: dict[str, Any] = {
            "segments": 8,
            "studies": list(STUDIED),
            "examples": 1,
            "device": "cpu",
            "progress": False,
        }
        first = folder / "1"
        ha.survey("embedded", text=ha.sample_text(), shard=f"1/{shards}", out=first, **options)
        manifest = json.loads((first / "manifest.json").read_text(encoding="utf-8"))
        for number in range(2, shards + 1):
            one = folder / str(number)
            one.mkdir()
            (one / "state").symlink_to(first / "state")
            manifest["settings"]["shard"] = f"{number}/{shards}"
            (one / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
        started = time.perf_counter()
        ha.merge([folder / str(number) for number in range(1, shards + 1)], out=folder / "atlas")
        return (time.perf_counter() - started) * SHARDS / shards
