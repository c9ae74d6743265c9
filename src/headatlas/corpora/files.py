"""Corpus files as a user names them: that they exist, and what a manifest says of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from headatlas.errors import CorpusError, SettingError
from headatlas.files import sha256
from headatlas.remote import fetch_file, is_url, origin_of

Files = str | Path | Sequence[str | Path]
PARTS = ("train", "eval")
FORCE_OR_ANOTHER = "Give another file with --eval, or --force if that is what you want."


def find_files(given: Files, corpus: str, folders: bool = False) -> list[Path]:
    """The files meant by the option of that name, or folders where these are read; those at URLs are fetched."""
    named = [given] if isinstance(given, (str, Path)) else given
    files = [fetch_file(path) if is_url(path) else Path(path) for path in named]
    if not files:
        raise SettingError(f"No {corpus} is given. Name at least one file with --{corpus}.")
    for path in files:
        try:
            there = path.is_file() or (folders and path.is_dir())
            kind = "" if there else "is a folder" if path.is_dir() else "no such file"
        except OSError as error:
            raise CorpusError(f"is no path ({error.strerror or error}). Give a file.", path) from error
        if kind:
            what = "a file, a folder or a zip" if folders else "a file, plain or gzipped"
            raise CorpusError(f"{kind}. Give {what}.", path)
    return files


def each_once(paths: Iterable[Path], parts: str) -> Iterator[tuple[int, Path]]:
    """Every file with its number, which its parts (sentences, say) are told apart by; one named twice is refused."""
    seen = set()
    for number, path in enumerate(paths):
        if path in seen:
            raise CorpusError(f"is given twice, so its {parts} could not be told apart. Name it once.", path)
        seen.add(path)
        yield number, path


def describe_files(files: Sequence[Path]) -> list[dict[str, Any]]:
    """Name, size and SHA-256 of each file, or of a folder's files together."""
    return [_describe(path) for path in files]


def _describe(path: Path) -> dict[str, Any]:
    try:
        if not path.is_dir():
            return {"file": origin_of(path), "bytes": path.stat().st_size, "sha256": sha256(path)}
        inside = sorted(one for one in path.rglob("*") if one.is_file())
        digest = hashlib.sha256()
        for one in inside:
            digest.update(f"{one.relative_to(path).as_posix()} {sha256(one)}\n".encode("utf-8", "surrogateescape"))
        return {"file": str(path), "bytes": sum(one.stat().st_size for one in inside), "sha256": digest.hexdigest()}
    except OSError as error:
        raise CorpusError(f"cannot be read ({error.strerror or error}). Check the path.", path) from error


def name_files(records: Sequence[Mapping[str, Any]]) -> str:
    """What `describe_files` recorded, in a few words."""
    names = [Path(record["file"]).name for record in records]
    return ", ".join(names) if len(names) <= 3 else f"{names[0]} and {len(names) - 1} more files"


def refuse_same_files(files: Mapping[str, Sequence[Path]], remedy: str) -> None:
    """Raise an error if a file is both trained and scored on. remedy: what to do about it."""
    if set(files) != set(PARTS):
        return
    records = {part: {record["sha256"]: record["file"] for record in describe_files(files[part])} for part in PARTS}
    for digest in set(records["train"]) & set(records["eval"]):
        raise SettingError(
            f"{records['eval'][digest]} is a file to train on too: its scores would be those of sentences learned by "
            f"heart. {remedy}"
        )
