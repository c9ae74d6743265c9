"""Numbers as the paper prints them: accuracies in percent, heads as 8-10; nothing where there is nothing."""

from __future__ import annotations

from typing import Any

import pandas as pd

ARROWS = {"dependent_to_head": "d->h", "head_to_dependent": "h->d"}


def text(value: Any) -> str:
    """A value as it is."""
    return "" if pd.isna(value) else str(value)


def head(layer: Any, number: Any) -> str:
    """A head by its layer and number."""
    return "" if pd.isna(layer) else f"{int(layer)}-{int(number)}"


def arrow(direction: Any) -> str:
    """Which word attends to which: dependent (d) and head (h)."""
    return "" if pd.isna(direction) else ARROWS[direction]


def percent(share: Any, decimals: int = 1) -> str:
    """A share of 1 in percent."""
    return "" if pd.isna(share) else f"{100 * share:.{decimals}f}"


def interval(low: Any, high: Any) -> str:
    """An interval of shares in percent."""
    return "" if pd.isna(low) else f"[{percent(low)}, {percent(high)}]"


def offset(share: Any, place: Any) -> str:
    """A baseline's share in percent and its offset."""
    return percent(share) if pd.isna(place) else f"{percent(share)} ({int(place)})"
