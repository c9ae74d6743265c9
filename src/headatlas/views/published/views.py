"""A table of an atlas by its name, ready to be printed: as it is, or with the published figures beside it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import pandas as pd

from headatlas.corpora.files import name_files
from headatlas.errors import AtlasError
from headatlas.results.naming import model_named
from headatlas.results.schema import TABLES
from headatlas.results.schemas.layers import LAYERS
from headatlas.results.view import View, plain_view
from headatlas.views.published.compare import compare_coreference, compare_dependencies
from headatlas.views.published.compare_probes import compare_probes
from headatlas.views.published.reproduction import reproduction_view

NEEDS = {
    "dependencies": ("treebank", ("dependency_best",)),
    "dependency_best": ("treebank", ("dependency_best",)),
    "coreference": ("coreference", ("coreference", "coreference_best", "coreference_baselines")),
    "coreference_best": ("coreference", ("coreference_best",)),
    "coreference_baselines": ("coreference", ("coreference_baselines",)),
    "probes": ("eval", ("probes",)),
    "probe_relations": ("eval", ("probe_relations",)),
    "probe_weights": ("eval", ("probe_weights",)),
} | {name: ("layers", (name,)) for name in LAYERS}
"""Table -> the corpus it comes from, an option of `survey` or `probe`, or the command; and what it is compared by."""
COMPARED = ("dependencies", "coreference", "probes")


class Surveyed(Protocol):
    """What is needed of an atlas."""

    @property
    def folder(self) -> Path: ...
    @property
    def tables(self) -> Mapping[str, pd.DataFrame]: ...
    @property
    def manifest(self) -> dict[str, Any]: ...


def comparisons(atlas: Surveyed) -> list[View]:
    """The paper's tables 1 to 3 with this atlas beside them, where it has what they need."""
    return [view_of(atlas, name) for name in COMPARED if all(table in atlas.tables for table in NEEDS[name][1])]


def view_of(atlas: Surveyed, name: str, raw: bool = False) -> View:
    """A table to print. Those in COMPARED, and `reproduction`, stand beside the paper's unless `raw`."""
    compared = name in COMPARED and not raw
    for needed in NEEDS[name][1] if compared else (name,):
        if needed not in atlas.tables:
            raise AtlasError(_why_not(atlas, name))
    if name == "reproduction" and not raw:
        return reproduction_view(atlas.tables[name], atlas.manifest["model"]["name"])
    if not compared:
        about = f": {TABLES[name].about}" if name in TABLES else ""
        return plain_view(atlas.tables[name], f"{name}{about}")
    corpus, tables = NEEDS[name]
    frames, surveyed = [atlas.tables[table] for table in tables], _surveyed(atlas, corpus)
    if name == "dependencies":
        universal = _about(atlas, corpus)["label_set"] == "universal"
        return compare_dependencies(frames[0], surveyed, universal)
    if name == "probes":
        return compare_probes(frames[0], surveyed)
    return compare_coreference(frames[0], frames[1], frames[2], surveyed)


def _why_not(atlas: Surveyed, name: str) -> str:
    if name == "reproduction":
        return f"{atlas.folder}: nothing was reproduced here. Make such a folder: headatlas reproduce clark2019"
    if name not in NEEDS or "model" not in atlas.manifest:
        return f"{atlas.folder}: no table {name!r} here. There are: {', '.join(atlas.tables)}."
    corpus = NEEDS[name][0]
    model = atlas.manifest["model"]["name"]
    if corpus == "eval":
        command = f"headatlas probe {model} --treebank TRAIN --eval DEV --out DIR"
        return f"{atlas.folder}: no such probes were trained, so there is no table {name!r}. Train some: {command}"
    if corpus == "layers":
        command = f"headatlas layers {model} --train TRAIN --eval DEV --out DIR"
        return f"{atlas.folder}: no layers were asked, so there is no table {name!r}. Ask them: {command}"
    data = {"treebank": "treebank", "coreference": "text with coreference"}[corpus]
    return (
        f"{atlas.folder}: no {data} was surveyed, so there is no table {name!r}. "
        f"Make an atlas with one: headatlas survey {model} --{corpus} FILE --out DIR"
    )


def _surveyed(atlas: Surveyed, corpus: str) -> str:
    """The model and the files of a corpus, as the manifest names them."""
    about = _about(atlas, corpus)
    files = name_files(about["files"])
    parsed = f", trees by {about['parsed_by']}" if about.get("parsed_by") else ""
    return f"{model_named(atlas.manifest['model'])} on {files}{parsed}"


def _about(atlas: Surveyed, corpus: str) -> dict[str, Any]:
    return dict(atlas.manifest["corpora"][corpus])
