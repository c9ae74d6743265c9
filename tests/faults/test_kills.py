"""A survey killed at random moments, again and again, ends with the tables of an undisturbed one.

HEADATLAS_KILLS says how often (100 takes a few minutes).
"""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import pytest

import headatlas as ha
from headatlas.engine.crew import Crew
from lives import CONTEXT, equal, live, live_on, survey_often_saved

KILLS = int(os.environ.get("HEADATLAS_KILLS", "6"))


@pytest.fixture(scope="module")
def undisturbed(tiny_folder, tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    live_on(str(tiny_folder("bert")), ha.sample_text(), folder / "first")  # the server has imported by then
    started = time.monotonic()
    atlas = live_on(str(tiny_folder("bert")), ha.sample_text(), folder / "atlas")
    return atlas, time.monotonic() - started


def test_kills_at_random_moments_change_nothing(undisturbed, tiny_folder, tmp_path):
    whole, seconds = undisturbed
    dice = random.Random(0)
    model, kills, life = str(tiny_folder("bert")), 0, 0
    while kills < KILLS:
        out = tmp_path / f"atlas{life}"
        process = live(model, ha.sample_text(), out)
        process.join(dice.uniform(0.05, 1.05) * seconds)
        if process.exitcode is None:
            os.kill(process.pid, signal.SIGKILL)
            process.join()
            assert process.exitcode in (-signal.SIGKILL, 0)
            kills += process.exitcode != 0
        if process.exitcode == 0:
            equal(ha.open_atlas(out), whole)
            life += 1
    out = tmp_path / f"atlas{life}"
    equal(live_on(model, ha.sample_text(), out), whole)
    assert not list(out.rglob("*.tmp"))


def test_a_kill_in_the_middle_of_a_write_leaves_the_last_state(undisturbed, tiny_folder, tmp_path):
    model, out = str(tiny_folder("bert")), tmp_path / "atlas"
    process = CONTEXT.Process(target=_dies_writing, args=(model, ha.sample_text(), out, 4))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    equal(live_on(model, ha.sample_text(), out), undisturbed[0])


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
    out = tmp_path / "atlas"
    killed = 0
    process = live(str(tiny_folder("bert")), ha.sample_text(), out, Crew(2, threads=1))
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
    equal(ha.open_atlas(out), undisturbed[0])


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
