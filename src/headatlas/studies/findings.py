"""What is said of a model: a sentence, and beside it all that a sceptical reader asks of it.

The claim states one number. Behind it, in the same unit, stand its interval, what trivial rules reach, and what the
same network reaches without training. A sentence that names heads says which, so that it can be checked that none of an
untrained network is ever named.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import pandas as pd

from headatlas.tables import CONTROL, controlled
from headatlas.wording import fine_percent, percent

Head = tuple[int, int]  # layer and head, from 1
UNTRAINED = "untrained weights"
MOST_NAMED = 8
SMALL_SHARE = 0.0995  # below which a decimal is written
LEADING, MOST_OF_STUDY = 5, 2  # findings that are shown before the others, and how many of these may be of one study
MOST_LAYERS = 12  # that a sentence lists; more are in the table


@dataclass(frozen=True)
class Finding:
    """A sentence about a model, with its evidence.

    >>> print(Finding("Head 8-10 finds the verb of 77 % of objects", 0.77, (0.74, 0.8), {"best fixed offset": 0.38}))
    Head 8-10 finds the verb of 77 % of objects (95 % CI 74 to 80 %; best fixed offset 38 %).
    >>> print(Finding("2 of 72 heads attend mostly to [CLS]", 2, untrained=0, unit="count", heads=((1, 2), (3, 4))))
    2 of 72 heads attend mostly to [CLS] (1-2, 3-4; untrained weights 0).

    Attributes:
        claim: The sentence without its evidence and full stop. It states the value.
        value: The number that the claim states, if it states one.
        interval: The ends of its 95 % interval.
        baselines: What trivial rules reach, by name.
        untrained: What the same network reaches with random weights; None if that was not run.
        unit: The unit of all these numbers.
        most: The largest value that there can be, such as the number of heads that were counted; shares need none.
        heads: The heads that the finding is about. Those that the claim does not name are listed behind it.
        evidence: Further evidence in words, for example "p < 0.001 over 144 heads".
        study: The study that says it; filled in where the findings of all studies are collected.
        denies: Whether the claim is that nothing sure was found, whatever the numbers are.
    """

    claim: str
    value: float | None = None
    interval: tuple[float, float] | None = None
    baselines: Mapping[str, float] = field(default_factory=dict)
    untrained: float | None = None
    unit: Literal["share", "nats", "number", "count"] = "share"
    most: float | None = None
    heads: tuple[Head, ...] = ()
    evidence: tuple[str, ...] = ()
    study: str = ""
    denies: bool = False

    @property
    def surprise(self) -> float:
        """How much of the way from its best baseline to the largest possible value is surely covered, 0 to 1.

        Surely: to the lower end of the interval, if there is one. A count without a control starts at 0. A value
        without a baseline, or that could be any number, surprises nobody.

        >>> Finding("", 0.875, (0.75, 1.0), {"offset": 0.5}).surprise
        0.5
        >>> Finding("", 36, unit="count", most=72).surprise
        0.5
        """
        most = 1.0 if self.unit == "share" else self.most
        rivals = [value for value in self.rivals.values() if not math.isnan(value)]
        rivals += [0.0] * (self.unit == "count" and not rivals)
        if self.value is None or most is None or not rivals or self.denies:
            return 0.0
        least, bar = self.value if self.interval is None else self.interval[0], max(rivals)
        return (least - bar) / (most - bar) if bar < least <= most else 0.0

    @property
    def rivals(self) -> dict[str, float]:
        """What the value is measured against, by name: the baselines, and untrained weights if they were run."""
        return dict(self.baselines) | ({} if self.untrained is None else {UNTRAINED: self.untrained})

    def record(self) -> dict[str, Any]:
        """The finding with its numbers apart, as values that JSON can hold; null where there is none."""
        low, high = map(_known, self.interval or (None, None))
        return {
            "text": str(self),
            "claim": self.claim,
            "study": self.study,
            "unit": self.unit,
            "value": _known(self.value),
            "low": low,
            "high": high,
            "most": self.most,
            "rivals": {name: _known(value) for name, value in self.rivals.items()},
            "heads": [list(head) for head in self.heads],
            "evidence": list(self.evidence),
        }

    @property
    def brief(self) -> str:
        """The sentence with its heads, interval and rivals; further evidence is in the whole one."""
        return str(replace(self, evidence=()))

    def __str__(self) -> str:
        unnamed = [head for head in self.heads if "{}-{}".format(*head) not in self.claim]
        parts = [name_heads(unnamed)] if unnamed else []
        if self.interval is not None and not any(map(math.isnan, self.interval)):
            low, high = map(self._written, self.interval)
            parts.append(f"95 % CI {low.removesuffix(' %') if self.unit == 'share' else low} to {high}")
        parts += [f"{name} {self._written(value)}" for name, value in self.rivals.items()]
        parts += self.evidence
        return f"{self.claim} ({'; '.join(parts)})." if parts else f"{self.claim}."

    def _written(self, value: float) -> str:
        if self.unit == "share":
            return written_share(value)
        return f"{value:,.0f}" if self.unit == "count" else f"{value:.2f}"


def _known(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else float(value)


def leading(findings: Iterable[Finding | str], count: int) -> list[Finding | str]:
    """The findings to read first: the most surprising ones, each about another head, at most two of a study.

    >>> det = Finding("Head 3-1 finds det", 0.9, baselines={"offset": 0.5}, heads=((3, 1),), study="dependencies")
    >>> amod = Finding("Head 3-1 finds amod", 0.8, baselines={"offset": 0.5}, heads=((3, 1),), study="dependencies")
    >>> previous = Finding("Half of the heads", 36, unit="count", most=72, study="positions")
    >>> [str(finding) for finding in leading([amod, "A remark.", previous, det], 2)]
    ['Head 3-1 finds det (offset 50 %).', 'Half of the heads.']

    Args:
        findings: All findings. Those that surprise nobody, and plain sentences, come last, in their order.
        count: How many to choose, at most.

    Returns:
        The chosen ones, the most surprising first.
    """
    chosen: list[Finding | str] = []
    of_study: Counter[str] = Counter()
    heads: set[Head] = set()  # which a chosen finding is about, and about no other
    for finding in sorted(findings, key=lambda one: one.surprise if isinstance(one, Finding) else 0.0, reverse=True):
        if isinstance(finding, Finding):
            alone = set(finding.heads) if len(finding.heads) == 1 else set()
            if alone & heads or (finding.study and of_study[finding.study] == MOST_OF_STUDY):
                continue
            heads |= alone
            of_study[finding.study] += 1
        chosen.append(finding)
        if len(chosen) == count:
            break
    return chosen


def name_heads(heads: Iterable[Head]) -> str:
    """The first heads by name.

    >>> name_heads([(1, 2), (3, 4)])
    '1-2, 3-4'
    """
    names = [f"{layer}-{head}" for layer, head in heads]
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


def by_layer(rows: pd.DataFrame, unit: str = "share") -> list[str]:
    """Values of layers with their intervals, in words; nothing if there are too many layers to list.

    >>> table = pd.DataFrame({"layer": [1, 2], "value": [0.2, 0.593], "low": [0.18, 0.57], "high": [0.22, 0.61]})
    >>> by_layer(table)
    ['layers 1 to 2: 20 (18 to 22), 59 (57 to 61) %']
    """
    if len(rows) > MOST_LAYERS:
        return []
    values = []
    for numbers in zip(rows["value"], rows["low"], rows["high"], strict=True):
        value, low, high = (written_share(n).removesuffix(" %") if unit == "share" else f"{n:.2f}" for n in numbers)
        values.append(f"{value} ({low} to {high})")
    end = " %" if unit == "share" else ""
    return [f"layers {rows['layer'].min()} to {rows['layer'].max()}: {', '.join(values)}{end}"]


def last_layer(claim: str, rows: pd.DataFrame, unit: Literal["nats", "number"], *evidence: str) -> Finding:
    """A finding about the values of layers, with that of the last one, its interval and its control."""
    last = rows.iloc[-1]
    return Finding(
        claim,
        last["value"],
        (last["low"], last["high"]),
        untrained=last[CONTROL] if controlled(rows) else None,
        unit=unit,
        evidence=(*evidence, *by_layer(rows, unit)),
    )


def written_share(share: float) -> str:
    """A share of 1 in percent, with a decimal if it is small.

    >>> written_share(0.593), written_share(0.0156)
    ('59 %', '1.6 %')
    """
    return fine_percent(share) if 0 < share < SMALL_SHARE else percent(share)


def name_layers(layers: Iterable[int]) -> str:
    """Layers by number, runs of them by their ends.

    >>> name_layers([1, 4, 5, 6])
    'layers 1, 4 to 6'
    >>> name_layers([2])
    'layer 2'
    """
    runs: list[list[int]] = []
    for layer in layers:
        if runs and layer == runs[-1][-1] + 1:
            runs[-1].append(layer)
        else:
            runs.append([layer])
    names = [str(run[0]) if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs]
    return f"layer{'s' if sum(map(len, runs)) != 1 else ''} {', '.join(names)}"


def heads_in(rows: pd.DataFrame) -> tuple[Head, ...]:
    """The heads of some rows of a table, in their order."""
    return tuple((int(layer), int(head)) for layer, head in zip(rows["layer"], rows["head"], strict=True))
