"""How alike the two sides of a comparison are in what they were made of, and what of them was not compared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def comparison_warnings(manifest: Mapping[str, Any]) -> list[str]:
    """What a reader must know before trusting a difference."""
    distances = manifest["distances"]
    return [
        *(
            f"A and B were not surveyed on the same {corpus}: differences are of both, model and corpus."
            for corpus, about in manifest["corpora"].items()
            if not about["same_files"]
        ),
        *(
            f"Surveyed otherwise: {setting} is {a} in A, {b} in B"
            for setting, (a, b) in manifest["settings_that_differ"].items()
        ),
        *([f"Heads are not matched by distance: {distances['skipped']}"] if "skipped" in distances else []),
        *(
            f"No intervals, or not all, since {end.upper()} has no replicates: {reason}"
            for end, reason in manifest["without_intervals"].items()
        ),
    ]


def not_compared(manifest: Mapping[str, Any]) -> list[str]:
    """What was left out, by reason."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in manifest["not_compared"].items():
        by_reason.setdefault(reason, []).append(name)
    return [
        *(
            f"Rows of {name} that only one has: {only['a']:,} in A, {only['b']:,} in B"
            for name, only in manifest["rows_in_one_only"].items()
        ),
        *(f"Not compared: {'; '.join(names)} ({reason})" for reason, names in by_reason.items()),
    ]
