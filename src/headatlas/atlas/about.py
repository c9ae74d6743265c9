"""What an atlas was made from, in the words of its manifest."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any


def corpora_read(manifest: Mapping[str, Any]) -> list[str]:
    """One phrase a corpus: how much of it the model saw."""
    return [_READ[name](about) for name, about in manifest["corpora"].items()]


def left_out(manifest: Mapping[str, Any]) -> list[str]:
    """What was left out of each corpus, and how often."""
    return [
        f"{reason} {count:,} ({name})"
        for name, about in manifest["corpora"].items()
        for reason, count in about["left_out"].items()
    ]


def _files(about: Mapping[str, Any]) -> str:
    names = [Path(record["file"]).name for record in about["files"]]
    return ", ".join(names) if len(names) <= 3 else f"{names[0]} and {len(names) - 1} more files"


def _text(about: Mapping[str, Any]) -> str:
    return (
        f"{about['segments']:,} segments ({about['tokens']:,} tokens) of {about['segments_available']:,} in "
        f"{about['documents']:,} documents of {_files(about)}"
    )


def _treebank(about: Mapping[str, Any]) -> str:
    silver = f", parsed by {about['parsed_by']}: silver trees" if about.get("parsed_by") else ""
    return (
        f"{about['sentences']:,} parsed sentences ({about['words']:,} words, {about['label_set']} labels{silver}) in "
        f"{about['documents']:,} documents of {_files(about)}"
    )


def _coreference(about: Mapping[str, Any]) -> str:
    return (
        f"{about['mentions']:,} mentions ({about['segments']:,} stretches of {about['words']:,} words) in "
        f"{about['documents']:,} documents of {_files(about)}"
    )


_READ = {"text": _text, "treebank": _treebank, "coreference": _coreference}
