"""What the page says of an atlas or of a comparison of two, as plain data: findings, caveats, tables.

A map of similar heads may be rotated and mirrored freely, because only distances have a meaning. So in a comparison,
B's map is rotated and mirrored to bring matched heads as close to each other as possible.
"""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Container, Mapping
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_float_dtype, is_numeric_dtype
from scipy.linalg import orthogonal_procrustes

from headatlas.choices import FromTokens
from headatlas.results.atlas import Comparison
from headatlas.results.folder import Results
from headatlas.results.naming import heads_in_layers, model_named, short_name
from headatlas.results.tables import TABLES, distance_matrix
from headatlas.results.view import View
from headatlas.tables import EXPECTED, ONE_HEAD, Key, Table, Value
from headatlas.views.page.opening import brief_lead, opening_content, resting_content, rounded
from headatlas.views.published.views import comparisons
from headatlas.views.words.about import corpora_read, left_out, unknown_warnings
from headatlas.views.words.comparison import (
    comparison_findings,
    comparison_warnings,
    models_of,
    names_of,
    not_compared,
    relations_by,
)
from headatlas.views.words.findings import all_findings
from headatlas.wording import counted

CAVEATS = (
    "Much attention to [SEP], or to the first token of a causal model, is often a way of attending to nothing: the "
    "paper finds that changing it hardly changes the output.",
    "Attention shows where a head looks, not what the model uses. A pattern is a reason to test further, not an "
    "explanation.",
    "The best of hundreds of heads looks better than it is. Quote the held-out accuracy, for which the head is chosen "
    "on one half of the corpus and scored on the other.",
    "Examples are few. The tables, not a sentence, say how often a head is right.",
)
LAYER_CAVEATS = (
    "What a probe reads off a layer is there; whether the model uses it is another question.",
    "Mixing weights and differential scores answer different questions: where a probe looks when it sees all layers, "
    "and from which layer on it needs no more. How far the weights move from equal ones depends on how much was "
    "trained, so only tasks with equally many targets and updates are compared.",
)
ATLAS_VIEWS = ("overview", "map", "grid", "sentence", "tables")
COMPARISON_VIEWS = ("overview", "sides", "differences", "tables")
OMITTED = ("low", "high", "count", "correct", EXPECTED)  # from the sides' tables: the differences have them
NO_MEASURES = ("layer", "head", "count", "low", "high")  # numbers of undeclared tables that measure nothing
COMPARISON_CAVEATS = (
    "Intervals are not corrected for the number of differences: if nothing differs, one in twenty still excludes 0.",
    "Each head of A is assigned to a head of B such that all matches together are best, so a single match may be poor: "
    "compare its distance with that of two heads of A.",
    "Heads in the same place of two models that were trained separately have nothing in common but the place.",
    "Attention shows where a head looks, not what the model uses. Two heads that attend alike may still do different "
    "things with what they see.",
)
MOST_ROWS = 50_000  # of a table
ROWS_PER_HEAD = 30  # of a table of heads, if that is more: 12 relations in both directions, and what they share
NEAREST = 6  # nearest heads listed for each head
SMALL, FAST = 6, 1  # levels: for a file, and for an answer while a user waits


def page_content(atlas: Results) -> dict[str, Any]:
    """Everything but the examples, as values that JSON can hold."""
    manifest = atlas.manifest
    model = manifest["model"]
    heads = heads_in_layers(model)
    distances = "head_distances"
    about_model = model_content(model)
    found = all_findings(atlas)
    return about_model | {
        "views": _views_of(atlas.tables),
        "lead": f"{heads} ({model['class']}), on {'; '.join(corpora_read(manifest))}.",
        "words_from": words_from(manifest),
        "brief": brief_lead(manifest),
        "warnings": unknown_warnings(manifest),
        "findings": list(map(str, found)),
        **opening_content(atlas.tables, found, about_model["heads"], about_model["special"]),
        "caveats": [*CAVEATS, *(LAYER_CAVEATS if "layer_mix" in atlas.tables else ())],
        "notes": [
            f"Seed {manifest['settings']['seed']}. Tables with all digits are in the folder tables.",
            *(f"Not run: {study}: {reason}" for study, reason in manifest["studies_skipped"].items()),
            *(f"Left out: {what}" for what in left_out(manifest)),
        ],
        "tables": {name: packed_table(name, atlas.tables[name], about_model["special"]) for name in atlas.tables},
        "nearest": nearest_heads(atlas.tables[distances]) if distances in atlas.tables else {},
        "comparisons": [_view(view) for view in comparisons(atlas)],
    }


def words_from(manifest: Mapping[str, Any]) -> FromTokens:
    """Return how a survey derived the attention from a word from the attention of its tokens."""
    return "first" if manifest["settings"].get("as_published") else "mean"


