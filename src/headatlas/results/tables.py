"""Every table that is known here: those of the studies, also of installed packages, and those of the commands.

All tables are tidy: one observation per row, `layer` and `head` counted from 1. Each is written twice, as
``tables/NAME.parquet`` and ``tables/NAME.csv``; both hold the same columns in the order of the declaration. A table of
more than 250,000 rows is written as Parquet alone. An empty cell (CSV) or null (Parquet) is a value that does not
exist, such as the attention to [SEP] of a model without one.

Unless a table says otherwise, a value is a mean over the tokens of a segment and then over segments, and `count` is
the number of segments in that mean.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headatlas.errors import PluginError
from headatlas.plugins import command_folders
from headatlas.studies import STUDIES
from headatlas.studies.labels import BEHAVIOURS
from headatlas.studies.study import Study
from headatlas.tables import Table


class Made(NamedTuple):
    """A table, the command that makes it, and its study with the kind of corpus that it needs; empty without one."""

    table: Table
    command: str
    corpus: str = ""
    study: str = ""


class KnownTables(Mapping[str, Table]):
    """The declared tables by name, collected when they are first asked for."""

    def __init__(self) -> None:
        self._given: set[str] = set()

    def give(self, study: type[Study]) -> None:
        """Make the tables of a study known that is not installed, or that was given before and has changed."""
        for name in self._given & {table.name for table in study.tables}:
            del self.made[name]
        self._given |= {table.name for table in study.tables} - self.made.keys()
        _add_study(self.made, study)

    @cached_property
    def made(self) -> dict[str, Made]:
        """How each table is made."""
        made = {BEHAVIOURS.name: Made(BEHAVIOURS, "survey")}
        for folder in command_folders():
            if find_spec(module := f"headatlas.commands.{folder}.tables"):
                command = folder.replace("_", "-")
                declared = [table for table in vars(import_module(module)).values() if isinstance(table, Table)]
                made |= {table.name: Made(table, command) for table in declared}
        for name in STUDIES:
            try:
                _add_study(made, STUDIES[name])
            except PluginError:  # said where the study is asked for; the other tables are known without it
                continue
        return made

    def __getitem__(self, name: str) -> Table:
        return self.made[name].table

    def __iter__(self) -> Iterator[str]:
        return iter(self.made)

    def __len__(self) -> int:
        return len(self.made)


def _add_study(made: dict[str, Made], study: type[Study]) -> None:
    for table in study.tables:
        made.setdefault(table.name, Made(table, "survey", study.corpus, study.name))


TABLES = KnownTables()


_LAYER = 1 << 32  # what a layer counts in the number that stands for a head


def distance_matrix(head_distances: pd.DataFrame) -> tuple[list[tuple[int, int]], NDArray[np.float64]]:
    """The heads in their order, as layer and head from 1, and their distances [H, H], symmetric, 0 on the diagonal.

    Args:
        head_distances: The table, its rows in any order. 5,120 heads have 13 million of them.
    """
    ends = [
        head_distances[f"layer_{end}"].to_numpy(np.int64) * _LAYER + head_distances[f"head_{end}"].to_numpy(np.int64)
        for end in "ab"
    ]
    heads = np.unique(np.concatenate([np.unique(end) for end in ends]))
    rows, columns = (np.searchsorted(heads, end) for end in ends)
    matrix = np.zeros((len(heads), len(heads)))
    matrix[rows, columns] = matrix[columns, rows] = head_distances["value"].to_numpy(np.float64)
    layers, numbers = np.divmod(heads, _LAYER)
    return list(zip(layers.tolist(), numbers.tolist(), strict=True)), matrix
