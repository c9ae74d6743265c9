"""What a table is, declared once by the study or command that makes it.

Everything that is said about a table follows from its declaration: the columns on disk and their types, what two
atlases are compared by, labels and units on the page, and the documentation.

    POSITIONS = Table(
        "positions",
        "How much attention goes to the previous, current and next token?",
        (*ONE_HEAD, OFFSET, Value("value", "mean attention", "share"), *VALUE_INTERVAL, COUNT),
        label="attention to the {offset} token",
    )
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from headatlas.errors import AtlasError

if TYPE_CHECKING:
    import pandas as pd

Dtype = Literal["int64", "Int64", "float64", "str", "boolean"]
Unit = Literal["share", "accuracy", "nats", "bits", "probability", "layers", "count", "place", "text", "number"]
"""What a value measures. Counts, places (numbers of layers and heads) and texts are never measures of a head."""

NO_EFFECT = "a difference of p-values is not an effect"
_DTYPES: dict[Unit, Dtype] = {"count": "int64", "place": "int64", "text": "str"}
_OPTIONAL = re.compile(r"\[([^]]*)\]")  # part of a label that is dropped where the keys in it have their usual values
_FIELD = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Key:
    """A column that identifies a row.

    Attributes:
        name: The column's name.
        about: What the column holds.
        dtype: The type of its values.
        labels: The values that occur, with what people call them; empty if they depend on the model or the corpus.
            `{cls}` and `{sep}` stand for the model's own tokens.
        short: Shorter labels for a narrow list under a heading, where there are any; everywhere for values without a
            label.
        usual: The value that goes without saying in labels.
        minor: Values whose measures are not on the card of a head.
        not_compared: Values whose rows are not compared between atlases.
        why_not: Why these rows are not compared.
    """

    name: str
    about: str
    dtype: Dtype = "str"
    labels: Mapping[Any, str] = field(default_factory=dict)
    short: Mapping[Any, str] = field(default_factory=dict)
    usual: Any = None
    minor: tuple[Any, ...] = ()
    not_compared: tuple[str, ...] = ()
    why_not: str = ""


@dataclass(frozen=True)
class Value:
    """A column that holds a result.

    Attributes:
        name: The column's name.
        about: What is measured.
        unit: The unit of its values.
        dtype: The type of its values; by default it follows from the unit.
        bound_of: For the ends of an interval, the column that the interval belongs to.
        why_not: Why no difference is taken between two atlases; empty if one is.
        label: What the page calls the measure; by default the label of the table.
        minor: Whether the card of a head omits it.
    """

    name: str
    about: str
    unit: Unit = "number"
    dtype: Dtype | None = None
    bound_of: str = ""
    why_not: str = ""
    label: str = ""
    minor: bool = False

    @property
    def is_measure(self) -> bool:
        """Whether it is a number that can be compared: no count, place, text or end of an interval."""
        return not (self.bound_of or self.why_not or self.unit in _DTYPES or self.dtype in ("str", "boolean"))


@dataclass(frozen=True)
class Table:
    """A table with one row for each combination of its keys.

    Attributes:
        name: The file name without suffix.
        question: What the table answers, as a question.
        columns: Its columns, in the order of the file.
        section: Where the paper asks this.
        label: What the page calls a measure. Keys in braces are replaced by their labels, `{value}` by the column's
            name; a part in brackets is dropped where the keys in it have their usual values.
        short: The same for a narrow list under a heading; by default the label.
        main: The measure that comes first, if that is not the first column.
        card: The heading on the card of a head under which the measures are listed; None: they are not.
        panels: Values of the last key whose measures the overview draws layer by layer.
        same: What two models must have the same number of, for a row to mean the same in both.
        why_not: Why the table is not compared between atlases; empty if it is.
        settings: Settings of a survey that the unit depends on; surveys that differ in one are not compared.
        prepare: Makes the rows to compare from the table: selects some, or adds the `derived` values.
        derived: Measures that `prepare` adds.
        figure: Stem of its figure, and the function that draws it as "module:function".
    """

    name: str
    question: str
    columns: tuple[Key | Value, ...]
    section: str = ""
    label: str = ""
    short: str = ""
    main: str = ""
    card: str | None = "More"
    panels: tuple[Any, ...] = ()
    same: Literal["layers", "heads"] | None = None
    why_not: str = ""
    settings: tuple[str, ...] = ()
    prepare: Callable[[pd.DataFrame], pd.DataFrame] | None = None
    derived: tuple[Value, ...] = ()
    figure: tuple[str, str] | None = None

    @cached_property
    def keys(self) -> tuple[Key, ...]:
        """The columns that identify a row."""
        return tuple(column for column in self.columns if isinstance(column, Key))

    @cached_property
    def measures(self) -> tuple[Value, ...]:
        """The values that can be compared between atlases and shown for every head, the main one first."""
        values = [column for column in (*self.columns, *self.derived) if isinstance(column, Value)]
        measures = [value for value in values if value.is_measure] if not self.why_not else []
        return tuple(sorted(measures, key=lambda value: value.name != self.main))

    @property
    def parts_not_compared(self) -> dict[str, list[str]]:
        """The rows and columns of which no difference is taken, by the reason."""
        parts: dict[str, list[str]] = {}
        for column in self.columns:
            names = column.not_compared if isinstance(column, Key) else (column.name,)
            if column.why_not:
                parts.setdefault(column.why_not, []).extend(names)
        return parts

    @property
    def rows(self) -> Literal["heads", "best", "other"]:
        """What a row describes: a head, the best head for its keys, or something else."""
        if {"layer", "head"} <= {key.name for key in self.keys}:
            return "heads"
        return "best" if {"layer", "head"} <= {column.name for column in self.columns} else "other"

    @property
    def own_keys(self) -> tuple[str, ...]:
        """The names of the keys besides layer and head."""
        return tuple(key.name for key in self.keys if key.name not in ("layer", "head"))

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [column.name for column in self.columns]

    @property
    def dtypes(self) -> dict[str, Dtype]:
        """The type of each column."""
        by_unit = {value.name: _DTYPES.get(value.unit, "float64") for value in self.columns if isinstance(value, Value)}
        return {column.name: column.dtype or by_unit[column.name] for column in self.columns}

    def conform(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Put columns into the declared order and give them the declared types.

        Args:
            frame: A frame with exactly the declared columns.

        Returns:
            A new frame.

        Raises:
            AtlasError: A column is missing or was not declared.
        """
        if wrong := sorted(set(self.names) ^ {str(name) for name in frame.columns}):
            raise AtlasError(f"Table {self.name}: missing or undeclared columns: {', '.join(wrong)}.")
        typed = frame[self.names].astype(self.dtypes)
        texts = [name for name, dtype in self.dtypes.items() if dtype == "str"]
        typed[texts] = typed[texts].where(frame[texts].notna())  # before pandas 3, a missing text became the word None
        return typed

    def from_rows(self, rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
        """Make a frame of rows that may lack some of the columns."""
        import pandas as pd  # here, because options are declared without it

        return pd.DataFrame(rows).reindex(columns=self.names)

    def describe(self, value: Value, row: Mapping[str, Any], special: Mapping[str, str]) -> dict[str, Any]:
        """Return what the page says of a measure, as values that JSON can hold.

        Args:
            value: One of the measures.
            row: The values of the keys.
            special: The model's own names of `cls` and `sep`.

        Returns:
            Its label and short label, its unit, its place on the card of a head and in the overview.
        """
        own = [key for key in self.keys if key.name in self.own_keys]
        words = ", ".join(f"{{{key.name}}}" for key in own if row[key.name] is not None)
        plain = (self.name.replace("_", " "), words, "" if value.name == "value" else "{value}")
        label = value.label or self.label or ": ".join(filter(None, plain))
        short = value.label or self.short or label
        main = value is self.measures[0]
        minor = value.minor or any(row[key.name] in key.minor for key in own)
        shown = {**row, "value": value.name}
        return {
            "label": format_label(label, shown, own, special),
            "short": format_label(short, shown, own, special, short=True),
            "unit": value.unit,
            "main": main,
            "card": None if minor else self.card,
            "panel": main and bool(own) and row[own[-1].name] in self.panels,
        }


def format_label(
    template: str, row: Mapping[str, Any], keys: Iterable[Key], special: Mapping[str, str], *, short: bool = False
) -> str:
    """Fill a label, for example "attention to the {offset} token".

    Args:
        template: The label of a table or a value.
        row: The values of the keys, and `value`, the name of the column.
        keys: The keys of the table.
        special: The model's own names of `cls` and `sep`.
        short: Whether to prefer the short labels of the keys.

    Returns:
        The label in words.
    """
    by_name = {key.name: key for key in keys}
    tokens = {"cls": "[CLS]", "sep": "[SEP]", **special}

    def word(match: re.Match[str]) -> str:
        key, value = by_name.get(match[1]), row[match[1]]
        labels = {} if key is None else {**key.short, **key.labels, **(key.short if short else {})}
        if value in labels:
            return _FIELD.sub(lambda token: tokens[token[1]], labels[value])
        return "" if value is None else str(value)

    def optional(match: re.Match[str]) -> str:
        fields = _FIELD.findall(match[1])
        return "" if all(row[name] == by_name[name].usual for name in fields) else match[1]

    return _FIELD.sub(word, _OPTIONAL.sub(optional, template))


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a table as dictionaries, by column."""
    return [{str(name): value for name, value in row.items()} for row in table.to_dict("records")]


def p_value(about: str, name: str = "p_value") -> Value:
    """A column of p-values, of which no difference is taken. about: which test, of which null."""
    return Value(name, about, "probability", why_not=NO_EFFECT)


def control(unit: Unit) -> Value:
    """The column of what the same head of the network with random weights gives."""
    about = "the same of the network with random weights; empty if it was not run"
    return Value(CONTROL, about, unit, why_not="it is not a measure of the model", minor=True)


def expected(unit: Unit) -> Value:
    """The column of what uniform attention gives."""
    about = "the same of uniform attention to all tokens in reach (in a causal model, those up to its own place)"
    return Value(EXPECTED, about, unit, why_not=NOT_OF_A_HEAD, minor=True)


def controlled(table: pd.DataFrame) -> bool:
    """Whether a table shows what the network with random weights gives."""
    return CONTROL in table and bool(table[CONTROL].notna().any())


def head_of(end: str, which: str, dtype: Dtype = "int64") -> tuple[Key, Key]:
    """The two keys of one of several heads in a row, such as layer_a and head_a. which: of them, or of what model."""
    return Key(f"layer_{end}", f"layer of {which}", dtype), Key(f"head_{end}", "that head within the layer", dtype)


def interval(of: str, bound_of: str, low: str = "low", high: str = "high") -> tuple[Value, Value]:
    """The two columns of an interval. of: what it is the interval of, and how it is made."""
    return Value(low, f"lower end of {of}", bound_of=bound_of), Value(high, "its upper end", bound_of=bound_of)


LAYER = Key("layer", "layer, from 1, nearest the input first", "int64")
HEAD = Key("head", "head within the layer, from 1", "int64")
ONE_HEAD = (LAYER, HEAD)
BEST_HEAD = (Value("layer", LAYER.about, "place"), Value("head", HEAD.about, "place"))
COUNT = Value("count", "segments in the mean; 0 where the value does not exist", "count")
RESAMPLED = "its 95 % bootstrap interval, over documents, or over inputs where there are fewer than 20 documents"
VALUE_INTERVAL = interval(RESAMPLED, "value")
ACCURACY = (
    Value("accuracy", "share of right choices, 0 to 1", "accuracy"),
    *interval(f"{RESAMPLED}, for a head chosen beforehand", "accuracy"),
)
HELD_OUT = Value("held_out", "the same, the head chosen on one half of the documents, scored on the other", "accuracy")
P_VALUE = "permutation test, with the choice among heads part of it, of the null that no head is better than"
CONTROL, EXPECTED = "control", "expected"  # columns
NOT_OF_A_HEAD = "it depends on the text, not on a head"
ATTENDS_TO = "What it attends to"  # heading on the card of a head
