"""Which heads to show first: the clearest example of each surface pattern (figure 1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pandas as pd

from headatlas.views.figures.layers import KIND_LABELS

CLEAR = 0.2  # share of attention below which a head does not show a pattern


@dataclass(frozen=True)
class CharacteristicHead:
    """A head (layer and head from 1) and what it does, in words."""

    layer: int
    head: int
    caption: str


def characteristic_heads(
    tables: Mapping[str, pd.DataFrame], labels: Mapping[str, str] | None = None
) -> list[CharacteristicHead]:
    """The broadest head, then the strongest previous-token, next-token, `[SEP]`, `[CLS]` and period or comma head.

    No head is chosen twice: where the strongest is taken, the next strongest stands for the pattern. Patterns that
    the survey did not measure, that the model has no token for, or that no head shows clearly, are skipped.
    """
    chosen: list[CharacteristicHead] = []
    for pattern, scores in _patterns(tables, {**KIND_LABELS, **(labels or {})}):
        taken = {(one.layer, one.head) for one in chosen}
        free = [(-score, layer, head) for layer, head, score in scores if score >= CLEAR and (layer, head) not in taken]
        if free:
            negative, layer, head = min(free)
            caption = f"Head {layer}-{head} {pattern.format(share=f'{-100 * negative:.0f} %')}"
            chosen.append(CharacteristicHead(layer, head, caption))
    return chosen


def _patterns(
    tables: Mapping[str, pd.DataFrame], names: Mapping[str, str]
) -> Iterator[tuple[str, list[tuple[int, int, float]]]]:
    """Each pattern's words and its score for every head (layer, head, score)."""
    if "entropy" in tables:
        rows = tables["entropy"]
        rows = rows[(rows["source"] == "all") & (rows["uniform_nats"] > 0)]
        yield "attends broadly ({share} of uniform entropy)", _scores(rows, rows["nats"] / rows["uniform_nats"])
    if "positions" in tables:
        rows = tables["positions"]
        for offset, which in ((-1, "previous"), (1, "next")):
            there = rows[rows["offset"] == offset]
            yield f"attends to the {which} token ({{share}})", _scores(there, there["value"])
    if "token_kinds" in tables:
        rows = tables["token_kinds"]
        for kind, words in (("sep", names["sep"]), ("cls", names["cls"]), ("period_comma", "periods and commas")):
            there = rows[rows["kind"] == kind]
            literal = words.replace("{", "{{").replace("}", "}}")
            yield f"attends to {literal} ({{share}})", _scores(there, there["value"])


def _scores(rows: pd.DataFrame, values: pd.Series[float]) -> list[tuple[int, int, float]]:
    known = values.notna()
    return [
        (int(layer), int(head), float(value))
        for layer, head, value in zip(rows["layer"][known], rows["head"][known], values[known], strict=True)
    ]
