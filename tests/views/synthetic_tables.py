"""Tables of the shapes that a survey writes, with made-up values."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

KINDS = ("cls", "sep", "period_comma", "other", "sep_to_sep", "other_to_sep", "resting")


def heads_of(layers: int, heads: int) -> list[int]:
    return [heads] * layers


def tidy(heads: Sequence[int], column: str, keys: Sequence[object], largest: float = 1.0) -> pd.DataFrame:
    """One row a head and key: layer, head (from 1), the key, value, low, high, count, no control."""
    random = np.random.default_rng(0)
    table = pd.DataFrame(
        [
            (layer, head, key, random.uniform(0, largest), 100)
            for layer, number in enumerate(heads, 1)
            for head in range(1, number + 1)
            for key in keys
        ],
        columns=["layer", "head", column, "value", "count"],
    )
    return table.assign(low=0.9 * table["value"], high=1.1 * table["value"], control=np.nan)


def token_kinds(heads: Sequence[int]) -> pd.DataFrame:
    return tidy(heads, "kind", KINDS).assign(expected=0.02)


def positions(heads: Sequence[int]) -> pd.DataFrame:
    return tidy(heads, "offset", (-1, 0, 1)).assign(expected=0.008)


def gradients(heads: Sequence[int]) -> pd.DataFrame:
    return tidy(heads, "kind", ("sep", "period_comma", "other"), largest=3e-4)


def entropy(heads: Sequence[int]) -> pd.DataFrame:
    return tidy(heads, "source", ("all", "cls"), largest=4.5).assign(expected=np.log(128))


def all_tables(heads: Sequence[int]) -> dict[str, pd.DataFrame]:
    return {
        "positions": positions(heads),
        "token_kinds": token_kinds(heads),
        "gradients": gradients(heads),
        "entropy": entropy(heads),
    }


def maps(*shape: int) -> np.ndarray:
    """Random attention of any leading shape; rows sum to 1."""
    scores = np.random.default_rng(1).gamma(0.3, size=shape)
    return scores / scores.sum(-1, keepdims=True)
