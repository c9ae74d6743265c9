"""`extract` under accidents: killed at random moments, a full disk, a folder that nobody may write to."""

from __future__ import annotations

import errno
import os
import random
import signal
import time
from multiprocessing import get_context
from pathlib import Path

import pytest

import headatlas as ha
from headatlas.errors import AtlasError

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
    process = get_context("spawn").Process(target=extract_or_die, args=(str(model), out, dies_at))
    process.start()
    return process


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.fixture(scope="module")
def undisturbed(tiny_folder, tmp_path_factory):
    out = tmp_path_factory.mktemp("undisturbed") / "maps"
    started = time.monotonic()
    process = live(tiny_folder("bert"), out)
    process.join()
    assert process.exitcode == 0
    return content(out), time.monotonic() - started


def test_kills_leave_the_same_bytes(undisturbed, tiny_folder, tmp_path):
    whole, seconds = undisturbed
    assert len(whole) > 3
    dice, out = random.Random(0), tmp_path / "maps"
    killed = live(tiny_folder("bert"), out, dies_at=3)  # in the middle of a write
    killed.join()
    assert killed.exitcode == -signal.SIGKILL
    with pytest.raises(AtlasError, match="not complete"):
        ha.open_store(out)
    for _ in range(KILLS):
        process = live(tiny_folder("bert"), out)
        process.join(dice.uniform(0.5, 1.0) * seconds)
        if process.exitcode is None:
            os.kill(process.pid, signal.SIGKILL)
            process.join()
    last = live(tiny_folder("bert"), out)
    last.join()
    assert last.exitcode == 0
    assert content(out) == whole
    ha.open_store(out).verify()


@pytest.mark.parametrize(
    ("number", "remedy"), [(errno.ENOSPC, "disk is full.*same command again"), (errno.EROFS, "folder you may write to")]
)
@pytest.mark.parametrize("what", ["extract", "survey", "merge"])
def test_a_full_disk_and_a_read_only_folder(tiny_folder, tmp_path, monkeypatch, what, number, remedy):
    model, text = str(tiny_folder("bert")), ha.sample_text()
    small = {"text": text, "segments": 3, "max_tokens": 24, "device": "cpu", "progress": False}
    more = {"bootstrap": 5, "examples": 1, "clusters": 2}
    out = tmp_path / "out"

    def run():
        if what == "extract":
            return ha.extract(model, out=out, **small)
        if what == "merge":
            return ha.merge([tmp_path / "shard"], out=out)
        return ha.survey(model, out=out, **small, **more)

    if what == "merge":
        ha.survey(model, out=tmp_path / "shard", shard="1/1", **small, **more)

    def refuse(*_, **__):
        raise OSError(number, os.strerror(number))

    for where, step in ((Path, "write_text"), (Path, "mkdir"), (os, "fsync")):
        with monkeypatch.context() as patch:
            patch.setattr(where, step, refuse)
            with pytest.raises(AtlasError, match=remedy):
                run()
        assert not list(tmp_path.rglob("*.tmp"))
    run()
