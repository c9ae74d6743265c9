"""What figures draw besides tables, found in results by the name of the parameter."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from headatlas.corpora.files import name_files
from headatlas.errors import AtlasError
from headatlas.results.atlas import Atlas, open_results
from headatlas.results.folder import Results
from headatlas.results.naming import short_name
from headatlas.results.tables import TABLES
from headatlas.views.figures.lines import clearest
from headatlas.views.words.comparison import names_of, relations_by
from headatlas.views.words.patterns import main_labels


def open_data(results: Results | str | Path) -> Results:
    """Open a folder of results, unless it is open."""
    return results if isinstance(results, Results) else open_results(results)


def special_names(results: Results) -> dict[str, str]:
    """The model's names for [CLS] and [SEP]."""
    special = results.manifest.get("model", {}).get("special_tokens", {})
    return {kind: token for kind, token in special.items() if token}


_FACTS: dict[str, Callable[[Any], Any]] = {
    "labels": special_names,
    "names": lambda results: names_of(results.manifest),
    "column": lambda results: relations_by(results.manifest),
    "roles": lambda results: main_labels(results.tables["behaviours"]) if "behaviours" in results.tables else None,
    "sides": lambda results: [("", results.tables)],
    "tables": lambda results: results.tables,
    "example": lambda results: results.example if isinstance(results, Atlas) else None,
    "clear_examples": lambda results: clearest(getattr(results, "relation_examples", []), results.tables),
}


def facts_for(results: Results, parameters: Mapping[str, inspect.Parameter], figure: str) -> dict[str, Any]:
    """Find what a figure draws, by the names of its parameters.

    Raises:
        AtlasError: The results do not have all of it.
    """
    found: dict[str, Any] = {}
    for name, parameter in parameters.items():
        if name in _FACTS:
            found[name] = _FACTS[name](results)
        elif name in results.tables:
            found[name] = results.tables[name]
        elif parameter.default is inspect.Parameter.empty:
            raise AtlasError(f"{results.folder}: has no table {name}, which {figure} draws.")
    return found


def title_of(results: Results, names: Collection[str]) -> str:
    """The model, and the corpora that some tables were made from; nothing where the manifest names no model."""
    manifest = results.manifest
    if "name" not in manifest.get("model", {}):
        return ""
    corpora = manifest.get("corpora", {})
    kinds = {TABLES.made[name].corpus for name in names if name in TABLES.made} & set(corpora)
    if "example" in names and isinstance(results, Atlas) and results.example is not None:
        kinds = {results.example.corpus}
    read = [about["files"] for kind, about in corpora.items() if (kind in kinds or not kinds) and "files" in about]
    files = map(name_files, read)
    return short_name(manifest["model"]) + (f" on {' and '.join(dict.fromkeys(files))}" if read else "")
