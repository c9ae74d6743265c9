"""Edge probing data as jiant reads it: JSON lines with ``text`` and ``targets``.

``{"text": "He smoked Toronto", "targets": [{"span1": [2, 3], "label": "ORG"}]}``: words are what blanks part, spans
count them from 0, the end not included. With ``span2`` a target is about two spans; ``label`` may be a list.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from headatlas.corpora.lines import read_lines
from headatlas.corpora.rows import json_object
from headatlas.corpora.spans.spans import Span, SpanText, Target, check_spans
from headatlas.errors import CorpusError


def read_jiant(path: Path, file: int, task: str) -> Iterator[SpanText]:
    """Stream the texts of one file; file is its number in their ids."""
    number = 0
    for line, raw in read_lines(path):
        if not raw.strip():
            continue
        record = json_object(raw, path, line)
        text, targets = record.get("text"), record.get("targets")
        if not isinstance(text, str) or not text.strip():
            raise CorpusError("has no text: give a string with words.", path, line)
        if not isinstance(targets, list) or not all(isinstance(target, dict) for target in targets):
            raise CorpusError('has no targets: give a list of {"span1": [0, 1], "label": "..."}.', path, line)
        words = tuple(text.split())
        found = tuple(_target(target, len(words), path, line) for target in targets)
        yield SpanText(f"{file}.{number}.0", path, words, {task: found})
        number += 1


def _target(target: dict[str, object], words: int, path: Path, line: int) -> Target:
    spans = tuple(_span(name, target[name], path, line) for name in ("span1", "span2") if name in target)
    if "span1" not in target:
        raise CorpusError("has a target without span1: give its first word and one past its last.", path, line)
    check_spans(spans, words, path, line)
    label = target.get("label")
    labels = label if isinstance(label, list) else [label]
    if not all(isinstance(one, str | int) and not isinstance(one, bool) for one in labels):
        raise CorpusError(
            f"has a target whose label is {str(label)[:40]}: give a string, or a list of them.", path, line
        )
    return Target(spans, tuple(dict.fromkeys(str(one) for one in labels)), line)


def _span(name: str, span: object, path: Path, line: int) -> Span:
    if not isinstance(span, list) or len(span) != 2 or not all(type(end) is int for end in span):
        raise CorpusError(f"has a {name} that is {str(span)[:40]}: give two whole numbers, [first, end].", path, line)
    return span[0], span[1]