def model_content(model: Mapping[str, Any]) -> dict[str, Any]:
    """A page that knows the model's heads and nothing about them. model: as described in a manifest."""
    local = model.get("kind") in ("folder", "gguf file")
    return {
        "name": short_name(model) if local else model_named(model),
        "heads": list(model["heads"]),
        "heads_per_key": model.get("heads_per_key", 1),
        "special": {kind: token for kind, token in model.get("special_tokens", {}).items() if token},
        "views": [],
        "words_from": "mean",
        "tables": {},
        "nearest": {},
        "examples": [],
        "examples_kept": 0,
    }


def _views_of(tables: Container[str]) -> list[str]:
    """The views that have something to show: of heads, or of layers."""
    if "layer_mix" in tables:
        return ["overview", "layers", "tables"]
    return list(ATLAS_VIEWS)


def _view(view: View) -> dict[str, Any]:
    return {
        "title": list(view.title),
        "columns": [vars(column) for column in view.columns],
        "cells": [list(row) for row in view.cells],
        "notes": list(view.notes),
    }


def comparison_content(comparison: Comparison) -> dict[str, Any]:
    """Everything that a comparison's page says, as values that JSON can hold."""
    manifest, tables = comparison.manifest, comparison.tables
    names, called = names_of(manifest), models_of(manifest)
    models = [manifest["a"]["model"], manifest["b"]["model"]]
    sizes = [heads_in_layers(model) for model in models]
    places = turned_map(comparison)
    about_a = model_content(models[0])
    return about_a | {
        "name": f"{names[0]} and {names[1]}",
        "views": list(COMPARISON_VIEWS),
        "relations_by": relations_by(manifest),
        "lead": f"A is {called[0]}, {sizes[0]}; B is {called[1]}, {sizes[1]}. Differences are B - A.",
        "findings": comparison_findings(comparison),
        "caveats": list(COMPARISON_CAVEATS),
        "notes": [
            *comparison_warnings(manifest),
            *_measured_on(manifest["distances"]),
            *not_compared(manifest),
            "Tables with all digits are in the folder tables.",
        ],
        "tables": {name: packed_table(name, tables[name], about_a["special"]) for name in tables},
        "differences": difference_names(tables["differences"], about_a["special"]),
        "comparisons": [],
        "sides": [
            _side(name, model, side)
            for name, model, side in zip(names, models, (comparison.sides[0], places), strict=True)
        ],
    }


def turned_map(comparison: Comparison) -> dict[str, pd.DataFrame]:
    """The tables of B, with its map rotated and mirrored towards A's by the matched heads, if there are any."""
    a, b = comparison.sides
    if "head_matches" not in comparison.tables or "head_map" not in a or "head_map" not in b:
        return dict(b)
    pairs = comparison.tables["head_matches"][["layer_a", "head_a", "layer_b", "head_b"]].dropna().astype("int64")
    for end, side in (("a", a), ("b", b)):
        places = side["head_map"][["layer", "head", "x", "y"]].dropna()
        pairs = pairs.merge(places.add_suffix(f"_{end}"))
    if len(pairs) < 2:
        return dict(b)
    matched_a, matched_b = (pairs[[f"x_{end}", f"y_{end}"]].to_numpy(np.float64) for end in "ab")
    turn, _ = orthogonal_procrustes(matched_b - matched_b.mean(0), matched_a - matched_a.mean(0))
    places = b["head_map"]
    turned = places[["x", "y"]].to_numpy(np.float64) @ turn
    return {**b, "head_map": places.assign(x=turned[:, 0], y=turned[:, 1])}


def _side(name: str, model: Mapping[str, Any], tables: Mapping[str, pd.DataFrame]) -> dict[str, Any]:
    slim = {table: tables[table].drop(columns=list(OMITTED), errors="ignore") for table in tables}
    about_model = model_content(model)
    return about_model | {
        "name": name,
        "resting": resting_content(tables, about_model["special"]),
        "tables": {table: packed_table(table, frame, about_model["special"]) for table, frame in slim.items()},
    }


def _measured_on(distances: Mapping[str, Any]) -> list[str]:
    if "skipped" in distances:
        return []
    return [
        f"Heads are matched by how they attend to the same {counted(distances['segments'], 'segment')} "
        f"({counted(distances['tokens'], 'token')})."
    ]


def pack(data: bytes, level: int = SMALL) -> str:
    """Compress bytes and write them in base64, for the browser's DecompressionStream."""
    return base64.b64encode(zlib.compress(data, level)).decode("ascii")


def packed_table(name: str, frame: pd.DataFrame, special: Mapping[str, str]) -> dict[str, Any]:
    """What a table answers, what its columns mean, what it measures of heads, and its rows, packed."""
    table = TABLES.get(name)
    if table is None or not all(key.name in frame for key in table.keys):  # foreign, or of another version
        table = _undeclared(name, frame)
    meanings = {column.name: column.about for column in table.columns}
    shown = frame.head(_rows_shown(table, frame))
    columns = [_column(shown[column]) for column in shown]
    return {
        "about": table.question,
        "columns": [
            {"name": str(column), "meaning": meanings.get(str(column), ""), "number": _is_number(frame[column])}
            for column in frame
        ],
        "measures": _measures(table, shown, special) if table.rows == "heads" else [],
        "rows": len(frame),
        "shown": len(shown),
        "packed": pack(json.dumps(columns, separators=(",", ":"), ensure_ascii=False).encode()),
    }


