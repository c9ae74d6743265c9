"""Corpus files as a user names them: that they exist, and what a manifest says of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headatlas.errors import CorpusError, SettingError
from headatlas.files import sha256


def find_texts(text: str | Path | Sequence[str | Path]) -> list[Path]:
    """The text files meant, all of which exist."""
    files = [Path(path) for path in ([text] if isinstance(text, (str, Path)) else text)]
    if not files:
        raise SettingError("No text is given. Name at least one file with --text.")
    for path in files:
        if not path.is_file():
            kind = "is a folder" if path.is_dir() else "no such file"
            raise CorpusError(f"{kind}. Give a UTF-8 text file, plain or gzipped.", path)
    return files


def describe_files(files: Sequence[Path]) -> list[dict[str, Any]]:
    """Name, size and SHA-256 of each file."""
    return [{"file": str(path), "bytes": path.stat().st_size, "sha256": sha256(path)} for path in files]
