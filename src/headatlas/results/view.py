"""A table as people read it: the values, and the texts and rounded numbers that represent them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_float_dtype, is_numeric_dtype

from headatlas.errors import SettingError
from headatlas.tables import records

SIGNIFICANT = 4  # digits of a column's largest number
MOST_DECIMALS = 12


@dataclass(frozen=True)
class Column:
    """A column's title, the group it shares with its neighbours, and whether it is aligned right, as numbers are."""

    title: str
    group: str = ""
    number: bool = False


@dataclass(frozen=True)
class View:
    """Values for machines (`frame`) and the same rows as text (`cells`), with a title above and notes below."""

    frame: pd.DataFrame
    columns: tuple[Column, ...]
    cells: Sequence[tuple[str, ...]]  # one per row of the frame
    title: tuple[str, ...] = ()  # lines
    notes: tuple[str, ...] = ()
    keys: int = 1  # number of first columns that identify a row

    def chosen(self, sort: str | None = None, rows: int | None = None) -> View:
        """Sorted by a column of the frame and cut to the first rows; see `sort_order`."""
        if rows is not None and rows < 1:
            raise SettingError(f"--rows must be at least 1, not {rows}.")
        order = range(len(self.frame)) if sort is None else sort_order(self.frame, sort)
        chosen = list(order[:rows])
        cut = () if len(chosen) == len(self.frame) else (f"{len(chosen):,} of {len(self.frame):,} rows.",)
        return replace(
            self,
            frame=self.frame.iloc[chosen].reset_index(drop=True),
            cells=self.cells.of(chosen) if isinstance(self.cells, _Cells) else tuple(self.cells[row] for row in chosen),
            notes=(*self.notes, *cut),
        )

    def records(self) -> list[dict[str, Any]]:
        """The rows of the frame as values that JSON can hold: a number that is missing or infinite is None."""
        return records(self.frame.astype(object).mask(self.frame.isna() | self.frame.isin([math.inf, -math.inf]), None))


def plain_view(frame: pd.DataFrame, *title: str) -> View:
    """Every column of a frame, with the same number of decimals within a column."""
    columns = tuple(Column(str(name), number=is_numeric_dtype(frame[name])) for name in frame)
    keys = len(list(takewhile(lambda column: column.title in ("layer", "head"), columns)))
    return View(frame, columns, _Cells(frame), title, keys=max(1, keys))


class _Cells(Sequence[tuple[str, ...]]):
    """The rows of a frame as text, made when they are asked for: of millions of rows few are shown."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self._frame = frame
        self._decimals = [_decimals(frame[name].dropna()) if is_float_dtype(frame[name]) else 0 for name in frame]

    def __len__(self) -> int:
        return len(self._frame)

    def __getitem__(self, row: Any) -> Any:
        return self.of(range(len(self))[row]) if isinstance(row, slice) else self.of([row])[0]

    def of(self, rows: Sequence[int]) -> tuple[tuple[str, ...], ...]:
        """The rows of these numbers, in their order."""
        return tuple(self._texts(self._frame.iloc[list(rows)]))

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        return self._texts(self._frame)

    def _texts(self, rows: pd.DataFrame) -> Iterator[tuple[str, ...]]:
        columns = (_texts(rows[name], decimals) for name, decimals in zip(rows, self._decimals, strict=True))
        return zip(*columns, strict=True)


def sort_order(frame: pd.DataFrame, sort: str) -> list[int]:
    """Row numbers by a column: numbers from the largest, text from A; a leading `-` turns it round. Missing last."""
    name = sort.removeprefix("-")
    if name not in frame:
        raise SettingError(f"--sort {sort}: no such column. Choose from: {', '.join(map(str, frame.columns))}.")
    ascending = is_numeric_dtype(frame[name]) == sort.startswith("-")
    ordered = frame[name].reset_index(drop=True).sort_values(ascending=ascending, kind="stable", na_position="last")
    return [int(row) for row in ordered.index]


def _texts(column: pd.Series[Any], decimals: int) -> list[str]:
    whole = is_numeric_dtype(column) and not is_bool_dtype(column)

    def show(value: Any) -> str:
        if is_float_dtype(column):
            return decimal(float(value), decimals)
        return str(int(value) if whole else value)

    return ["" if missing else show(value) for value, missing in zip(column, column.isna(), strict=True)]


def _decimals(values: Sequence[float] | pd.Series[float]) -> int:
    """The number of decimals that shows the largest number with four digits."""
    known = np.abs(np.asarray(values, dtype=np.float64))
    largest = float(known[np.isfinite(known)].max(initial=0.0))
    places = SIGNIFICANT - 1 - math.floor(math.log10(largest)) if largest else 0
    return min(max(0, places), MOST_DECIMALS)


def decimal(value: float, decimals: int) -> str:
    """A number with fixed decimals; in powers of ten if they would show only zeros.

    >>> decimal(0.25, 3), decimal(0.00004, 3)
    ('0.250', '4.0e-05')
    """
    text = f"{value:.{decimals}f}"
    return f"{value:.1e}" if value != 0 and float(text) == 0 else text
