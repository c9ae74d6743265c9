"""Texts with labelled spans, or pairs of spans: what edge probes are trained and scored on (Tenney et al. 2019)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from headatlas.errors import CorpusError

Span = tuple[int, int]
"""First word, from 0, and one past the last."""


@dataclass(frozen=True)
class Target:
    """One or two spans of a text and what is to be said of them."""

    spans: tuple[Span, ...]
    labels: tuple[str, ...]  # one, unless the task allows several or none
    line: int | None  # of the file, from 1, where it is known


@dataclass(frozen=True)
class SpanText:
    """A text's words with its targets, by task."""

    id: str  # "file.document.text", each from 0 in reading order
    path: Path
    words: tuple[str, ...]
    targets: Mapping[str, tuple[Target, ...]]


def check_spans(spans: Sequence[Span], words: int, path: Path, line: int) -> None:
    """Raise where a span is empty or lies outside its text."""
    for start, end in spans:
        if not 0 <= start < end <= words:
            problem = (
                f"the span from word {start} to {end} (the end not included) is not within its text of {words} words. "
                "Count words from 0, and give each span at least one."
            )
            raise CorpusError(problem, path, line)
