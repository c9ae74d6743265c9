"""Every number of the paper's tables 1 to 3 and of the authors' notebook beside ours, and when it is reproduced.

A number is reproduced if ours lies within a tolerance of it, or if our 95 % interval contains it and is at most 10
points wide, since the interval of a small corpus contains nearly anything. The tolerances:

- table 1 and the notebook: 2 points; tables 2 and 3, printed without decimals: 3 points;
- entropy: 0.15 nats; counts of heads: 1;
- which head is best, and the offset of a baseline: exactly the same.

A finding is a yes or no by the rule in its row (see `findings`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import pandas as pd

from headatlas.tables import records
from headatlas.views.published.compare import CANDIDATES, METHODS, NAMES, arrow, best_heads, head, summarise_probes
from headatlas.views.published.tables import published_coreference, published_dependencies, published_probes

Row = dict[str, Any]
Verdict = Literal["reproduced", "differs", "input missing"]
Tables = Mapping[str, pd.DataFrame]
"""The tables of the survey and of the probes, by name."""
Found = tuple[bool, str] | None
"""Whether a finding holds and the figures that decide; None if the tables cannot decide."""

TOLERANCES = {"table 1": 2.0, "notebook": 2.0, "table 2": 3.0, "table 3": 3.0, "heads": 1.0, "nats": 0.15}
WIDEST_INTERVAL = 10.0  # points
SAME_HEAD = "the same head and direction"
NEURAL = "a neural system that finds mentions itself, which is not part of this"
_UNITS = {"%": "points", "nats": "nats", "heads": "head"}


@dataclass(frozen=True)
class Check:
    """One published number or finding beside ours: a row of the table `reproduction`."""

    place: str
    item: str
    unit: str
    published: str
    rule: str
    ours: str = ""
    published_value: float = math.nan
    our_value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    verdict: Verdict = "input missing"
    missing: str = ""

    def without(self, what: str) -> Check:
        """The check with the input that is missing."""
        return replace(self, missing=what)

    def decided(self, holds: bool, ours: str) -> Check:
        """The check with a yes or no and the figures that decide."""
        return replace(self, ours=ours, verdict="reproduced" if holds else "differs")

    def measured(self, ours: float, tolerance: float, low: float = math.nan, high: float = math.nan) -> Check:
        """The check with our number, its interval if it has one, and the verdict that follows."""
        near = abs(ours - self.published_value) <= tolerance + 1e-9
        inside = low <= self.published_value <= high and high - low <= WIDEST_INTERVAL
        measured = replace(self, our_value=ours, low=low, high=high)
        decimals = {"%": 1, "nats": 2}.get(self.unit, 0)
        return measured.decided(near or inside, f"{ours:.{decimals}f}")


def number(place: str, item: str, unit: str, value: float, tolerance: float, decimals: int = 0) -> Check:
    """A published number, not yet with ours."""
    within = f"within {tolerance:g} {_UNITS.get(unit, unit)}" if tolerance else "the same"
    rule = f"{within}, or inside our interval" if unit == "%" else within
    return Check(place, item, unit, f"{value:.{decimals}f}", rule, published_value=value)


def table_of(checks: Sequence[Check]) -> pd.DataFrame:
    """The table `reproduction`."""
    frame = pd.DataFrame([asdict(check) for check in checks])
    return frame.assign(difference=frame["our_value"] - frame["published_value"])


def dependency_checks(tables: Tables, missing: str) -> Iterator[Check]:
    """Table 1 and the notebook: for each relation the best head, its accuracy, the baseline and its offset.

    `dependency_best` is as `compare_dependencies` gives it, with the published relation that belongs to each of ours.
    """
    ours = {} if missing else {row["published_relation"]: row for row in records(tables["dependency_best"])}
    for row in records(published_dependencies()):
        our_row = ours.get(row["relation"])
        lacking = missing or f"--ptb-dev has too few {row['relation']}, or none"
        for column, check in _of_relation(row):
            yield check.without(lacking) if our_row is None else _beside(check, column, our_row)


def _of_relation(row: Row) -> Iterator[tuple[str, Check]]:
    """What the paper prints of one relation, each with the column of ours to compare."""
    place, relation = str(row["source"]), str(row["relation"])
    for column, what in (("accuracy", "best head"), ("baseline", "fixed offset")):
        item = f"{relation}: accuracy of the {what}"
        yield column, number(place, item, "%", 100 * row[column], TOLERANCES[place], decimals=1)
    if not pd.isna(row["layer"]) and not pd.isna(row["direction"]):
        printed = f"{head(row['layer'], row['head'])} {arrow(row['direction'])}"
        yield "head", Check(place, f"{relation}: best head", "head", printed, SAME_HEAD)
    if not pd.isna(row["offset"]):
        item = f"{relation}: offset of the baseline"
        yield "baseline_offset", number(place, item, "words", row["offset"], 0)


def _beside(check: Check, column: str, our_row: Row) -> Check:
    if column == "head":
        named = f"{head(our_row['layer'], our_row['head'])} {arrow(our_row['direction'])}"
        return check.decided(named == check.published, named)
    if column == "baseline_offset":
        return check.measured(our_row[column], 0)
    return _scored(check, our_row, column, "" if column == "accuracy" else "baseline_")


def _scored(check: Check, our_row: Row, column: str, interval: str = "") -> Check:
    """The check with our share in percent. interval: the prefix of the columns low and high."""
    low, high = our_row[f"{interval}low"], our_row[f"{interval}high"]
    return check.measured(100 * our_row[column], TOLERANCES[check.place], 100 * low, 100 * high)


def antecedents(tables: Tables) -> dict[tuple[str, str], Row]:
    """How well each method, a head or a rule, finds antecedents, by method and type of mention."""
    heads = best_heads(tables["coreference"], tables["coreference_best"])
    rules = tables["coreference_baselines"].rename(columns={"baseline": "method"})
    return {(row["method"], row["mention_type"]): row for row in records(pd.concat([heads, rules]))}


def coreference_checks(tables: Tables, missing: str) -> Iterator[Check]:
    """Table 2: for each way of choosing an antecedent the accuracy for each type of mention; and the head."""
    ours = {} if missing else antecedents(tables)
    for row in records(published_coreference()):
        item = f"{METHODS[row['method']]}: {row['mention_type']} mentions"
        check = number("table 2", item, "%", 100 * row["accuracy"], TOLERANCES["table 2"])
        our_row = ours.get((row["method"], row["mention_type"]))
        if our_row is None:
            lacking = NEURAL if row["method"] == "neural" else f"--conll2012 has no {row['mention_type']} mentions"
            yield check.without(missing if missing and row["method"] != "neural" else lacking)
            continue
        yield _scored(check, our_row, "accuracy")
    printed = published_coreference().query("method == 'head'").iloc[0]
    check = Check("table 2", "best head", "head", head(printed["layer"], printed["head"]), "the same head")
    if missing:
        yield check.without(missing)
    else:
        best = tables["coreference_best"]
        chosen = best[(best["mention_type"] == "all") & (best["candidates"] == CANDIDATES)].iloc[0]
        named = head(chosen["layer"], chosen["head"])
        yield check.decided(named == check.published, named)


def probe_checks(tables: Tables, missing: str) -> Iterator[Check]:
    """Table 3: the score of every probe, the mean over seeds."""
    summary = [] if missing else records(summarise_probes(tables["probes"]))
    ours = {(row["probe"], row["weights"]): row for row in summary}
    for row in records(published_probes().fillna({"weights": ""})):
        key = (row["probe"], row["weights"])
        check = number("table 3", NAMES[key], "%", 100 * row["score"], TOLERANCES["table 3"])
        yield _scored(check, ours[key], "score") if key in ours else check.without(missing or "--glove")
