"""The files of a folder or a zip, sorted by name, read one at a time and never unpacked to disk."""

from __future__ import annotations

import lzma
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from headatlas.corpora.files import too_large
from headatlas.errors import CorpusError
from headatlas.limits import LARGEST_DOCUMENT

DAMAGED = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error),
    *(NotImplementedError, RuntimeError, ValueError, OSError),  # an unknown method, a password, bzip2's own
)
"""What reading a damaged zip can raise."""


class Archive:
    """A folder or a zip that is open for reading."""

    def __init__(self, path: Path, opened: zipfile.ZipFile | None) -> None:
        self.path = path
        self._zip = opened

    def names(self) -> list[PurePosixPath]:
        """All files in it, sorted, except hidden ones and those that Apple's archiver adds."""
        if self._zip is not None:
            names = [PurePosixPath(name) for name in self._zip.namelist() if not name.endswith("/")]
        else:
            names = [PurePosixPath(file.relative_to(self.path)) for file in self.path.rglob("*") if file.is_file()]
        return sorted(name for name in names if not any(part.startswith((".", "__MACOSX")) for part in name.parts))

    def read(self, name: PurePosixPath) -> bytes:
        """The bytes of one file."""
        inside = self.path / name
        try:
            size = inside.stat().st_size if self._zip is None else self._zip.getinfo(str(name)).file_size
            if size > LARGEST_DOCUMENT:
                raise too_large("has", f"{LARGEST_DOCUMENT:,} bytes", "Split the document.", inside)
            return inside.read_bytes() if self._zip is None else self._zip.read(str(name))
        except DAMAGED as error:
            if self._zip is None:
                raise CorpusError(f"cannot be read ({error}). Check the folder.", inside) from error
            raise CorpusError(f"cannot be read from the zip ({error}). Fetch it again.", inside) from error


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """Open a folder or a zip."""
    if path.is_dir():
        yield Archive(path, None)
        return
    with open_zip(path) as opened:
        yield Archive(path, opened)


def open_zip(path: Path) -> zipfile.ZipFile:
    """Open a zip."""
    try:
        return zipfile.ZipFile(path)
    except DAMAGED as error:
        raise CorpusError(f"is a damaged zip ({error}). Fetch it again.", path) from error


def decode(raw: bytes, path: Path, left_out: Counter[str]) -> str:
    """Decode a file: UTF-8, else Windows-1252, which files of mixed origin may use; the latter is counted."""
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise CorpusError("is UTF-16. Convert it: iconv -f UTF-16 -t UTF-8 FILE > NEW.", path)
    if b"\0" in raw:
        raise CorpusError("contains zero bytes, so it is a binary file. Give plain text.", path)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        left_out["file_read_as_windows_1252"] += 1
        return raw.decode("cp1252", errors="replace")
