"""The heads to show for each surface pattern, and the one label that a picture has room for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from headatlas.studies.entropy import BROAD
from headatlas.studies.labels import labels_of
from headatlas.studies.positions import NEXT, PREVIOUS
from headatlas.studies.token_kinds import CLS, PERIOD_COMMA, SEP
from headatlas.tables import records

CLEAR = 0.2  # least strength of a head that is shown as an example of a pattern
SHOWN = (BROAD, PREVIOUS, NEXT, SEP, CLS, PERIOD_COMMA)


@dataclass(frozen=True)
class CharacteristicHead:
    """A head (layer and head from 1) and what it does, in words."""

    layer: int
    head: int
    caption: str


def characteristic_heads(
    tables: Mapping[str, pd.DataFrame], labels: Mapping[str, str] | None = None
) -> list[CharacteristicHead]:
    """The clearest head of each pattern, for figure 1. `labels`: the model's names for [CLS] and [SEP].

    No head appears twice: if the strongest is taken, the next strongest is shown for the pattern. Patterns that the
    survey did not measure, that the model has no token for, or that no head shows clearly, are skipped.
    """
    chosen: list[CharacteristicHead] = []
    for pattern in SHOWN:
        if pattern.table not in tables:
            continue
        rows = pattern.strengths(tables[pattern.table])
        taken = {(example.layer, example.head) for example in chosen}
        free = [
            (-row["strength"], int(row["layer"]), int(row["head"]))
            for row in rows[rows["strength"] >= CLEAR].to_dict("records")
            if (row["layer"], row["head"]) not in taken
        ]
        if free:
            negative, layer, head = min(free)
            share, target = f"{-100 * negative:.0f} %", (labels or {}).get(str(pattern.key), pattern.target)
            does = f"broadly ({share} of uniform entropy)" if pattern is BROAD else f"to {target} ({share})"
            chosen.append(CharacteristicHead(layer, head, f"Head {layer}-{head} attends {does}"))
    return chosen


def main_labels(behaviours: pd.DataFrame) -> dict[tuple[int, int], str]:
    """One label per labelled head: where most of its attention goes, else what it is most often right about."""
    labelled = labels_of(behaviours)
    surface = labelled["label"].isin([pattern.label for pattern in SHOWN])
    ranked = labelled.assign(surface=surface).sort_values(["surface", "strength"], ascending=False)
    first = ranked.drop_duplicates(["layer", "head"])
    return {(row["layer"], row["head"]): row["label"] for row in records(first)}
