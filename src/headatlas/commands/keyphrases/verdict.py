"""What the comparison of methods and the ranking of heads say, in sentences.

Who wins is said of the first ten phrases, macro F1, with report words as the run has them. The rival is the best other
method on the same documents; intervals and p values hold for all methods at once, so picking it costs nothing more.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pandas as pd

from headatlas.commands.keyphrases.evaluation import CUT
from headatlas.commands.keyphrases.methods import NO_ATTENTION, OTHER_HEADS
from headatlas.commands.keyphrases.ranking import SHUFFLES
from headatlas.wording import counted

LEVEL = 0.05  # of the corrected p value, below which one method wins
SHOWN = 5  # heads of a list
Row = dict[Any, Any]  # of a table


def verdicts(scores: pd.DataFrame, leads: pd.DataFrame) -> Iterator[str]:
    """Whether the chosen heads beat the methods without attention, and whether choosing them was worth it."""
    setting = scores["report_words"].iloc[0]
    f1, leads_over = (
        {str(row["method"]): row for row in frame[(frame["k"] == CUT) & of_setting].to_dict("records")}
        for frame, of_setting in ((frame, frame["report_words"] == setting) for frame in (scores, leads))
    )
    groups = (NO_ATTENTION, "of the methods without attention"), (OTHER_HEADS, "of other choices of heads")
    for others, said in groups:
        rival = max((method for method in others if method in f1), key=lambda method: float(f1[method]["f1"]))
        yield _verdict(f1["heads"], f1[rival], leads_over[rival], said, len(leads_over))


def _verdict(heads: Row, rival: Row, gap: Row, said: str, compared: int) -> str:
    if not gap["p_value"] < LEVEL:
        outcome = "the chosen heads and it cannot be told apart"
    else:
        outcome = "the chosen heads beat it" if gap["lead"] > 0 else "the chosen heads lose to it"
    ends = f" [{gap['lead_low']:+.3f}, {gap['lead_high']:+.3f}]"
    tested = f"{ends}, p = {gap['p_value']:.3f}" if not math.isnan(gap["lead_low"]) else ", too few differ to test it"
    return (
        f"At {CUT} phrases, F1 {heads['f1']:.3f} [{heads['low']:.3f}, {heads['high']:.3f}]; {said} {rival['method']} "
        f"is best with {rival['f1']:.3f}: {outcome} ({gap['lead']:+.3f}{tested}, paired over "
        f"{counted(gap['count'], 'document')}, corrected for {counted(compared, 'method')})."
    )


def ranked_lists(ranking: pd.DataFrame) -> Iterator[str]:
    """The first heads of each list that beat length and shuffled labels, and how many do."""
    for (name, pooling), rows in ranking.groupby(["list", "pooling"], sort=False):
        named = rows[rows["named"].astype(bool)]
        first = ", ".join(f"{row['name']} {row['value']:.4g}" for row in named.head(SHOWN).to_dict("records"))
        bars = (
            f"length {rows['length'].iloc[0]:.4g}; best of {len(rows)} heads in {SHUFFLES} draws of shuffled labels "
            f"{rows['shuffled'].iloc[0]:.4g}"
        )
        beat = f"{counted(len(named), 'head')} beat{'s' * (len(named) == 1)}"
        yield f"{name}, {pooling}: {beat} both controls ({bars}){': ' if first else '.'}{first}"
