"""Corpus files as a user names them: that they exist, and what a manifest says of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from headatlas.errors import CorpusError, SettingError
from headatlas.files import sha256
from headatlas.remote import fetch_file, is_url, origin_of

Files = str | Path | Sequence[str | Path]


def find_files(given: Files, corpus: str) -> list[Path]:
    """The files meant by the option of that name, all of which exist; those at URLs are fetched."""
    named = [given] if isinstance(given, (str, Path)) else given
    files = [fetch_file(path) if isinstance(path, str) and is_url(path) else Path(path) for path in named]
    if not files:
        raise SettingError(f"No {corpus} is given. Name at least one file with --{corpus}.")
    for path in files:
        try:
            kind = "" if path.is_file() else "is a folder" if path.is_dir() else "no such file"
        except OSError as error:
            raise CorpusError(f"is no path ({error.strerror or error}). Give a file.", path) from error
        if kind:
            raise CorpusError(f"{kind}. Give a file, plain or gzipped.", path)
    return files


def describe_files(files: Sequence[Path]) -> list[dict[str, Any]]:
    """Name, size and SHA-256 of each file."""
    return [_describe(path) for path in files]


def _describe(path: Path) -> dict[str, Any]:
    try:
        return {"file": origin_of(path), "bytes": path.stat().st_size, "sha256": sha256(path)}
    except OSError as error:
        raise CorpusError(f"cannot be read ({error.strerror or error}). Check the path.", path) from error


def name_files(records: Sequence[Mapping[str, Any]]) -> str:
    """What `describe_files` recorded, in a few words."""
    names = [Path(record["file"]).name for record in records]
    return ", ".join(names) if len(names) <= 3 else f"{names[0]} and {len(names) - 1} more files"
