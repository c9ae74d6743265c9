"""All tables of a survey out of its studies."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from headatlas.studies import Study
from headatlas.studies.dependencies import Dependencies
from headatlas.views.words.behaviours import behaviours


def all_tables(studies: Iterable[Study], control: Dependencies | None = None) -> dict[str, pd.DataFrame]:
    """Every table of every study, and what they say together of each head.

    control: the same network with random weights, whose best accuracies stand in the table of the best heads.
    """
    tables: dict[str, pd.DataFrame] = {}
    for study in studies:
        tables |= study.tables()
    if "dependency_best" in tables:
        best = control.best().set_index("relation")["accuracy"] if control else pd.Series(dtype=float)
        table = tables["dependency_best"]
        tables["dependency_best"] = table.assign(control=table["relation"].map(best).astype(float))
    tables["behaviours"] = behaviours(tables)
    return tables
