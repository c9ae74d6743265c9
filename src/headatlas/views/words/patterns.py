"""What each head does: surface patterns of attention, and labels derived from the tables (paper, section 6, figure 6).

Labels, findings, figure 1 and the reproduction of the paper all ask which heads show a pattern. What a pattern is
called and how strongly a head shows it is defined here alone. A head may have several labels:

- *previous token*, *next token*: more than half of its attention goes there;
- *[CLS]*, *[SEP]*, *periods and commas*: more than 60 % of its attention goes there;
- *broad*: its mean entropy is more than 78 % of the uniform entropy (the paper's 3.8 nats at 128 tokens, where uniform
  attention has 4.85);
- a dependency relation that it is the best head for, or *coreference*, if its held-out accuracy is above the 95 %
  interval of the baseline: for relations the best fixed offset, for coreference the nearest mention with the same head
  word.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pandas as pd

from headatlas.results.view import records
from headatlas.studies.dependencies import READINGS

MOSTLY = 0.5  # of a head's attention: "more than half", as the paper puts it
DEVOTED = 0.6  # of a head's attention, for a label after a kind of token
BROAD_ENTROPY = 3.8 / math.log(128)  # of the uniform entropy: the paper's 3.8 nats in segments of 128 tokens
BROAD_WEIGHT = 0.1  # mean largest weight of the paper's broad heads: at most 10 % on any one word
CLEAR = 0.2  # least strength of a head that is shown as an example of a pattern
KIND_NAMES = {"cls": "[CLS]", "sep": "[SEP]", "period_comma": "periods and commas", "other": "other"}
COREFERENCE_LABEL = "coreference"
RIVAL = "head_match"  # the baseline that a coreference head must beat
COLUMNS = ["layer", "head", "label", "strength", "evidence"]


@dataclass(frozen=True)
class Pattern:
    """A surface pattern: its label, what such a head attends to, and the rows of a table that measure it."""

    label: str
    target: str  # in a sentence: "attends to ..."
    table: str
    column: str
    key: str | int  # of the rows in that column
    least: float  # strength above which a head earns the label


PREVIOUS = Pattern("previous token", "the previous token", "positions", "offset", -1, MOSTLY)
NEXT = Pattern("next token", "the next token", "positions", "offset", 1, MOSTLY)
CLS, SEP, PERIOD_COMMA = (
    Pattern(KIND_NAMES[kind], KIND_NAMES[kind], "token_kinds", "kind", kind, DEVOTED)
    for kind in ("cls", "sep", "period_comma")
)
BROAD = Pattern("broad", "all tokens", "entropy", "source", "all", BROAD_ENTROPY)
PATTERNS = (PREVIOUS, NEXT, CLS, SEP, PERIOD_COMMA, BROAD)


def strengths(table: pd.DataFrame, pattern: Pattern) -> pd.DataFrame:
    """The pattern's rows of its table, with how strongly each head shows it: a share of attention or of entropy."""
    rows = table[table[pattern.column] == pattern.key]
    if pattern is BROAD:
        rows = rows[rows["uniform_nats"] > 0]
        return rows.assign(strength=rows["nats"] / rows["uniform_nats"])
    return rows.assign(strength=rows["value"])


def heads_showing(table: pd.DataFrame, pattern: Pattern, least: float = MOSTLY) -> pd.DataFrame:
    """The rows of the heads that show a pattern with more than this strength."""
    rows = strengths(table, pattern)
    return rows[rows["strength"] > least]


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
    for pattern in (BROAD, PREVIOUS, NEXT, SEP, CLS, PERIOD_COMMA):
        if pattern.table not in tables:
            continue
        rows = strengths(tables[pattern.table], pattern)
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
    return {(row["layer"], row["head"]): row["label"] for row in records(first)}


Row = tuple[int, int, str, float, str]


def _surface(table: pd.DataFrame, pattern: Pattern) -> Iterator[Row]:
    for row in records(heads_showing(table, pattern, pattern.least)):
        share = row["strength"]
        evidence = f"{share:.0%} of its attention goes to {pattern.target}"
        if pattern is BROAD:
            uniform = row["uniform_nats"]
            evidence = f"mean entropy {row['nats']:.2f} nats, {share:.0%} of {uniform:.2f} for all tokens alike"
        yield row["layer"], row["head"], pattern.label, share, evidence


def _dependencies(table: pd.DataFrame) -> Iterator[Row]:
    relations = table[~table["relation"].isin(READINGS)]
    for row in records(relations[relations["held_out"] > relations["baseline_high"]]):
        who = {"dependent_to_head": "from dependent to head", "head_to_dependent": "from head to dependent"}
        evidence = (
            f"best head for {row['relation']} ({who[row['direction']]}): right {row['held_out']:.0%} held out, "
            f"offset {row['baseline_offset']:+d} {row['baseline']:.0%} (at most {row['baseline_high']:.0%})"
        )
        yield row["layer"], row["head"], row["relation"], row["held_out"], evidence


def _coreference(best: pd.DataFrame, rules: pd.DataFrame) -> Iterator[Row]:
    rival = rules[(rules["baseline"] == RIVAL) & (rules["mention_type"] == "all")]
    for row in records(best[(best["mention_type"] == "all") & (best["candidates"] == "preceding")]):
        bar = rival["high"].item()
        if row["held_out"] > bar:
            evidence = (
                f"best head for antecedents: right {row['held_out']:.0%} held out, "
                f"nearest with the same head word {rival['accuracy'].item():.0%} (at most {bar:.0%})"
            )
            yield row["layer"], row["head"], COREFERENCE_LABEL, row["held_out"], evidence