def _rows_shown(table: Table, frame: pd.DataFrame) -> int:
    """How many rows the page holds. Of a table that measures heads, no key such as a relation is cut in the middle."""
    if len(frame) <= MOST_ROWS or table.rows != "heads":
        return min(len(frame), MOST_ROWS)
    most = max(MOST_ROWS, ROWS_PER_HEAD * len(frame[["layer", "head"]].drop_duplicates()))
    if len(frame) <= most or not table.measures or not table.own_keys:
        return min(len(frame), most)
    keys = frame[list(table.own_keys)].head(most + 1)
    begins = [np.flatnonzero((keys[key] != keys[key].shift()).to_numpy())[-1] for key in keys]
    return int(min(begins)) or most


def _undeclared(name: str, frame: pd.DataFrame) -> Table:
    """What a table that nobody here declares seems to be: words are keys, other numbers are measures."""
    columns: dict[str, Key | Value] = {}
    for label, values in frame.items():
        column = str(label)
        number = Value(column, "", "count" if column in NO_MEASURES else "number")
        columns[column] = number if _is_number(values) else Key(column, "")
    if {"layer", "head"} <= columns.keys():
        columns |= {key.name: Key(key.name, "") for key in ONE_HEAD}
    return Table(name, "", tuple(columns.values()))


def _measures(table: Table, frame: pd.DataFrame, special: Mapping[str, str]) -> list[dict[str, Any]]:
    """What a table measures of heads: the keys and the column of each measure, and what the page says of it."""
    keys = list(table.own_keys)
    rows: list[dict[str, Any]] = [{}]
    values = [column for column in table.columns if column in table.measures and column.name in frame]
    if keys:  # only those with rows for half of the heads can be measures of them, whatever words there are
        heads = len(frame[["layer", "head"]].drop_duplicates())
        common = frame.groupby(keys, dropna=False)[keys[0]].transform("size") >= heads / 2
        rows = [_words(row) for row in frame.loc[common, keys].drop_duplicates().astype(object).to_dict("records")]
    return [
        {"key": row, "column": value.name} | table.describe(value, row, special)
        for row in rows
        for value in values
        if isinstance(value, Value)
    ]


def _words(row: Mapping[Any, Any]) -> dict[str, Any]:
    """The keys of a row as `_column` packs them: whole numbers and words, None where one is missing."""
    return {
        str(name): None if pd.isna(value) else value if type(value) in (int, float) else str(value)
        for name, value in row.items()
    }


def difference_names(differences: pd.DataFrame, special: Mapping[str, str]) -> dict[str, Any]:
    """The unit of the differences in each column of a table, and what the page calls the measures of heads."""
    names: dict[str, Any] = {}
    for (name, column), rows in differences.groupby(["table", "column"], sort=False):
        table = TABLES.get(str(name))
        value = next((value for value in table.measures if value.name == column), None) if table else None
        names[f"{name}/{column}"] = {"unit": value.unit if value else "number", "labels": {}}
        if table is None or value is None or table.rows != "heads":
            continue
        for measure in rows["measure"].unique():
            row: dict[str, Any] = dict(re.findall(r"(?:^| )([a-z_]+)=(.*?)(?= [a-z_]+=|$)", measure))
            row |= {key.name: _whole(row.get(key.name)) for key in table.keys if key.dtype == "int64"}
            if set(table.own_keys) <= row.keys():
                names[f"{name}/{column}"]["labels"][measure] = table.describe(value, row, special)["label"]
    return names


def _whole(word: str | None) -> int | str | None:
    return int(word) if word and re.fullmatch(r"-?\d{1,9}", word) else word


def nearest_heads(distances: pd.DataFrame) -> dict[str, list[list[Any]]]:
    """The nearest heads of each head ("layer-head") as [layer, head, distance], from the table head_distances."""
    heads, matrix = distance_matrix(distances)
    np.fill_diagonal(matrix, np.nan)
    nearest: dict[str, list[list[Any]]] = {}
    for (layer, head), row in zip(heads, matrix, strict=True):
        order = np.argsort(row, kind="stable")[:NEAREST]  # missing ones come last
        near = [[*heads[other], rounded(row[other])] for other in order if not np.isnan(row[other])]
        nearest |= {f"{layer}-{head}": near} if near else {}
    return nearest


def _column(values: pd.Series[Any]) -> list[Any] | dict[str, Any]:
    """A list of numbers, or the different words and for each row which of them; null where a value is missing."""
    missing = values.isna()
    if is_float_dtype(values):
        return [rounded(float(value)) for value in values]
    if _is_number(values):
        return [None if gone else int(value) for value, gone in zip(values, missing, strict=True)]
    codes, words = pd.factorize(values.astype(str).where(~missing))
    return {"words": [str(word) for word in words], "codes": [None if code < 0 else int(code) for code in codes]}


def _is_number(values: pd.Series[Any]) -> bool:
    return bool(is_numeric_dtype(values) and not is_bool_dtype(values))
