"""What each head does, as labels derived from the other tables (paper, section 6, figure 6).

A head has as many labels as it earns:

- *previous token*, *next token*: more than half of its attention goes there;
- *[CLS]*, *[SEP]*, *periods and commas*: more than 60 % does;
- *broad*: its mean entropy is more than 78 % of the uniform entropy (the paper's 3.8 nats at 128 tokens, where uniform
  attention has 4.85);
- a dependency relation that it is the best head for, or *coreference*, if its held-out accuracy is above the 95 %
  interval of the baseline: for relations the best fixed offset, for coreference the nearest mention with the same head
  word.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from headatlas.studies.dependencies import READINGS
from headatlas.views.words.patterns import BROAD, PATTERNS, Pattern, heads_showing

COREFERENCE_LABEL = "coreference"
RIVAL = "head_match"  # the baseline that a coreference head must beat
COLUMNS = ["layer", "head", "label", "strength", "evidence"]


def behaviours(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """layer, head, label, strength, evidence: from whichever tables there are, in the order of the heads."""
    rows = [row for pattern in PATTERNS if pattern.table in tables for row in _surface(tables[pattern.table], pattern)]
    if "dependency_best" in tables:
        rows += _dependencies(tables["dependency_best"])
    if "coreference_best" in tables:
        rows += _coreference(tables["coreference_best"], tables["coreference_baselines"])
    return pd.DataFrame(rows, columns=COLUMNS).sort_values(["layer", "head"], kind="stable", ignore_index=True)


def main_labels(labelled: pd.DataFrame) -> dict[tuple[int, int], str]:
    """One label per labelled head: where most of its attention goes, else what it is most often right about."""
    surface = labelled["label"].isin([pattern.label for pattern in PATTERNS])
    ranked = labelled.assign(surface=surface).sort_values(["surface", "strength"], ascending=False)
    first = ranked.drop_duplicates(["layer", "head"])
    return {(row["layer"], row["head"]): row["label"] for row in _rows(first)}


Row = tuple[int, int, str, float, str]


def _surface(table: pd.DataFrame, pattern: Pattern) -> Iterator[Row]:
    for row in _rows(heads_showing(table, pattern, pattern.least)):
        share = row["strength"]
        evidence = f"{share:.0%} of its attention goes to {pattern.target}"
        if pattern is BROAD:
            uniform = row["uniform_nats"]
            evidence = f"mean entropy {row['nats']:.2f} nats, {share:.0%} of {uniform:.2f} for all tokens alike"
        yield row["layer"], row["head"], pattern.label, share, evidence


def _dependencies(table: pd.DataFrame) -> Iterator[Row]:
    relations = table[~table["relation"].isin(READINGS)]
    for row in _rows(relations[relations["held_out"] > relations["baseline_high"]]):
        who = {"dependent_to_head": "from dependent to head", "head_to_dependent": "from head to dependent"}
        evidence = (
            f"best head for {row['relation']} ({who[row['direction']]}): right {row['held_out']:.0%} held out, "
            f"offset {row['baseline_offset']:+d} {row['baseline']:.0%} (at most {row['baseline_high']:.0%})"
        )
        yield row["layer"], row["head"], row["relation"], row["held_out"], evidence


def _coreference(best: pd.DataFrame, rules: pd.DataFrame) -> Iterator[Row]:
    rival = rules[(rules["baseline"] == RIVAL) & (rules["mention_type"] == "all")]
    for row in _rows(best[(best["mention_type"] == "all") & (best["candidates"] == "preceding")]):
        bar = rival["high"].item()
        if row["held_out"] > bar:
            evidence = (
                f"best head for antecedents: right {row['held_out']:.0%} held out, "
                f"nearest with the same head word {rival['accuracy'].item():.0%} (at most {bar:.0%})"
            )
            yield row["layer"], row["head"], COREFERENCE_LABEL, row["held_out"], evidence


def _rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(name): value for name, value in row.items()} for row in table.to_dict("records")]
