"""What an atlas was made from, in the words of its manifest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headatlas.corpora.files import name_files


def corpora_read(manifest: Mapping[str, Any]) -> list[str]:
    """One phrase a corpus: how much of it the model saw."""
    return [_READ[about.get("kind", name)](about) for name, about in manifest["corpora"].items()]


def left_out(manifest: Mapping[str, Any]) -> list[str]:
    """What was left out of each corpus, and how often."""
    return [
        f"{reason} {count:,} ({name})"
        for name, about in manifest["corpora"].items()
        for reason, count in about["left_out"].items()
    ]


def _text(about: Mapping[str, Any]) -> str:
    return (
        f"{about['segments']:,} segments ({about['tokens']:,} tokens) of {about['segments_available']:,} in "
        f"{about['documents']:,} documents of {name_files(about['files'])}"
    )


def _treebank(about: Mapping[str, Any]) -> str:
    silver = f", parsed by {about['parsed_by']}: silver trees" if about.get("parsed_by") else ""
    return (
        f"{about['sentences']:,} parsed sentences ({about['words']:,} words, {about['label_set']} labels{silver}) in "
        f"{about['documents']:,} documents of {name_files(about['files'])}"
    )


def _coreference(about: Mapping[str, Any]) -> str:
    return (
        f"{about['mentions']:,} mentions ({about['segments']:,} stretches of {about['words']:,} words) in "
        f"{about['documents']:,} documents of {name_files(about['files'])}"
    )


def _keyphrases(about: Mapping[str, Any]) -> str:
    return (
        f"{about['keyphrases']:,} keyphrases, {about['keyphrases_in_text']:,} of them in the text, of "
        f"{about['documents']:,} documents ({about['words']:,} words) of {name_files(about['files'])}"
    )


def _spans(about: Mapping[str, Any]) -> str:
    targets = ", ".join(f"{count:,} of {task}" for task, count in about["targets"].items())
    return f"{about['texts']:,} texts ({about['tokens']:,} tokens; targets: {targets}) of {name_files(about['files'])}"


def _documents(about: Mapping[str, Any]) -> str:
    return f"{about['documents']:,} documents ({about['words']:,} words) of {name_files(about['files'])}"


_READ = {
    "documents": _documents,
    "spans": _spans,
    "text": _text,
    "treebank": _treebank,
    "coreference": _coreference,
    "keyphrases": _keyphrases,
}
