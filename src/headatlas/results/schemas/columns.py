"""What a table promises, and the columns that several tables share."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """One table: what it answers, and its columns as (name, type, meaning)."""

    about: str
    columns: tuple[tuple[str, str, str], ...]


def table(about: str, *columns: tuple[str, str, str]) -> Table:
    """A table by what it answers and its columns."""
    return Table(about, columns)


def interval(of: str, low: str = "low", high: str = "high") -> tuple[tuple[str, str, str], tuple[str, str, str]]:
    """The two columns of an interval. of: what it is the interval of, and how it is made."""
    return (low, "float64", f"lower end of {of}"), (high, "float64", "its upper end")


LAYER = ("layer", "int64", "layer, from 1, nearest the input first")
HEAD = ("head", "int64", "head within the layer, from 1")
ONE_HEAD = (LAYER, HEAD)
COUNT = ("count", "int64", "segments in the mean; 0 where the value does not exist")
RELATION = (
    "relation",
    "str",
    "the treebank's own name; or all: every word, roots never found; all_but_root; all_but_root_punct: nor punctuation",
)
DIRECTION = ("direction", "str", "dependent_to_head or head_to_dependent: which of the two attends")
ACCURACY = ("accuracy", "float64", "share of right choices, 0 to 1")
VALUE_INTERVAL = interval("its 95 % bootstrap interval, over segments")
INTERVAL = interval("the accuracy's 95 % bootstrap interval, for a head chosen beforehand")
HELD_OUT = (
    "held_out",
    "float64",
    "accuracy where the head is chosen on one half of the documents, scored on the other",
)
P_VALUE = "permutation test, with the choice among heads part of it, of the null that no head is better than"
MENTION_TYPE = ("mention_type", "str", "all, or by the part of speech of its head word: pronoun, proper, nominal")
CANDIDATES = ("candidates", "str", "among which the head chooses: words, mentions, or preceding (mentions)")
MENTIONS = ("count", "int64", "mentions of this type that have an antecedent in the window")
CHOSEN_ANTECEDENTS = (
    ("correct", "int64", "mentions whose chosen antecedent is a true one"),
    MENTIONS,
    ACCURACY,
    *INTERVAL,
)
TASK = ("task", "str", "masked-lm, next-token, classification, minimal-pairs, translation, probe or keyphrases")
MEASURE = (
    "measure",
    "str",
    "what is scored, higher is better: log_likelihood and margin (nats), accuracy and f1 (0 to 1), chrf and bleu (0 to "
    "100)",
)
REMOVED_AS = ("kind", "str", "what stands in for a removed head: zero, its mean output, or resample")
EXAMPLES = ("count", "int64", "examples scored")
