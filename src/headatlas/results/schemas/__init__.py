"""Every table that headatlas writes. The modules beside this one say what its columns mean.

All tables are tidy: one observation per row, `layer` and `head` counted from 1. Each is written twice, as
``tables/NAME.parquet`` and ``tables/NAME.csv``; both hold the same columns in the order given here. An empty cell
(CSV) or null (Parquet) is a value that does not exist, such as the attention to [SEP] of a model without one.

Unless a table says otherwise, a value is a mean over the tokens of a segment and then over segments, and `count` is
the number of segments in that mean.
"""

from __future__ import annotations

import pandas as pd

from headatlas.errors import AtlasError
from headatlas.results.schemas.ablation import ABLATION
from headatlas.results.schemas.columns import Table
from headatlas.results.schemas.comparison import COMPARISON
from headatlas.results.schemas.keyphrases import KEYPHRASES
from headatlas.results.schemas.probes import LAYERS, PROBES
from headatlas.results.schemas.survey import SURVEY

TABLES: dict[str, Table] = SURVEY | COMPARISON | ABLATION | PROBES | LAYERS | KEYPHRASES


def conform(name: str, frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with exactly the columns and types its table promises."""
    promised = [column for column, _, _ in TABLES[name].columns]
    if sorted(promised) != sorted(frame.columns):
        raise AtlasError(f"table {name} has columns {list(frame.columns)}, its schema says {promised}")
    kinds = {column: kind for column, kind, _ in TABLES[name].columns}
    typed = frame[promised].astype(kinds)
    texts = [column for column, kind in kinds.items() if kind == "str"]
    typed[texts] = typed[texts].where(frame[texts].notna())  # before pandas 3, a missing text became the word None
    return typed
