"""The surface patterns of attention: previous and next token, [CLS], [SEP], periods and commas, and broad attention.

Labels, findings, figure 1 and the reproduction of the paper all ask which heads show a pattern. What a pattern is
called and how strongly a head shows it is defined here alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

MOSTLY = 0.5  # of a head's attention: "more than half", as the paper puts it
DEVOTED = 0.6  # of a head's attention, for a label after a kind of token
BROAD_ENTROPY = 3.8 / math.log(128)  # of the uniform entropy: the paper's 3.8 nats in segments of 128 tokens
BROAD_WEIGHT = 0.1  # mean largest weight of the paper's broad heads: at most 10 % on any one word
CLEAR = 0.2  # least strength of a head that is shown as an example of a pattern
KIND_NAMES = {"cls": "[CLS]", "sep": "[SEP]", "period_comma": "periods and commas", "other": "other"}


@dataclass(frozen=True)
class Pattern:
    """A surface pattern: its label, what such a head attends to, and the rows of a table that measure it."""

    label: str
    target: str  # in a sentence: "attends to ..."
    table: str
    column: str
    key: str | int  # of the rows in that column
    least: float  # strength above which a head earns the label


PREVIOUS = Pattern("previous token", "the previous token", "positions", "offset", -1, MOSTLY)
NEXT = Pattern("next token", "the next token", "positions", "offset", 1, MOSTLY)
CLS, SEP, PERIOD_COMMA = (
    Pattern(KIND_NAMES[kind], KIND_NAMES[kind], "token_kinds", "kind", kind, DEVOTED)
    for kind in ("cls", "sep", "period_comma")
)
BROAD = Pattern("broad", "all tokens", "entropy", "source", "all", BROAD_ENTROPY)
PATTERNS = (PREVIOUS, NEXT, CLS, SEP, PERIOD_COMMA, BROAD)


def strengths(table: pd.DataFrame, pattern: Pattern) -> pd.DataFrame:
    """The pattern's rows of its table, with how strongly each head shows it: a share of attention or of entropy."""
    rows = table[table[pattern.column] == pattern.key]
    if pattern is BROAD:
        rows = rows[rows["uniform_nats"] > 0]
        return rows.assign(strength=rows["nats"] / rows["uniform_nats"])
    return rows.assign(strength=rows["value"])


def heads_showing(table: pd.DataFrame, pattern: Pattern, least: float = MOSTLY) -> pd.DataFrame:
    """The rows of the heads that show a pattern with more than this strength."""
    rows = strengths(table, pattern)
    return rows[rows["strength"] > least]


@dataclass(frozen=True)
class CharacteristicHead:
    """A head (layer and head from 1) and what it does, in words."""

    layer: int
    head: int
    caption: str


def characteristic_heads(
    tables: Mapping[str, pd.DataFrame], labels: Mapping[str, str] | None = None
) -> list[CharacteristicHead]:
    """The clearest head of each pattern, for figure 1. `labels`: the model's names for [CLS] and [SEP].

    No head appears twice: if the strongest is taken, the next strongest stands for the pattern. Patterns that the
    survey did not measure, that the model has no token for, or that no head shows clearly, are skipped.
    """
    chosen: list[CharacteristicHead] = []
    for pattern in (BROAD, PREVIOUS, NEXT, SEP, CLS, PERIOD_COMMA):
        if pattern.table not in tables:
            continue
        rows = strengths(tables[pattern.table], pattern)
        taken = {(example.layer, example.head) for example in chosen}
        free = [
            (-row["strength"], int(row["layer"]), int(row["head"]))
            for row in rows[rows["strength"] >= CLEAR].to_dict("records")
            if (row["layer"], row["head"]) not in taken
        ]
        if free:
            negative, layer, head = min(free)
            share, target = f"{-100 * negative:.0f} %", (labels or {}).get(str(pattern.key), pattern.target)
            does = f"broadly ({share} of uniform entropy)" if pattern is BROAD else f"to {target} ({share})"
            chosen.append(CharacteristicHead(layer, head, f"Head {layer}-{head} attends {does}"))
    return chosen
