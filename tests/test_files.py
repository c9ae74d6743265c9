from __future__ import annotations

import errno
import hashlib
import os
from pathlib import Path

import pytest
from safetensors import SafetensorError

from headatlas.errors import AtlasError
from headatlas.files import (
    CHUNK_BYTES,
    json_text,
    make_folder,
    others_write,
    parse_json,
    sha256,
    write_atomically,
    write_text,
)


def fail_with(number: int) -> OSError:
    return OSError(number, os.strerror(number))


def test_writes_and_leaves_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "table.csv"
    write_text(target, "größe\n")
    write_text(target, "größer\n")
    assert target.read_bytes() == "größer\n".encode()
    assert list(tmp_path.iterdir()) == [target]


def test_a_reader_meets_the_old_file_until_the_new_one_is_whole(tmp_path: Path) -> None:
    target = tmp_path / "table.csv"
    target.write_text("old")

    def write(temporary: Path) -> None:
        assert temporary.parent == target.parent  # else the move would not be one step
        temporary.write_text("half")
        assert target.read_text() == "old"
        temporary.write_text("new")

    write_atomically(target, write)
    assert target.read_text() == "new"


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt()])
def test_a_writer_that_raises_leaves_the_old_file(tmp_path: Path, error: BaseException) -> None:
    target = tmp_path / "table.csv"
    target.write_text("old")

    def write(temporary: Path) -> None:
        temporary.write_text("half")
        raise error

    with pytest.raises(type(error)):
        write_atomically(target, write)
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_full_disk_leaves_the_old_file_and_says_so(tmp_path: Path) -> None:
    target = tmp_path / "table.csv"
    target.write_text("old")

    def write(temporary: Path) -> None:
        temporary.write_text("half")
        raise fail_with(errno.ENOSPC)

    with pytest.raises(AtlasError, match=r"table\.csv: cannot write .*The disk is full: free some space"):
        write_atomically(target, write)
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_disk_that_fills_on_the_way_to_the_platter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "table.csv"
    target.write_text("old")

    def fsync(_: int) -> None:
        raise fail_with(errno.ENOSPC)

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(AtlasError, match="disk is full"):
        write_text(target, "new")
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_bytes_reach_the_disk_before_the_move(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "table.csv"
    steps = []
    real_fsync, real_replace = os.fsync, Path.replace
    monkeypatch.setattr(os, "fsync", lambda handle: (steps.append("fsync"), real_fsync(handle)))
    monkeypatch.setattr(Path, "replace", lambda self, to: (steps.append("replace"), real_replace(self, to)))
    write_text(target, "new")
    assert steps == ["fsync", "replace"]


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS, errno.EPERM])
def test_a_read_only_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    target = tmp_path / "table.csv"
    target.write_text("old")

    def refuse(*_: object, **__: object) -> None:
        raise fail_with(number)

    for name in ("write_text", "unlink"):  # a read-only disk refuses to remove as well
        monkeypatch.setattr(Path, name, refuse)
    with pytest.raises(AtlasError, match=r"table\.csv: cannot write .*Choose a folder you may write to"):
        write_text(target, "new")
    assert target.read_text() == "old"
    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(AtlasError, match="Choose a folder you may write to"):
        make_folder(tmp_path / "new")


def test_a_missing_folder_and_a_file_where_a_folder_should_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for target in (tmp_path / "none" / "table.csv", tmp_path / "file" / "table.csv"):
        with pytest.raises(AtlasError, match=r"table\.csv: cannot write .*Check the folder"):
            write_text(target, "new")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(AtlasError, match="cannot make this folder"):
            make_folder(folder)


def test_make_folder_makes_parents_and_may_be_repeated(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    make_folder(folder)
    make_folder(folder)
    assert folder.is_dir()


@pytest.mark.parametrize("size", [0, 1, CHUNK_BYTES, CHUNK_BYTES + 1])
def test_sha256(tmp_path: Path, size: int) -> None:
    data = bytes(range(256)) * (size // 256 + 1)
    (tmp_path / "file").write_bytes(data[:size])
    assert sha256(tmp_path / "file") == hashlib.sha256(data[:size]).hexdigest()


def test_what_a_killed_process_left_is_removed_by_the_next_write(tmp_path: Path) -> None:
    target, other = tmp_path / "maps[0].json", tmp_path / "other.json"
    gone = 2**22 + 1  # above the largest number that Linux gives a process
    left = [tmp_path / f".{name}.{number}.tmp" for name in (target.name, other.name) for number in (gone, 1)]
    for path in left:
        path.write_text("half")
    write_text(target, "new")
    assert not left[0].exists()
    assert all(path.exists() for path in left[1:]), "those of another file, or of a process that lives, stay"


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OSError(errno.EROFS, "Read-only file system"), r"out: cannot write \(Read-only.*folder you may write to"),
        (SafetensorError("I/O error: No space left on device (os error 28)"), r"\(No space left.*disk is full"),
    ],
)
def test_what_a_library_cannot_write_is_told_in_the_same_words(tmp_path: Path, error: Exception, message: str) -> None:
    with pytest.raises(AtlasError, match=message), others_write(tmp_path / "out"):
        raise error


def test_what_is_no_fault_of_the_disk_is_left_as_it_is(tmp_path: Path) -> None:
    with pytest.raises(SafetensorError, match="a header"), others_write(tmp_path):
        raise SafetensorError("a header that is none")


def test_half_a_surrogate_is_written_as_its_escape_and_reads_back(tmp_path):
    text = json_text({"file": "lat\udce9n.txt", "name": "é"}, indent=1)
    write_text(tmp_path / "a.json", text)
    assert parse_json((tmp_path / "a.json").read_text(encoding="utf-8")) == {"file": "lat\\udce9n.txt", "name": "é"}
