"""What each head does, in a word: patterns of attention, and the labels that studies give (section 6, figure 6).

Labels, findings, figure 1 and the reproduction of the paper all ask which heads show a pattern. A study declares the
patterns that its table measures; what they are called and how strongly a head shows them is said there alone. A head
may have several labels, or none.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import pandas as pd

from headatlas.studies.findings import UNTRAINED, Finding, heads_in, written_share
from headatlas.tables import CONTROL, EXPECTED, ONE_HEAD, Key, Table, Value, controlled, records
from headatlas.wording import percent

MOSTLY = 0.5  # of a head's attention: "more than half", as the paper puts it
Tables = Mapping[str, pd.DataFrame]

BEHAVIOURS = Table(
    "behaviours",
    "What does each head do, in a word, with the evidence?",
    (
        *ONE_HEAD,
        Key("label", "previous token, next token, [CLS], [SEP], periods and commas, broad, coreference, or a relation"),
        Value("strength", "share of attention, or (broad) of uniform entropy; else the head's accuracy", "share"),
        Value("evidence", "the figures behind the label, in words", "text"),
        Value("kind", "label: what the head does; state: how it attends, which untrained heads may do too", "text"),
    ),
    section="6, figure 6",
    card=None,
    why_not="labels are matched instead: table behaviour_matches",
)


class Label(NamedTuple):
    """What a head (layer and head from 1) does, how strongly, and the figures behind it in words.

    A state says how a head attends and not what it does: untrained heads may be in it too.
    """

    layer: int
    head: int
    label: str
    strength: float
    evidence: str
    kind: Literal["label", "state"] = "label"


@dataclass(frozen=True)
class Pattern:
    """A surface pattern: its label, what such a head attends to, and the rows of a table that measure it.

    Attributes:
        label: What a head that shows it is called.
        target: What such a head attends to, in a sentence: "attends to ...".
        table: The table that measures it.
        column: The column of that table which tells its rows apart; empty if each head has one row.
        key: The value of its rows in that column.
        least: Strength above which a head earns the label.
        value: The column with the strength.
        relative_to: A column that the strength is divided by, if any.
        kind: Whether it is a label, or a state in which untrained heads may be too.
    """

    label: str
    target: str
    table: str
    column: str = ""
    key: str | int = ""
    least: float = MOSTLY
    value: str = "value"
    relative_to: str = ""
    kind: Literal["label", "state"] = "label"

    def strengths(self, table: pd.DataFrame, value: str = "") -> pd.DataFrame:
        """The pattern's rows of its table, with how strongly each head shows it. value: another column of it."""
        rows = table[table[self.column] == self.key] if self.column else table
        value = value or self.value
        if not self.relative_to:
            return rows.assign(strength=rows[value])
        rows = rows[rows[self.relative_to] > 0]
        return rows.assign(strength=rows[value] / rows[self.relative_to])

    def heads(self, table: pd.DataFrame, least: float = MOSTLY, value: str = "") -> pd.DataFrame:
        """The rows of the heads that show the pattern with more than this strength."""
        rows = self.strengths(table, value)
        return rows[rows["strength"] > least]

    def is_possible(self, table: pd.DataFrame) -> bool:
        """Whether any attention can go there: in a causal model, none goes to the next token."""
        return EXPECTED not in table or not (self.strengths(table)[EXPECTED] == 0).all()

    def labels(self, table: pd.DataFrame) -> Iterator[Label]:
        """The heads that earn the label."""
        for row in records(self.heads(table, self.least)):
            evidence = f"{percent(row['strength'])} of its attention goes to {self.target}"
            if EXPECTED in row:
                evidence += f"; uniform attention would put {written_share(row[EXPECTED])} there"
            if self.relative_to:
                evidence = (
                    f"mean entropy {row[self.value]:.2f} nats, {percent(row['strength'])} of "
                    f"{row[self.relative_to]:.2f} for uniform attention"
                )
            if controlled(table):
                of_control = row[CONTROL] / (row[self.relative_to] if self.relative_to else 1)
                evidence += f"; {UNTRAINED} {percent(of_control)}"
            yield Label(row["layer"], row["head"], self.label, row["strength"], evidence, self.kind)

    def finding(self, table: pd.DataFrame) -> Finding:
        """Which heads put most of their attention there, and how many of the untrained network do."""
        heads = self.heads(table)
        sure = len(self.heads(table, value="low"))
        uniform = self.strengths(table)[EXPECTED].mean() if EXPECTED in table else math.nan
        return Finding(
            f"{put(heads, 'more than half of')} {self.target}",
            len(heads),
            untrained=len(self.heads(table, value=CONTROL)) if controlled(table) else None,
            unit="count",
            most=len(self.strengths(table)),
            heads=heads_in(heads),
            evidence=(
                *([f"whole 95 % CI above half: {sure}"] if sure < len(heads) else []),
                *([f"uniform attention would put {written_share(uniform)} there"] if uniform > 0 else []),
            ),
        )


def table_of_labels(labels: Iterable[Label]) -> pd.DataFrame:
    """Make the table of behaviours from the labels that studies give, in the order of the heads."""
    frame = pd.DataFrame(labels, columns=BEHAVIOURS.names)
    return frame.sort_values(["layer", "head"], kind="stable", ignore_index=True)


def labels_of(behaviours: pd.DataFrame) -> pd.DataFrame:
    """The rows of the table of behaviours that say what a head does, without the states."""
    return behaviours[behaviours["kind"] == "label"] if "kind" in behaviours else behaviours


def put(heads: pd.DataFrame, share: str) -> str:
    """The beginning of a sentence: "3 heads put more than half of their attention on"."""
    if len(heads) > 1:
        return f"{len(heads)} heads put {share} their attention on"
    return f"{'1' if len(heads) else 'No'} head puts {share} its attention on"
