"""Two workers with a thread each against one, against one process with two threads, and against two of Ray.

And merging many shards, and how the cost grows with the number of tokens.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import headatlas as ha
from benchmarks.measuring import STUDIED, Result, base_size, random_batch, ratio
from headatlas.encoding.segments import Segment
from headatlas.engine.job import Job
from headatlas.engine.processes import ProcessPool
from headatlas.engine.ray_workers import RayPool
from headatlas.engine.run import run_studies
from headatlas.engine.workers import WorkerPool, Workers
from headatlas.models.model import Model
from headatlas.studies import STUDIES

GOAL, RAY_GOAL = 1.8, 1.1
SHARDS, MERGE_SECONDS = 1000, 10.0
TOKENS, BATCH_TOKENS = 128, 1024
SIZES = (1, 2, 5, 10, 20)  # in batches, over which the cost in tokens is fitted


def measure(quick: bool) -> Result:
    """Time of one worker over that of two, each with a thread, once all are running."""
    model = base_size()
    segments = random_batch(model, 32 if quick else 48, TOKENS).segments
    rounds = 1 if quick else 3
    job = Job(model, {name: STUDIES[name]() for name in STUDIED}, model.kinds, model.default_stack)
    with (
        closing(_RunningWorkers(1, pool=ProcessPool(job, 1, 1))) as one,
        closing(_RunningWorkers(2, pool=ProcessPool(job, 2, 1))) as two,
    ):
        gain = ratio(lambda: _see(model, segments, one), lambda: _see(model, segments, two), rounds)
        over_threads = ratio(lambda: _see(model, segments), lambda: _see(model, segments, two), rounds)
        with closing(_RunningWorkers(2, pool=RayPool(job, 2, "local", threads=1))) as on_ray:
            ray = ratio(lambda: _see(model, segments, on_ray), lambda: _see(model, segments, two), rounds)
    seconds = _merge_seconds(SHARDS // 20 if quick else SHARDS)
    also = {
        "one_process_over_two_workers": round(over_threads, 3),
        "ray_over_two_workers": round(ray, 3),
        "ray_goal": RAY_GOAL,
        "merge_seconds": round(seconds, 2),
        "merge_goal": MERGE_SECONDS,
        **_cost_in_tokens(model, 1 if quick else 2),
    }
    holds = over_threads >= 1 and seconds <= MERGE_SECONDS and ray <= RAY_GOAL
    return Result("workers", gain, GOAL, at_least=True, also=also, also_holds=holds)


@dataclass(frozen=True)
class _RunningWorkers(Workers):
    """Workers that keep running from run to run, so that their start is not measured."""

    pool: ProcessPool | RayPool | None = None

    def start(self, _job: Job) -> WorkerPool:
        assert self.pool is not None
        return _RunningPool(self.pool)

    def close(self) -> None:
        assert self.pool is not None
        self.pool.close()


class _RunningPool:
    """A pool that is not closed at the end of a run."""

    def __init__(self, pool: WorkerPool) -> None:
        self.give, self.receive, self.replace = pool.give, pool.receive, pool.replace

    def close(self) -> None:
        """Keep the workers."""


def _see(model: Model, segments: Sequence[Segment], workers: Workers | None = None) -> None:
    studies = {name: STUDIES[name]() for name in STUDIED}
    run_studies(model, segments, studies, kinds=model.kinds, batch_tokens=BATCH_TOKENS, workers=workers)


def _cost_in_tokens(model: Model, rounds: int) -> dict[str, float]:
    """Seconds as tokens to some power, fitted to a line of logarithms: the power, and how much the line explains."""
    samples = [random_batch(model, size * BATCH_TOKENS // TOKENS, TOKENS).segments for size in SIZES]
    _see(model, samples[0])
    seconds = [[_seconds(model, sample) for sample in samples] for _ in range(rounds)]
    x, y = np.log(SIZES), np.log(np.median(seconds, axis=0))
    return {"cost_in_tokens_power": round(np.polyfit(x, y, 1)[0], 3), "fit_r2": round(np.corrcoef(x, y)[0, 1] ** 2, 4)}


def _seconds(model: Model, segments: Sequence[Segment]) -> float:
    started = time.perf_counter()
    _see(model, segments)
    return time.perf_counter() - started


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
