"""Tables as the page holds them: column by column, words as codes, numbers with five digits."""

from __future__ import annotations

import base64
import json
import math
import zlib
from typing import Any

import pandas as pd
from pandas.api.types import is_bool_dtype, is_float_dtype, is_numeric_dtype

from headatlas.results.schemas import TABLES

DIGITS = 5  # significant ones; the files in tables/ have all
MOST_ROWS = 50_000
NEAREST = 6  # nearest heads listed for each head
SMALL, FAST = 6, 1  # levels: for a file, and for an answer that somebody waits for


def pack(data: bytes, level: int = SMALL) -> str:
    """Compress bytes and write them in base64, for the browser's DecompressionStream."""
    return base64.b64encode(zlib.compress(data, level)).decode("ascii")


def packed_table(name: str, frame: pd.DataFrame) -> dict[str, Any]:
    """What a table answers, what its columns mean, and its rows, packed."""
    schema = TABLES.get(name)
    meanings = {column: meaning for column, _, meaning in schema.columns} if schema else {}
    shown = frame.head(MOST_ROWS)
    columns = [_column(shown[column]) for column in shown]
    return {
        "about": schema.about if schema else "",
        "columns": [
            {"name": str(column), "meaning": meanings.get(str(column), ""), "number": _is_number(frame[column])}
            for column in frame
        ],
        "rows": len(frame),
        "shown": len(shown),
        "packed": pack(json.dumps(columns, separators=(",", ":"), ensure_ascii=False).encode()),
    }


def nearest_heads(distances: pd.DataFrame) -> dict[str, list[list[Any]]]:
    """The nearest heads of each head ("layer-head") as [layer, head, distance], from the table head_distances."""
    known = distances.dropna(subset="value").sort_values("value", kind="stable")
    ends = [known[column].tolist() for column in ("layer_a", "head_a", "layer_b", "head_b")]
    nearest: dict[str, list[list[Any]]] = {}
    for layer_a, head_a, layer_b, head_b, value in zip(*ends, known["value"].tolist(), strict=True):
        for layer, head, other in ((layer_a, head_a, (layer_b, head_b)), (layer_b, head_b, (layer_a, head_a))):
            near = nearest.setdefault(f"{layer}-{head}", [])
            if len(near) < NEAREST:
                near.append([*other, rounded(value)])
    return nearest


def rounded(value: float) -> float | None:
    """A number with five significant digits; None for NaN and infinity, which JSON does not have."""
    return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None


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
