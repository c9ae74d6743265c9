"""Files and folders at URLs: any that fsspec knows (s3://, gs://, hf://, https://, ...).

A file is fetched before it is read. A folder to be written at a URL is made on this machine, where a run that was
stopped finds its state again, and is sent when it is finished, the manifest last: whoever sees it sees everything.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any, TypeGuard

from headatlas.errors import AtlasError, CorpusError, HeadatlasError, SettingError, first_line
from headatlas.files import make_folder, parse_json, write_text

CACHE_VARIABLE = "HEADATLAS_CACHE"
MANIFESTS = ("manifest.json", "index.json")  # of results, and of stores of maps
_SENT = ".sent.json"  # in a folder that was sent: size and time of every file that is there
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*(::[A-Za-z][A-Za-z0-9+.-]*)*://")
_origins: dict[Path, str] = {}


def is_url(place: str | Path) -> TypeGuard[str]:
    """Whether a place is a URL and not a path.

    >>> is_url("s3://bucket/wiki.txt"), is_url("wiki.txt"), is_url("C:/wiki.txt")
    (True, False, False)
    """
    return isinstance(place, str) and _URL.match(place) is not None


def origin_of(path: Path) -> str:
    """Where a file came from: its URL if it was fetched, else its path."""
    return _origins.get(path, str(path))


def name_origin(path: Path, origin: str) -> None:
    """Record where a file came from, if not from its path."""
    _origins[path] = origin


def fetch_file(url: str) -> Path:
    """A copy of a file on this machine, which lasts as long as this process."""
    system, path = _open(url, CorpusError)
    target = fetched_folder() / re.sub(r"[^\w.-]+", "_", url.rsplit("/", 1)[0]) / PurePosixPath(path).name
    if target not in _origins:
        make_folder(target.parent)
        try:
            system.get_file(path, str(target))
        except Exception as error:  # every file system has errors of its own
            raise CorpusError(f"cannot be fetched ({first_line(error)}).", url) from error
        name_origin(target, url)
    return target


def fetch_folder(url: str) -> Path:
    """A copy of a folder of results on this machine, which lasts as long as this process."""
    target = fetched_folder() / hashlib.sha256(url.encode()).hexdigest()[:16]
    if not target.exists():
        _copy_folder(url, target)
    return target


def cache_folder() -> Path:
    """Where headatlas keeps what it may need again: the folder named by HEADATLAS_CACHE, else one in the home."""
    return Path(os.environ.get(CACHE_VARIABLE) or Path.home() / ".cache" / "headatlas")


def work_folder(url: str) -> Path:
    """Where a folder that is to be sent to a URL is made: the same for every run with that URL."""
    folder = cache_folder() / "runs" / hashlib.sha256(url.encode()).hexdigest()[:16]
    if not any((folder / name).exists() for name in MANIFESTS) and _is_there(url):
        _copy_folder(url, folder)
    return folder


def local_folder(place: str | Path) -> Path:
    """The folder in which results for a place are made."""
    return work_folder(place) if is_url(place) else Path(place)


def send(folder: Path, place: str | Path) -> None:
    """Send new files of a folder to its URL; if the place is a path, the results are there already."""
    if not is_url(place):
        return
    system, root = _open(place, AtlasError)
    record = folder / _SENT
    sent = _sent_before(record) if record.exists() else {}
    files = [path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(".")]
    for path in sorted(files, key=lambda path: (path.name in MANIFESTS, path)):
        name = path.relative_to(folder).as_posix()
        stamp = [path.stat().st_size, path.stat().st_mtime_ns]
        if sent.get(name) == stamp:
            continue
        try:
            system.makedirs(f"{root}/{name}".rsplit("/", 1)[0], exist_ok=True)
            system.put_file(str(path), f"{root}/{name}")
        except Exception as error:
            raise AtlasError(
                f"{place}: cannot be written ({first_line(error)}). The results are in {folder}; run the same command "
                "again to send them."
            ) from error
        sent[name] = stamp
        write_text(record, json.dumps(sent))


def _sent_before(record: Path) -> dict[str, Any]:
    try:
        return dict(parse_json(record.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise AtlasError(f"{record}: cannot be read ({error}). Delete it: all files are sent again then.") from error


def _is_there(url: str) -> bool:
    system, root = _open(url, AtlasError)
    try:
        return any(system.exists(f"{root}/{name}") for name in MANIFESTS)
    except Exception as error:
        raise AtlasError(f"{url}: cannot be opened ({first_line(error)}).") from error


def _copy_folder(url: str, target: Path) -> None:
    """Copy a folder of results; the manifest last, so that half a copy is never taken for a whole one."""
    system, root = _open(url, AtlasError)
    try:
        names = [str(name) for name in system.find(root)]
        for name in sorted(names, key=lambda name: name.rsplit("/", 1)[-1] in MANIFESTS):
            within = PurePosixPath(name).relative_to(PurePosixPath(root))
            if ".." in within.parts:
                raise AtlasError(f"{url}: names a file outside of its folder ({name}). It is not fetched.")
            local = target / within
            make_folder(local.parent)
            system.get_file(name, str(local))
    except HeadatlasError:
        raise
    except Exception as error:
        raise AtlasError(f"{url}: cannot be fetched ({first_line(error)}).") from error
    if not names:
        raise AtlasError(f"{url}: there is nothing at this address.")


def _open(url: str, failure: type[CorpusError | AtlasError]) -> tuple[Any, str]:
    """The file system of a URL and the path within it."""
    import fsspec

    try:
        system, path = fsspec.url_to_fs(url)
    except ImportError as error:
        raise SettingError(f"{url}: its file system needs a package ({first_line(error)}).") from error
    except Exception as error:
        raise failure(f"{url}: cannot be opened ({first_line(error)}).") from error
    return system, str(path).rstrip("/")


def fetched_folder() -> Path:
    """The folder of files that come from elsewhere, removed when this process ends."""
    return Path(_fetched().name)


@cache
def _fetched() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="headatlas-fetched-")
