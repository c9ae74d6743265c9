"""A survey killed in the middle of a write, or whose workers are killed, ends with the tables of an undisturbed one."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import headatlas as ha
from headatlas import checksums
from lives import begin, equal, live, live_on, survey_often_saved, workers_of


@pytest.fixture(scope="module")
def undisturbed(tiny_folder, tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    return live_on(str(tiny_folder("bert")), ha.sample_text(), folder / "atlas")


def test_a_kill_in_the_middle_of_a_write_leaves_the_last_state(undisturbed, tiny_folder, tmp_path):
    model, out = str(tiny_folder("bert")), tmp_path / "atlas"
    process = begin(_dies_writing, model, ha.sample_text(), out, 4)
    process.join()
    assert process.exitcode == -signal.SIGKILL
    equal(live_on(model, ha.sample_text(), out), undisturbed)


def _dies_writing(model: str, text: Path, out: Path, write: int) -> None:
    """A life that ends after half of the n-th state is written."""
    calls = 0
    whole = checksums._parts

    def half(arrays: Any, metadata: Any) -> Iterator[Any]:
        nonlocal calls
        calls += 1
        content = b"".join(whole(arrays, metadata))
        if calls == write:
            yield content[: len(content) // 2]
            os.kill(os.getpid(), signal.SIGKILL)
        yield content

    checksums._parts = half
    survey_often_saved(model, text, out)


def test_killed_workers_change_nothing(undisturbed, tiny_folder, tmp_path):
    out = tmp_path / "atlas"
    killed: set[int] = set()
    process = live(str(tiny_folder("bert")), ha.sample_text(), out, workers=2)
    while process.is_alive() and len(killed) < 2:
        workers = set(workers_of(process.pid)) - killed
        if len(workers) >= 2:  # the lost one is replaced
            os.kill(max(workers), signal.SIGKILL)
            killed.add(max(workers))
        time.sleep(0.02)
    process.join()
    assert process.exitcode == 0
    assert len(killed) == 2
    equal(ha.open_atlas(out), undisturbed)
