"""The table `reproduction` as people read it: published, ours, their difference and the verdict."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from headatlas.results.view import Column, View
from headatlas.views.published.compare import OTHERS, Row
from headatlas.views.published.tables import source

_COLUMNS: dict[Column, Callable[[Row], str]] = {
    Column("where"): lambda row: row["place"],
    Column("what"): lambda row: row["item"] + (f", {row['unit']}" if row["unit"] in ("%", "nats") else ""),
    Column("published"): lambda row: row["published"],
    Column("ours"): lambda row: row["ours"],
    Column("95 % interval", number=True): lambda row: _interval(row["low"], row["high"]),
    Column("difference", number=True): lambda row: _signed(row["difference"], row["unit"]),
    Column("verdict"): lambda row: f"{row['verdict']}: {row['missing']}" if row["missing"] else row["verdict"],
}


def reproduction_view(table: pd.DataFrame, model: str) -> View:
    """Every published number and finding, and how many of each verdict there are."""
    cells = tuple(tuple(cell(row) for cell in _COLUMNS.values()) for row in table.to_dict("records"))
    title = (
        f"{source('dependencies').paper}, reproduced with {model}: {counts(table)}",
        f"Published: {source('dependencies').model}",
    )
    notes = ("When a number or finding counts as reproduced is in the column `rule` (--raw).", OTHERS)
    return View(table, tuple(_COLUMNS), cells, title, notes, keys=2)


def counts(table: pd.DataFrame) -> str:
    """How many rows of each verdict there are, in words."""
    reproduced, differing, missing = (
        int((table["verdict"] == verdict).sum()) for verdict in ("reproduced", "differs", "input missing")
    )
    return f"{reproduced} reproduced, {differing} {'differs' if differing == 1 else 'differ'}, {missing} input missing"


def _interval(low: float, high: float) -> str:
    return "" if pd.isna(low) else f"[{low:.1f}, {high:.1f}]"


def _signed(difference: float, unit: str) -> str:
    if pd.isna(difference):
        return ""
    decimals = {"%": 1, "nats": 2}.get(unit, 0)
    return f"{difference:+.{decimals}f}"
