"""Lives of a survey: processes that save after each batch, so that many of the kills fall into a write."""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from multiprocessing import parent_process
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pandas as pd

import headatlas as ha
from headatlas.commands.shared.entry import list_entries
from headatlas.engine import processes

if parent_process() is None:  # the server imports once for all lives, which then do little but survey
    processes.PRELOADED += [*(f"headatlas.commands.{name}.run" for name in list_entries()), "headatlas.cli.app"]
    processes.PRELOADED += ["transformers.models.bert.modeling_bert", "peft"]


def begin(work: Callable[..., None], *given: Any, **options: Any) -> BaseProcess:
    """Begin a process that does some work."""
    process = processes.fork_server().Process(target=_heed_ctrl_c, args=(work, given, options))
    process.start()
    return process


def _heed_ctrl_c(work: Callable[..., None], given: Sequence[Any], options: Mapping[str, Any]) -> None:
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    work(*given, **options)


def survey_often_saved(model: str, text: Path, out: Path, **workers: Any) -> None:
    """One life of a survey."""
    from headatlas.commands.survey import run as surveying

    surveying.run_studies = partial(surveying.run_studies, seconds_between_saves=0)
    options = {"segments": 60, "max_tokens": 32, "batch_tokens": 64, "bootstrap": 50, "examples": 3}
    ha.survey(model, text=text, out=out, device="cpu", progress=False, **workers, **options)


def live(model: str, text: Path, out: Path, **workers: Any) -> BaseProcess:
    """Begin a life."""
    return begin(survey_often_saved, model, text, out, **workers)


def live_on(model: str, text: Path, out: Path, **workers: Any) -> ha.Atlas:
    """A life that nobody ends."""
    process = live(model, text, out, **workers)
    process.join()
    assert process.exitcode == 0
    return ha.open_atlas(out)


def equal(left: ha.Atlas, right: ha.Atlas) -> None:
    """Both have the same tables."""
    assert set(left.tables) == set(right.tables)
    for name in left.tables:
        pd.testing.assert_frame_equal(left.tables[name], right.tables[name], rtol=1e-9, atol=1e-12)


def workers_of(parent: int) -> list[int]:
    """The worker processes of a survey: those that were forked from its server."""
    return [worker for server in children_of(parent) for worker in children_of(server)]


def children_of(parent: int) -> list[int]:
    """The processes that a process started."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rsplit(")", 1)[1].split()
        except (OSError, IndexError):
            continue
        if int(fields[1]) == parent:
            found.append(int(status.parent.name))
    return found
