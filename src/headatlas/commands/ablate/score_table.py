"""The change of a score without each head as a table of layers and heads, starred where it is significant.

As table 1 of Michel et al. (2019), which gives BLEU of a translation model.
"""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from headatlas.commands.ablate.task_run import SIGNIFICANT
from headatlas.wording import counted

_NAMES = {"bleu": "BLEU", "chrf": "chrF"}


def score_table(rows: pd.DataFrame) -> Iterator[str]:
    """The lines of the table, with a heading and a footnote; rows: of one task and measure."""
    measure = str(rows["measure"].iloc[0])
    whole = float(rows["score"].iloc[0] - rows["change"].iloc[0])
    starred = rows["p_value"] < SIGNIFICANT
    cells = [f"{change:+.2f}{'*' if star else ' '}" for change, star in zip(rows["change"], starred, strict=True)]
    grid = rows.assign(cell=cells).pivot(index="layer", columns="head", values="cell").fillna("")
    width = max(map(len, cells)) + 1
    yield f"change of {_NAMES.get(measure, measure)} without each head, {whole:.2f} with all of them:"
    yield "layer" + "".join(f"{head:>{width - 1}} " for head in grid.columns)
    for layer, line in grid.iterrows():
        yield f"{layer:>5}" + "".join(f"{cell:>{width}}" for cell in line)
    yield (
        f"* p < {SIGNIFICANT:g}, corrected for {counted(len(rows), 'head')}; texts resampled: {rows['count'].iloc[0]:,}"
    )
