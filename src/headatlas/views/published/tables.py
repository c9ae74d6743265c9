"""The published tables as frames: accuracies as shares from 0 to 1, as in an atlas; layers and heads from 1.

>>> table = published_dependencies()
>>> table[table["relation"] == "dobj"][["layer", "head", "accuracy", "baseline", "offset"]].values.tolist()
[[8, 10, 0.868, 0.4, -2]]
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import pandas as pd

TableName = Literal["dependencies", "coreference", "probes"]

MENTION_TYPES = ("all", "pronoun", "proper", "nominal")


@dataclass(frozen=True)
class Source:
    """Where a published table comes from: paper and table, model and corpus; and notes by relation or method."""

    paper: str
    table: str
    model: str
    corpus: str
    notes: dict[str, str]


def published_dependencies() -> pd.DataFrame:
    """Table 1 and the further rows of the authors' notebook, each with the UD relation that is comparable.

    relation, layer, head, direction (dependent_to_head or head_to_dependent), accuracy, baseline, offset,
    source (table 1 or notebook), ud (missing if UD has no such relation), comparable (same, roughly, no), remark.
    """
    table = _printed("dependencies").merge(_universal(), on="relation", validate="many_to_one")
    types = {"direction": "string", "offset": "Int64", "ud": "string", "remark": "string"}
    columns = ["relation", "layer", "head", "direction", "accuracy", "baseline", "offset", "source"]
    return _shares(table, ["accuracy", "baseline"]).astype(types)[[*columns, "ud", "comparable", "remark"]]


def published_coreference() -> pd.DataFrame:
    """Table 2: method (nearest, head_match, sieves, neural, head), layer, head, mention_type, accuracy."""
    keys = ["method", "layer", "head"]
    table = _printed("coreference").melt(keys, list(MENTION_TYPES), "mention_type", "accuracy")
    return _shares(table, ["accuracy"]).dropna(subset="accuracy").reset_index(drop=True)


def published_probes() -> pd.DataFrame:
    """Table 3: probe, weights (pretrained, random, or missing where it reads no network), measure, score."""
    return _shares(_rows("probes"), ["score"])


def source(name: TableName) -> Source:
    """Paper, model, corpus and notes of a published table."""
    paper = _clark2019()
    table = paper[name]
    return Source(paper["paper"], table["table"], table["model"], table["corpus"], table["notes"])


def _printed(name: TableName) -> pd.DataFrame:
    """The rows with `best` ("8-10") as layer and head."""
    table = _rows(name)
    heads = table["best"].astype("string").str.split("-", expand=True).astype("Int64")
    return table.drop(columns="best").assign(layer=heads[0], head=heads[1])


def _rows(name: TableName) -> pd.DataFrame:
    """The rows as printed, empty cells missing."""
    printed = _clark2019()[name]
    rows = [[None if cell == "" else cell for cell in row] for row in printed["rows"]]
    return pd.DataFrame(rows, columns=printed["columns"])


def _universal() -> pd.DataFrame:
    relations = _load("universal.toml")
    rows = [(name, row.get("ud"), row["comparable"], row.get("remark")) for name, row in relations.items()]
    return pd.DataFrame(rows, columns=["relation", "ud", "comparable", "remark"])


def _shares(table: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    """Printed percentages as shares, without the rounding error of the division."""
    return table.assign(**{column: (table[column].astype("float64") / 100).round(4) for column in columns})


@cache
def _clark2019() -> dict[str, Any]:
    return _load("clark2019.toml")


def _load(name: str) -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name(name).read_text(encoding="utf-8"))
