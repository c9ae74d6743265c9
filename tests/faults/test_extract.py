"""`extract` killed at random moments and in the middle of a write: the next life ends with the same bytes."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import pytest

import headatlas as ha
from headatlas.errors import AtlasError
from lives import begin

KILLS = int(os.environ.get("HEADATLAS_KILLS", "2"))
OPTIONS = {"max_tokens": 48, "level": "tokens", "dtype_stored": "float32", "shard_megabytes": 1, "device": "cpu"}


def extract_or_die(model: str, out: Path, dies_at: int | None) -> None:
    """One life of an extraction; the one that dies does so when half of that write has reached the disk."""
    calls, whole = 0, os.fsync

    def half(handle: int) -> None:
        nonlocal calls
        calls += 1
        if calls == dies_at:
            os.ftruncate(handle, os.fstat(handle).st_size // 2)
            os.kill(os.getpid(), signal.SIGKILL)
        whole(handle)

    os.fsync = half
    ha.extract(model, treebank=ha.sample_treebank(), out=out, progress=False, **OPTIONS)


def live(model, out, dies_at=None):
    return begin(extract_or_die, str(model), out, dies_at)


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.fixture(scope="module")
def undisturbed(tiny_folder, tmp_path_factory):
    out = tmp_path_factory.mktemp("undisturbed") / "maps"
    begin(int).join()  # the server imports
    started = time.monotonic()
    process = live(tiny_folder("bert"), out)
    process.join()
    assert process.exitcode == 0
    return content(out), time.monotonic() - started


def test_kills_leave_the_same_bytes(undisturbed, tiny_folder, tmp_path):
    whole, seconds = undisturbed
    assert len(whole) > 3
    rng, out = random.Random(0), tmp_path / "maps"
    killed = live(tiny_folder("bert"), out, dies_at=3)  # in the middle of a write
    killed.join()
    assert killed.exitcode == -signal.SIGKILL
    with pytest.raises(AtlasError, match="not complete"):
        ha.open_store(out)
    for _ in range(KILLS):
        process = live(tiny_folder("bert"), out)
        process.join(rng.uniform(0.5, 1.0) * seconds)
        if process.exitcode is None:
            os.kill(process.pid, signal.SIGKILL)
            process.join()
    last = live(tiny_folder("bert"), out)
    last.join()
    assert last.exitcode == 0
    assert content(out) == whole
    ha.open_store(out).verify()
