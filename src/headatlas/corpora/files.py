"""Corpus files as users name them: whether they exist, and what manifests record of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from headatlas.corpora.lines import cannot_read
from headatlas.errors import CorpusError, SettingError
from headatlas.files import sha256
from headatlas.remote import fetch_file, is_url, origin_of

Files = str | Path | Sequence[str | Path]
PARTS = ("train", "eval")
FORCE_OR_ANOTHER = "Give another file with --eval, or --force if that is what you want."


def find_files(given: Files, corpus: str, folders: bool = False) -> list[Path]:
    """The files that the option `corpus` names, or folders if these are allowed; those at URLs are fetched."""
    paths = [given] if isinstance(given, (str, Path)) else given
    files = [fetch_file(path) if is_url(path) else Path(path) for path in paths]
    if not files:
        raise SettingError(f"No {corpus} file is given. Name at least one with --{corpus}.")
    for path in files:
        try:
            fits = path.is_file() or (folders and path.is_dir())
            problem = "" if fits else "is a folder" if path.is_dir() else "no such file"
        except OSError as error:
            raise CorpusError(f"is not a valid path ({error.strerror or error}). Give a file.", path) from error
        if problem:
            what = "a file, a folder or a zip" if folders else "a file, plain or gzipped"
            raise CorpusError(f"{problem}. Give {what}.", path)
    return files


def each_once(paths: Iterable[Path], parts: str) -> Iterator[tuple[int, Path]]:
    """Number the files, and raise if one is named twice: the ids of its parts ("sentences") would not be unique."""
    seen = set()
    for number, path in enumerate(paths):
        if path in seen:
            raise CorpusError(f"is given twice, so its {parts} would have the same ids. Name it once.", path)
        seen.add(path)
        yield number, path


def describe_files(files: Sequence[Path]) -> list[dict[str, Any]]:
    """Name, size and SHA-256 of each file, or of a folder's files together."""
    return [_describe(path) for path in files]


def _describe(path: Path) -> dict[str, Any]:
    try:
        if not path.is_dir():
            return {"file": origin_of(path), "bytes": path.stat().st_size, "sha256": sha256(path)}
        files = sorted(file for file in path.rglob("*") if file.is_file())
        digest = hashlib.sha256()
        for file in files:
            digest.update(f"{file.relative_to(path).as_posix()} {sha256(file)}\n".encode("utf-8", "surrogateescape"))
        return {"file": str(path), "bytes": sum(file.stat().st_size for file in files), "sha256": digest.hexdigest()}
    except OSError as error:
        raise cannot_read(path, error) from error


def name_files(records: Sequence[Mapping[str, Any]]) -> str:
    """The names of files that `describe_files` recorded, in a few words."""
    names = [Path(record["file"]).name for record in records]
    return ", ".join(names) if len(names) <= 3 else f"{names[0]} and {len(names) - 1} more files"


def refuse_same_files(files: Mapping[str, Sequence[Path]], remedy: str) -> None:
    """Raise if a file is used both to train and to score. remedy: what to do about it."""
    if set(files) != set(PARTS):
        return
    records = {part: {record["sha256"]: record["file"] for record in describe_files(files[part])} for part in PARTS}
    for digest in set(records["train"]) & set(records["eval"]):
        raise SettingError(
            f"{records['eval'][digest]} is also a training file, so its scores would measure memorised sentences. "
            f"{remedy}"
        )
