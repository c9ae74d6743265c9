"""What each head does, in words found from the other tables and not typed in (paper, section 6, figure 6).

A head has as many labels as it earns:

- *previous token*, *next token*: more than half of its attention goes there;
- *[CLS]*, *[SEP]*, *periods and commas*: more than 60 % does;
- *broad*: its mean entropy is more than 78 % of that of attending to all tokens alike, which is the paper's 3.8 nats at
  128 tokens, where all alike are 4.85;
- a dependency relation that it is best at of all heads, or *coreference*, if its accuracy, held out, lies above the
  95 % interval of the baseline: for relations the best fixed offset, for coreference the nearest mention with the same
  head word.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from headatlas.studies.dependencies import READINGS

MOSTLY = 0.5
DEVOTED = 0.6
BROAD = 3.8 / math.log(128)
SURFACE_LABELS = {"previous": "previous token", "next": "next token"}
KIND_LABELS = {"cls": "[CLS]", "sep": "[SEP]", "period_comma": "periods and commas"}
BROAD_LABEL = "broad"
COREFERENCE_LABEL = "coreference"
RIVAL = "head_match"  # the baseline that a coreference head must beat
COLUMNS = ["layer", "head", "label", "strength", "evidence"]


def behaviours(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """layer, head, label, strength, evidence: from whichever tables there are, in the order of the heads."""
    readers = {
        "positions": _positions,
        "token_kinds": _token_kinds,
        "entropy": _entropy,
        "dependency_best": _dependencies,
        "coreference_best": _coreference,
    }
    rows = [row for name, read in readers.items() if name in tables for row in read(tables)]
    return pd.DataFrame(rows, columns=COLUMNS).sort_values(["layer", "head"], kind="stable", ignore_index=True)


def main_labels(found: pd.DataFrame) -> dict[tuple[int, int], str]:
    """One label for each head that has any: what most of its attention goes to, else what it is most often right at."""
    surface = {*SURFACE_LABELS.values(), *KIND_LABELS.values(), BROAD_LABEL}
    ranked = found.assign(surface=found["label"].isin(surface)).sort_values(["surface", "strength"], ascending=False)
    first = ranked.drop_duplicates(["layer", "head"])
    return {(row["layer"], row["head"]): row["label"] for row in _rows(first)}


Row = tuple[int, int, str, float, str]


def _positions(tables: Mapping[str, pd.DataFrame]) -> Iterator[Row]:
    table = tables["positions"]
    for offset, label in zip((-1, 1), SURFACE_LABELS.values(), strict=True):
        for row in _rows(table[(table["offset"] == offset) & (table["value"] > MOSTLY)]):
            yield (
                row["layer"],
                row["head"],
                label,
                row["value"],
                f"{row['value']:.0%} of its attention goes to the {label}",
            )


def _token_kinds(tables: Mapping[str, pd.DataFrame]) -> Iterator[Row]:
    table = tables["token_kinds"]
    for kind, label in KIND_LABELS.items():
        for row in _rows(table[(table["kind"] == kind) & (table["value"] > DEVOTED)]):
            yield row["layer"], row["head"], label, row["value"], f"{row['value']:.0%} of its attention goes to {label}"


def _entropy(tables: Mapping[str, pd.DataFrame]) -> Iterator[Row]:
    table = tables["entropy"]
    for row in _rows(table[table["source"] == "all"]):
        if row["nats"] > BROAD * row["uniform_nats"] > 0:
            share = row["nats"] / row["uniform_nats"]
            evidence = (
                f"mean entropy {row['nats']:.2f} nats, {share:.0%} of {row['uniform_nats']:.2f} for all tokens alike"
            )
            yield row["layer"], row["head"], BROAD_LABEL, share, evidence


def _dependencies(tables: Mapping[str, pd.DataFrame]) -> Iterator[Row]:
    table = tables["dependency_best"]
    relations = table[~table["relation"].isin(READINGS)]
    for row in _rows(relations[relations["held_out"] > relations["baseline_high"]]):
        who = {"dependent_to_head": "from dependent to head", "head_to_dependent": "from head to dependent"}
        evidence = (
            f"best head for {row['relation']} ({who[row['direction']]}): right {row['held_out']:.0%} held out, "
            f"offset {row['baseline_offset']:+d} {row['baseline']:.0%} (at most {row['baseline_high']:.0%})"
        )
        yield row["layer"], row["head"], row["relation"], row["held_out"], evidence


def _coreference(tables: Mapping[str, pd.DataFrame]) -> Iterator[Row]:
    best, rules = tables["coreference_best"], tables["coreference_baselines"]
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
