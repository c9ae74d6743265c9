"""The change of a score without each head as a table of layers and heads, starred where it is significant.

As table 1 of Michel et al. (2019), which gives BLEU of a translation model.
"""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from headatlas.commands.ablate.task_run import SIGNIFICANT
from headatlas.studies.findings import Finding
from headatlas.tables import records
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


def score_findings(rows: pd.DataFrame, most: int) -> Iterator[Finding]:
    """One sentence for each of the heads whose removal changes the score the most, if it does so significantly."""
    measure = str(rows["measure"].iloc[0])
    name = _NAMES.get(measure, measure)
    sure = rows[rows["p_value"] < SIGNIFICANT]
    if sure.empty:
        texts = counted(int(rows["count"].iloc[0]), "text")
        evidence = (f"p < {SIGNIFICANT:g}, corrected for {counted(len(rows), 'head')}",)
        yield Finding(f"No head alone is shown to change {name} of {texts}", evidence=evidence)
    for row in records(sure.reindex(sure["change"].abs().nlargest(most).index)):
        yield Finding(
            f"Without head {row['layer']}-{row['head']} {name} changes by {row['change']:+.2f}",
            row["change"],
            (row["low"], row["high"]),
            baselines={"with all heads": row["score"] - row["change"]},
            unit="number",
            heads=((int(row["layer"]), int(row["head"])),),
            evidence=(f"p = {row['p_value']:.2g}, corrected for {counted(len(rows), 'head')}",),
        )
