"""A claim of the paper, the answer that tables give to it, and the verdict that follows.

A number is reproduced if the published value lies within our 95 % interval, widened by a margin, and the interval is
narrower than a bound: the interval of a small corpus contains nearly anything. A finding is reproduced if its
inequality holds beyond its interval. Neither counts if a network with random weights meets the same rule.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import pandas as pd

Tables = Mapping[str, pd.DataFrame]
"""The tables of a survey, of probes and of other commands, by name."""
Row = dict[str, Any]
Verdict = Literal["reproduced", "differs", "not decided", "not run"]

LAYERS = 12  # of the paper's network
MARGINS = {"table 1": 2.0, "notebook": 2.0, "table 2": 3.0, "table 3": 3.0, "heads": 1.0, "nats": 0.15, "split": 2.0}
"""How far our interval is widened, in points; tables 2 and 3 are printed without decimals."""
WIDEST = {"%": 10.0, "nats": 0.5, "heads": 2.0}
"""The widest 95 % interval that can reproduce a number, by unit."""
_UNITS = {"%": "points", "nats": "nats", "heads": "heads"}
_DECIMALS = {"%": 1, "nats": 2}


class Estimate(NamedTuple):
    """A value and its 95 % interval."""

    value: float
    low: float
    high: float

    def minus(self, other: Estimate) -> Estimate:
        """The difference, as if the two were independent; on the same inputs its interval is rather too wide."""
        value = self.value - other.value
        below = math.hypot(self.value - self.low, other.high - other.value)
        above = math.hypot(self.high - self.value, other.value - other.low)
        return Estimate(value, value - below, value + above)


@dataclass(frozen=True)
class Answer:
    """What the tables of one network say to a claim.

    Attributes:
        holds: Whether the rule is met; None if the claim asks a question without an answer of its own.
        ours: The figures that decide, as people read them.
        estimate: Our number in the unit of the claim, if it is a number.
        strength: How strongly the claim holds, where the rule also asks for a lead over random weights.
    """

    holds: bool | None
    ours: str
    estimate: Estimate | None = None
    strength: float = math.nan


@dataclass(frozen=True)
class Claim:
    """One published number or finding, and when it counts as reproduced.

    Attributes:
        number: Of the claim in the list of all claims of the paper and the lectures about it.
        place: Table, figure or section.
        item: What the number measures, or the statement.
        tables: The tables that decide, or columns of them: "dependency_best.with_special"; "any_ablation" is that of
            any model.
        rule: When it is reproduced, in words.
        ask: Decides from the tables; None if they hold too little.
        published: As printed.
        unit: Of the number; "finding" for a statement.
        value: The published number.
        decided_by: The model, the corpus (with the tokenizer) whatever the model is, or a comparison with a control
            that is part of the rule.
        lead: By how much the strength must exceed that of random weights.
        lacking: What to do if there are no tables, or they hold too little.
    """

    number: int
    place: str
    item: str
    tables: tuple[str, ...]
    rule: str
    ask: Callable[[Tables], Answer | None]
    published: str = "yes"
    unit: str = "finding"
    value: float = math.nan
    decided_by: Literal["model", "corpus", "comparison"] = "model"
    lead: float | None = None
    lacking: str = ""


def number(
    claim: int,
    place: str,
    item: str,
    value: float,
    unit: str,
    tables: tuple[str, ...],
    read: Callable[[Tables], Estimate | None],
    *,
    margin: float,
    decided_by: Literal["model", "corpus"] = "model",
    lacking: str = "",
    remark: Callable[[Tables], str] = lambda _: "",
) -> Claim:
    """A published number. read: our number with its interval; remark: what to add to ours."""
    widest = WIDEST.get(unit, 0.0)

    def ask(tables: Tables) -> Answer | None:
        ours = read(tables)
        if ours is None or math.isnan(ours.value):
            return None
        return Answer(agrees(value, ours, margin, widest), f"{ours.value:.{decimals}f}{remark(tables)}", ours)

    decimals = _DECIMALS.get(unit, 0)
    within = f"within our interval widened by {margin:g} {_UNITS.get(unit, unit)}, at most {widest:g} wide"
    return Claim(
        claim, place, item, tables, within if margin else "the same", ask, f"{value:.{printed_decimals(place, unit)}f}",
        unit, value, decided_by, lacking=lacking,
    )  # fmt: skip


def printed_decimals(place: str, unit: str) -> int:
    """How many decimals the paper prints."""
    return 1 if place in ("table 1", "notebook") and unit == "%" else 2 if unit == "nats" else 0


def agrees(published: float, ours: Estimate, margin: float, widest: float) -> bool:
    """Whether a published number lies within our widened interval, and the interval is narrow enough."""
    low, high = (ours.value if math.isnan(end) else end for end in (ours.low, ours.high))
    narrow = high - low <= widest + 1e-9
    return narrow and low - margin - 1e-9 <= published <= high + margin + 1e-9


@dataclass(frozen=True)
class Check:
    """A claim with its verdict: a row of the table `reproduction`."""

    claim: int
    place: str
    item: str
    decided_by: str
    unit: str
    published: str
    ours: str
    published_value: float
    our_value: float
    low: float
    high: float
    verdict: Verdict
    fresh: str
    shuffled: str
    met_by: str
    rule: str
    missing: str


NOT_ALONE = "random weights give the same"
NO_RANDOM = "random weights were not run"


def judge(claim: Claim, tables: Tables, random: Mapping[str, Tables], missing: Mapping[str, str]) -> Check:
    """The verdict on a claim. random: the tables of random networks by kind; missing: why tables are not there."""
    lacking = [name.partition(".")[0] for name in claim.tables if not _has(tables, name)]
    reasons = [missing.get(name) or claim.lacking or f"the table {name}" for name in lacking]
    answer = None if reasons else claim.ask(tables)
    if answer is None:
        return _row(claim, "not run", None, {}, reasons[0] if reasons else claim.lacking)
    if claim.decided_by != "model":
        return _row(claim, _plain(answer), answer, {}, "")
    answers = {kind: _asked(claim, theirs) for kind, theirs in random.items()}
    given = {kind: theirs for kind, theirs in answers.items() if theirs is not None}
    met = [kind for kind, theirs in given.items() if theirs.holds or _as_strong(claim, theirs, answer)]
    verdict, why = _plain(answer), ""
    if verdict == "reproduced" and (met or not given):
        verdict, why = "not decided", NOT_ALONE if met else NO_RANDOM
    return _row(claim, verdict, answer, given, why, met)


def _asked(claim: Claim, tables: Tables) -> Answer | None:
    return claim.ask(tables) if all(_has(tables, name) for name in claim.tables) else None


def _has(tables: Tables, name: str) -> bool:
    table, _, column = name.partition(".")
    return table in tables and (not column or column in tables[table])


def _as_strong(claim: Claim, theirs: Answer, ours: Answer) -> bool:
    """Whether random weights come within the lead that a claim asks for."""
    return claim.lead is not None and not theirs.strength < ours.strength - claim.lead


def _plain(answer: Answer) -> Verdict:
    return "not decided" if answer.holds is None else "reproduced" if answer.holds else "differs"


def _row(
    claim: Claim, verdict: Verdict, answer: Answer | None, random: Mapping[str, Answer], missing: str,
    met: list[str] | None = None,
) -> Check:  # fmt: skip
    ours = answer or Answer(None, "")
    value, low, high = ours.estimate or Estimate(math.nan, math.nan, math.nan)
    fresh, shuffled = (random[kind].ours if kind in random else "" for kind in ("fresh", "shuffled"))
    lead = "" if claim.lead is None else f", and {claim.lead:g} more than with random weights"
    return Check(
        claim.number, claim.place, claim.item, claim.decided_by, claim.unit, claim.published, ours.ours, claim.value,
        value, low, high, verdict, fresh, shuffled, ", ".join(met or ()), claim.rule + lead, missing,
    )  # fmt: skip


def at_depth(layer: int, layers: int) -> int:
    """The layer at the same share of the depth as a layer of 12.

    >>> [at_depth(layer, 6) for layer in (1, 5, 6, 10, 12)], at_depth(5, 12)
    ([1, 3, 3, 5, 6], 5)
    """
    return math.ceil(layer * layers / LAYERS)
