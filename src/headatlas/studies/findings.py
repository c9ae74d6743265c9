"""What is said of a model: a sentence, and beside it all that a sceptical reader asks of it.

The claim states one number. Behind it, in the same unit, stand its interval, what trivial rules reach, and what the
same network reaches without training. A sentence that names heads says which, so that it can be checked that none of an
untrained network is ever named.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import pandas as pd

from headatlas.tables import CONTROL, controlled
from headatlas.wording import fine_percent, percent

Head = tuple[int, int]  # layer and head, from 1
UNTRAINED = "untrained weights"
MOST_NAMED = 8
SMALL_SHARE = 0.0995  # below which a decimal is written
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
        heads: The heads that the finding is about. Those that the claim does not name are listed behind it.
        evidence: Further evidence in words, for example "p < 0.001 over 144 heads".
    """

    claim: str
    value: float | None = None
    interval: tuple[float, float] | None = None
    baselines: Mapping[str, float] = field(default_factory=dict)
    untrained: float | None = None
    unit: Literal["share", "nats", "number", "count"] = "share"
    heads: tuple[Head, ...] = ()
    evidence: tuple[str, ...] = ()

    @property
    def lead(self) -> float:
        """How far the lower end of the interval, or else the value, is above every baseline; 0 if it is not."""
        rivals = [*self.baselines.values(), *([] if self.untrained is None else [self.untrained])]
        if self.value is None or not rivals:
            return 0.0
        least = self.value if self.interval is None else self.interval[0]
        return max(least - max(rivals), 0.0)

    def __str__(self) -> str:
        unnamed = [head for head in self.heads if "{}-{}".format(*head) not in self.claim]
        parts = [name_heads(unnamed)] if unnamed else []
        if self.interval is not None and not any(map(math.isnan, self.interval)):
            low, high = map(self._written, self.interval)
            parts.append(f"95 % CI {low.removesuffix(' %') if self.unit == 'share' else low} to {high}")
        rivals = dict(self.baselines) | ({} if self.untrained is None else {UNTRAINED: self.untrained})
        parts += [f"{name} {self._written(value)}" for name, value in rivals.items()]
        parts += self.evidence
        return f"{self.claim} ({'; '.join(parts)})." if parts else f"{self.claim}."

    def _written(self, value: float) -> str:
        if self.unit == "share":
            return written_share(value)
        return f"{value:,.0f}" if self.unit == "count" else f"{value:.2f}"


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
