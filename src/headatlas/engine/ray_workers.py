"""Workers as actors on a Ray cluster, each with the model, on whatever machines Ray chooses.

The model goes to the cluster once; blocks of segments go out and sums come back. An actor whose process or machine has
died is replaced by a new one, which Ray places elsewhere.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import torch

from headatlas.encoding.segments import Segment
from headatlas.engine.job import Failures, Job, Sums
from headatlas.engine.workers import Reply
from headatlas.errors import ModelError, SettingError
from headatlas.models.model import Model
from headatlas.wording import counted

LOCAL = "local"  # the address that starts a cluster on this machine
SECONDS_FOR_A_PLACE = 60.0  # until the cluster is asked whether it has room for a worker at all


class RayPool:
    """Actors on the cluster at an address. threads: CPUs of each. use_gpus: one for each, if there are enough."""

    def __init__(self, job: Job, workers: int, address: str, threads: int | None = None, use_gpus: bool = True) -> None:
        try:
            import ray
        except ImportError as error:
            raise SettingError("--ray needs Ray. Install it with: pip install headatlas[ray]") from error
        self._ray: Any = ray
        self._threads = threads or max(1, (os.cpu_count() or 1) // workers if address == LOCAL else 1)
        self._started_here = not ray.is_initialized()
        if self._started_here:
            cpus = max(workers * self._threads, os.cpu_count() or 1) if address == LOCAL else None
            try:
                ray.init(address=address, num_cpus=cpus, include_dashboard=False, log_to_driver=False)
            except (ConnectionError, ValueError, RuntimeError) as error:
                raise SettingError(f"--ray {address}: no Ray cluster answers at this address ({error}).") from error
        self._gpus = int(use_gpus and self._ray.cluster_resources().get("GPU", 0) >= workers)
        self._job = ray.put(job)
        self._actor = ray.remote(num_cpus=self._threads, num_gpus=self._gpus, max_restarts=0)(_Worker)
        self._workers: dict[int, Any] = {}
        self._busy: dict[Any, int] = {}

    def give(self, worker: int, batches: Sequence[Sequence[Segment]]) -> None:
        if worker not in self._workers:
            self.replace(worker)
        self._busy[self._workers[worker].sums.remote(batches)] = worker

    def receive(self) -> Reply:
        while True:
            done, _ = self._ray.wait(list(self._busy), num_returns=1, timeout=SECONDS_FOR_A_PLACE)
            if done:
                break
            self._check_room()
        worker = self._busy.pop(done[0])
        errors = self._ray.exceptions
        try:
            return Reply(worker, self._ray.get(done[0]))
        except errors.RayTaskError as error:
            raise error.cause if isinstance(error.cause, Exception) else error from error
        except errors.OutOfMemoryError:
            return Reply(worker, None, "was ended by Ray because its machine ran out of memory")
        except (errors.RayActorError, errors.ObjectLostError, errors.WorkerCrashedError, errors.NodeDiedError):
            return Reply(worker, None)

    def replace(self, worker: int) -> None:
        self._end(worker)
        self._workers[worker] = self._actor.remote(self._job, self._threads, self._gpus > 0)

    def close(self) -> None:
        for worker in list(self._workers):
            self._end(worker)
        if self._started_here:
            self._ray.shutdown()

    def _end(self, worker: int) -> None:
        if (actor := self._workers.pop(worker, None)) is not None:
            with suppress(self._ray.exceptions.RayError):
                self._ray.kill(actor)

    def _check_room(self) -> None:
        """Refuse to wait for a worker that is too large for every machine of the cluster."""
        machines = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        if not any(size.get("CPU", 0) >= self._threads and size.get("GPU", 0) >= self._gpus for size in machines):
            raise ModelError(
                f"No machine of the Ray cluster has {counted(self._threads, 'CPU')} and {counted(self._gpus, 'GPU')} "
                "for a worker. Add a machine to the cluster."
            )


class _Worker:
    """An actor on the cluster that turns batches into sums."""

    def __init__(self, job: Job, threads: int, on_gpu: bool) -> None:
        torch.set_num_threads(threads)
        self._job = job
        if on_gpu and isinstance(job.model, Model):
            device = torch.device("cuda")
            self._job = replace(job, model=replace(job.model, network=job.model.network.to(device), device=device))

    def sums(self, batches: Sequence[Sequence[Segment]]) -> tuple[Sums, Failures]:
        """The studies' sums over some batches."""
        return self._job.sums(batches)
