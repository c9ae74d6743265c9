"""What a shell offers when people press Tab. It waits for the answer, so nothing heavy is imported."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from headatlas.limits import LARGEST_JSON, read_within

MOST_OFFERED = 200  # folders
Offer = Iterator[tuple[str, str]]  # a word, and what it means


def complete_models(context: Any) -> Offer:
    """Embedded models, then model folders and .gguf files below the folder that is typed so far."""
    from headatlas.models.embedded import EMBEDDED

    yield from ((name, model.about) for name, model in EMBEDDED.items())
    yield from _below(context.incomplete, "config.json", "model folder", suffix=".gguf")


def complete_results(context: Any) -> Offer:
    """Folders of results, and folders that may hold some."""
    return _below(context.incomplete, "manifest.json", "results")


def complete_studies(_context: Any) -> Offer:
    """The studies of headatlas and of installed packages."""
    from headatlas.studies import STUDIES

    return ((name, "") for name in STUDIES)


def complete_tables(context: Any) -> Offer:
    """The tables of the folder that is typed before."""
    tables = _manifest(context["folder"].raw).get("tables", {})
    yield from ((name, f"{rows} rows") for name, rows in tables.items())
    if tables:
        yield "findings", "what the tables show, in sentences"


def complete_columns(context: Any) -> Offer:
    """The columns of the table that is typed before."""
    folder, table = (context[name].raw for name in ("folder", "name"))
    if folder is None or table not in _manifest(folder).get("tables", {}):
        return
    try:
        with (Path(folder) / "tables" / f"{table}.csv").open(encoding="utf-8", newline="") as file:
            yield from ((column, "") for column in next(csv.reader(file), []))
    except (OSError, ValueError, csv.Error):
        return


def _manifest(folder: str | None) -> dict[str, Any]:
    """The manifest of a folder; empty if it has none that can be read."""
    try:
        manifest = json.loads(read_within(Path(folder or "") / "manifest.json", LARGEST_JSON))
        return manifest if isinstance(manifest["tables"], dict) else {}
    except (OSError, ValueError, RecursionError, KeyError, TypeError):
        return {}


def _below(typed: str, mark: str, what: str, suffix: str = "") -> Offer:
    """The folders that begin as typed: those with a file of this name as they are, others with a slash to go on."""
    start, slash, _ = typed.rpartition("/")
    try:
        for path in islice(sorted(Path(f"{start}{slash}" or ".").iterdir()), MOST_OFFERED):
            shown = f"{start}{slash}{path.name}"
            if path.name.startswith(".") or not shown.startswith(typed):
                continue
            if (path / mark).is_file() or (suffix and path.suffix == suffix):
                yield shown, what
            elif path.is_dir():
                yield f"{shown}/", ""
    except OSError:
        return
