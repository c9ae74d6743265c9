"""Lives of a survey: processes that save after each batch, so that many of the kills fall into a write."""

from __future__ import annotations

from functools import partial
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pandas as pd

import headatlas as ha
from headatlas.commands.shared.entry import list_entries

CONTEXT = get_context("forkserver")  # imports once for all lives, which then do little but survey
PRELOADED = [*(f"headatlas.commands.{name}.run" for name in list_entries()), "headatlas.cli.app"]
CONTEXT.set_forkserver_preload([*PRELOADED, "transformers.models.bert.modeling_bert", "peft"])


def survey_often_saved(model: str, text: Path, out: Path, **workers: Any) -> None:
    """One life of a survey."""
    from headatlas.commands.survey import run as surveying

    surveying.run_studies = partial(surveying.run_studies, seconds_between_saves=0)
    options = {"segments": 60, "max_tokens": 32, "batch_tokens": 64, "bootstrap": 50, "examples": 3}
    ha.survey(model, text=text, out=out, device="cpu", progress=False, **workers, **options)


def live(model: str, text: Path, out: Path, **workers: Any) -> BaseProcess:
    """Begin a life."""
    process = CONTEXT.Process(target=survey_often_saved, args=(model, text, out), kwargs=workers)
    process.start()
    return process


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
    """The worker processes of a survey."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rsplit(")", 1)[1].split()
            command = status.with_name("cmdline").read_bytes()
        except (OSError, IndexError):
            continue
        if int(fields[1]) == parent and b"spawn_main" in command:
            found.append(int(status.parent.name))
    return found
