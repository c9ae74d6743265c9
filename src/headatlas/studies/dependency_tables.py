"""The tables of the study of dependencies (section 4.2)."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headatlas.studies.link_lengths import LENGTHS
from headatlas.tables import ACCURACY, BEST_HEAD, HELD_OUT, ONE_HEAD, P_VALUE, Key, Table, Value, interval, p_value


def lead_over(baseline: NDArray[np.float64], accuracy: NDArray[np.float64]) -> NDArray[np.float64]:
    """By how much a head is right more often than a baseline; 0 where it is not.

    A head that is worse than a fixed offset tells nothing that the offset does not, however far it stays behind. So two
    models that attend by position alone, each in its own way, have the same lead: none.
    """
    return np.maximum(accuracy - baseline, 0)


def _add_lead(best: pd.DataFrame) -> pd.DataFrame:
    """Add how far each relation's best head is above the best fixed offset."""
    return best.assign(lead=lead_over(best["baseline"].to_numpy(float), best["accuracy"].to_numpy(float)))


def _of_another(name: str, about: str) -> Value:
    """An accuracy that stands beside that of the best head."""
    return Value(name, about, "accuracy", why_not="they are not measures of the best head")


RELATION = Key(
    "relation",
    "the treebank's own; or all (no root found), all_but_root, all_but_root_punct (nor punctuation); or possessors "
    "with a clitic, scored from the clitic or from the noun",
    short={"all_but_root": "all but root", "all_but_root_punct": "all but root and punct"},
)
DIRECTION = Key(
    "direction",
    "dependent_to_head or head_to_dependent: which of the two attends",
    labels={"dependent_to_head": "dependent → head", "head_to_dependent": "head → dependent"},
    short={"dependent_to_head": "→", "head_to_dependent": "←"},
)
DEPENDENTS = Value("count", "dependents with this relation", "count")
WITH_SPECIAL = Value(
    "with_special",
    "the same accuracy with special tokens admitted as candidates",
    "accuracy",
    why_not="it is beside the accuracy to explain it",
    minor=True,
)
CORRECT = Value("correct", "dependents for which the most attended word is the right one", "count")
DEPENDENCIES = Table(
    "dependencies",
    "How often does a head find the other end of a dependency, for every relation and direction?",
    (RELATION, *ONE_HEAD, DIRECTION, CORRECT, DEPENDENTS, *ACCURACY, WITH_SPECIAL),
    section="4.2",
    label="{relation}, {direction}",
    short="{relation} {direction}",
    card=None,
)
DEPENDENCY_BEST = Table(
    "dependency_best",
    "Which head is best for each relation, held out, beside the best fixed offset?",
    (
        RELATION,
        DEPENDENTS,
        *BEST_HEAD,
        Value(DIRECTION.name, DIRECTION.about, "text"),
        *ACCURACY,
        WITH_SPECIAL,
        HELD_OUT,
        _of_another("baseline", "accuracy of always choosing the word at the best fixed offset"),
        Value("baseline_offset", "that offset from the dependent in words, -1 the word before", "place"),
        *interval("the 95 % bootstrap interval of that offset's accuracy", "baseline", "baseline_low", "baseline_high"),
        _of_another("baseline_held_out", "the same, the offset chosen on one half, scored on the other"),
        Value("tag_rule", "the best rule that knows parts of speech; empty if the treebank has none", "text"),
        _of_another("tag_baseline", "its accuracy, chosen on one half and scored on the other: a bar, not a rival"),
        p_value(f"{P_VALUE} the baseline"),
        p_value("the same, corrected for all rows of this table", "p_corrected"),
        _of_another("control", "that of the best head of the same network with random weights; empty if not run"),
        p_value("corrected p-value of that head", "control_p"),
    ),
    section="4.2, table 1, figure 5",
    prepare=_add_lead,
    derived=(Value("lead", "how far the best head is above the best fixed offset, 0 where it is not", "accuracy"),),
)
DEPENDENCY_LENGTHS = Table(
    "dependency_lengths",
    "How far are words from their heads, by relation?",
    (RELATION, *LENGTHS),
    section="4.3",
    why_not="it describes the corpus",
)
