"""A survey killed at random moments, again and again, ends with the tables of an undisturbed one.

HEADATLAS_KILLS says how often (100 takes a few minutes). Every life of the survey is a process of its own that saves
after each batch, so that many of the kills fall into a write.
"""

from __future__ import annotations

import os
import random
import signal
import time
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import pandas as pd
import pytest

import headatlas as ha
from headatlas.engine.crew import Crew

KILLS = int(os.environ.get("HEADATLAS_KILLS", "3"))


def survey_often_saved(model: str, text: Path, out: Path, crew: Crew | None = None) -> None:
    """One life of a survey."""
    from headatlas.surveying import run as surveying

    surveying.run_studies = partial(surveying.run_studies, seconds_between_saves=0)
    options = {"segments": 60, "max_tokens": 32, "batch_tokens": 64, "bootstrap": 50, "examples": 3}
    ha.survey(model, text=text, out=out, device="cpu", progress=False, crew=crew, **options)


def live(model, text, out, crew=None):
    process = get_context("spawn").Process(target=survey_often_saved, args=(model, text, out, crew))
    process.start()
    return process


def equal(left, right):
    assert set(left.tables) == set(right.tables)
    for name in left.tables:
        pd.testing.assert_frame_equal(left.tables[name], right.tables[name], rtol=1e-9, atol=1e-12)


@pytest.fixture(scope="module")
def undisturbed(tiny_folder, tmp_path_factory):
    out = tmp_path_factory.mktemp("undisturbed") / "atlas"
    started = time.monotonic()
    process = live(str(tiny_folder("bert")), ha.sample_text(), out)
    process.join()
    assert process.exitcode == 0
    return ha.open_atlas(out), time.monotonic() - started


def test_kills_at_random_moments_change_nothing(undisturbed, tiny_folder, tmp_path):
    whole, seconds = undisturbed
    dice = random.Random(0)
    model, out, life = str(tiny_folder("bert")), tmp_path / "atlas", 0
    for kill in range(KILLS):
        process = live(model, ha.sample_text(), tmp_path / f"atlas{life}")
        process.join(dice.uniform(0.3, 1.1) * seconds)
        if process.exitcode is None:
            os.kill(process.pid, signal.SIGKILL)
            process.join()
            assert process.exitcode == -signal.SIGKILL
        else:
            assert process.exitcode == 0, f"life after {kill} kills"
            equal(ha.open_atlas(tmp_path / f"atlas{life}"), whole)
            life += 1
    out = tmp_path / f"atlas{life}"
    last = live(model, ha.sample_text(), out)
    last.join()
    assert last.exitcode == 0
    equal(ha.open_atlas(out), whole)
    assert not list(out.rglob("*.tmp"))


def test_a_kill_in_the_middle_of_a_write_leaves_the_last_state(undisturbed, tiny_folder, tmp_path):
    whole, _ = undisturbed
    out = tmp_path / "atlas"
    for write in (4,):
        process = get_context("spawn").Process(
            target=_dies_writing, args=(str(tiny_folder("bert")), ha.sample_text(), out, write)
        )
        process.start()
        process.join()
        assert process.exitcode == -signal.SIGKILL
    process = live(str(tiny_folder("bert")), ha.sample_text(), out)
    process.join()
    assert process.exitcode == 0
    equal(ha.open_atlas(out), whole)


def _dies_writing(model: str, text: Path, out: Path, write: int) -> None:
    """A life that ends after half of the n-th state is written."""
    calls = 0
    whole = Path.write_bytes

    def half(self: Path, content: bytes) -> int:
        nonlocal calls
        calls += 1
        if calls == write:
            whole(self, content[: len(content) // 2])
            os.kill(os.getpid(), signal.SIGKILL)
        return whole(self, content)

    Path.write_bytes = half  # type: ignore[method-assign]
    survey_often_saved(model, text, out)


def test_killed_workers_change_nothing(undisturbed, tiny_folder, tmp_path):
    whole, _ = undisturbed
    model, out = str(tiny_folder("bert")), tmp_path / "atlas"
    killed = 0
    process = live(model, ha.sample_text(), out, Crew(2, threads=1))
    while process.is_alive() and killed < 2:
        time.sleep(0.2)
        workers = _children(process.pid)
        if len(workers) >= 2:
            os.kill(max(workers), signal.SIGKILL)
            killed += 1
            time.sleep(1)
    process.join()
    assert process.exitcode == 0
    assert killed == 2
    equal(ha.open_atlas(out), whole)


def _children(parent: int) -> list[int]:
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
