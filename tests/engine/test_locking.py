"""One run at a time in a folder: the second is refused, one that died is taken over, nothing is left behind."""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import threading
import warnings
from multiprocessing import get_context
from pathlib import Path

import fsspec
import pytest

from headatlas.engine import guards
from headatlas.engine.guards import HOLDER, LOCK, lock_folder, output_folder
from headatlas.errors import AtlasError

SPAWN = get_context("spawn")


def hold(folder: Path, line) -> None:
    """Another process that holds the lock until it is asked to end."""
    with lock_folder(folder, "survey"):
        line.send("held")
        line.recv()


@pytest.fixture
def holder(tmp_path):
    """A process that holds the lock of a folder, and the folder."""
    here, there = SPAWN.Pipe()
    folder = tmp_path / "atlas"
    process = SPAWN.Process(target=hold, args=(folder, there))
    process.start()
    there.close()
    assert here.recv() == "held"
    yield process, folder, here
    process.kill()
    process.join()


def refused(folder: Path) -> str:
    with pytest.raises(AtlasError) as error, lock_folder(folder, "extract"):
        pytest.fail("two runs at once")
    return str(error.value)


def test_a_second_run_is_refused_with_who_and_since_when(holder):
    process, folder, _ = holder
    message = refused(folder)
    assert f"process {process.pid} (headatlas survey, since 20" in message
    assert "--out" in message
    (folder / HOLDER).write_text("{")
    assert "another process is writing" in refused(folder)
    (folder / HOLDER).write_text(json.dumps({"process": 7, "machine": "far", "command": "probe", "since": "noon"}))
    assert "process 7 on far (headatlas probe, since noon)" in refused(folder)


def test_the_lock_of_a_process_that_died_is_taken_over(holder):
    process, folder, _ = holder
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    assert (folder / LOCK).exists()
    with lock_folder(folder, "survey"):
        assert json.loads((folder / HOLDER).read_text())["process"] == os.getpid()


def test_a_run_that_ended_leaves_nothing_behind(holder, tmp_path):
    process, folder, line = holder
    line.send("end")
    process.join()
    assert not folder.exists(), "made for the lock alone"
    with lock_folder(tmp_path / "a" / "b", "survey"):
        (tmp_path / "a" / "b" / "result").touch()
    assert [path.name for path in (tmp_path / "a" / "b").iterdir()] == ["result"]
    with pytest.raises(ValueError, match="broken"), lock_folder(tmp_path / "c" / "d", "survey"):
        raise ValueError("broken")
    assert not (tmp_path / "c").exists()
    (tmp_path / "empty").mkdir()
    with lock_folder(tmp_path / "empty", "survey"):
        pass
    assert (tmp_path / "empty").is_dir(), "it was there before"


def test_a_run_within_a_run_shares_the_lock_and_a_thread_does_not(tmp_path):
    seen = []
    with lock_folder(tmp_path, "reproduce"):
        with lock_folder(tmp_path / ".." / tmp_path.name, "survey"):
            assert (tmp_path / LOCK).exists()
        assert (tmp_path / LOCK).exists(), "the inner one leaves it to the outer"
        thread = threading.Thread(target=lambda: seen.append(refused(tmp_path)))
        thread.start()
        thread.join()
    assert f"process {os.getpid()} (headatlas reproduce" in seen[0]


def test_a_file_in_place_of_the_folder(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(AtlasError, match="is a file"), lock_folder(tmp_path / "file", "survey"):
        pass


class Without:
    """A lock on a file system that has none."""

    error: Exception = NotImplementedError()

    def __init__(self, _: Path) -> None: ...

    def acquire(self, timeout: float) -> None:
        raise self.error


@pytest.mark.parametrize("error", [NotImplementedError(), OSError(errno.ENOLCK, "No locks available")])
def test_a_file_system_without_locks_is_reported(tmp_path, monkeypatch, caplog, error):
    monkeypatch.setattr(Without, "error", error)
    monkeypatch.setattr(guards, "FileLock", Without)
    with lock_folder(tmp_path, "survey"):
        pass
    assert re.search(r"this file system does not support locks. Make sure that no other run", caplog.text)


def test_a_file_that_replaces_a_lock_is_reported(tmp_path, monkeypatch, caplog):
    class Soft(guards.FileLock):  # type: ignore[misc, valid-type]
        def acquire(self, timeout=0):
            warnings.warn("flock not supported on this filesystem, falling back to SoftFileLock", stacklevel=2)
            return super().acquire(timeout=timeout)

    monkeypatch.setattr(guards, "FileLock", Soft)
    with lock_folder(tmp_path, "survey"):
        pass
    assert "this file system does not support locks" in caplog.text


def test_other_failures_are_errors_and_a_read_only_folder_can_be_opened(tmp_path, monkeypatch):
    monkeypatch.setattr(guards, "FileLock", Without)
    monkeypatch.setattr(Without, "error", OSError(errno.EROFS, "Read-only file system"))
    with lock_folder(tmp_path, "survey"):
        pass
    monkeypatch.setattr(Without, "error", OSError(errno.EIO, "Input/output error"))
    with pytest.raises(AtlasError, match="cannot be locked"), lock_folder(tmp_path, "survey"):
        pass


def test_what_is_made_for_a_url_is_sent_unless_something_fails(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADATLAS_CACHE", str(tmp_path / "cache"))
    bucket = fsspec.filesystem("memory")
    with pytest.raises(ValueError, match="broken"), output_folder("memory://made/broken", "survey"):
        raise ValueError("broken")
    assert not bucket.exists("/made/broken")
    with output_folder("memory://made/whole", "survey") as folder:
        assert (folder / LOCK).exists()
        (folder / "manifest.json").write_text("{}")
    assert bucket.ls("/made/whole", detail=False) == ["/made/whole/manifest.json"]
    with output_folder(tmp_path / "here", "survey") as folder:
        assert folder == tmp_path / "here"
