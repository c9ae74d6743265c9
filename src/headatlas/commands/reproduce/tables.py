"""Every number of the paper's tables 1 to 3, and of the authors' notebook, beside ours."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from headatlas.commands.reproduce.verdicts import TOLERANCES, Check, Tables, number
from headatlas.views.published.cells import arrow, head
from headatlas.views.published.compare import CANDIDATES, METHODS, best_heads
from headatlas.views.published.compare_probes import NAMES, summarise_probes
from headatlas.views.published.tables import published_coreference, published_dependencies, published_probes

Row = dict[str, Any]

SAME_HEAD = "the same head and direction"
NEURAL = "a neural system that finds mentions itself, which is not part of this"


def dependency_checks(tables: Tables, missing: str) -> Iterator[Check]:
    """Table 1 and the notebook: for each relation the best head, its accuracy, the baseline and its offset.

    `dependency_best` is as `compare_dependencies` gives it, with the published relation that belongs to each of ours.
    """
    ours = {} if missing else {row["published_relation"]: row for row in _rows(tables["dependency_best"])}
    for row in _rows(published_dependencies()):
        found = ours.get(row["relation"])
        lacking = missing or f"--ptb-dev has too few {row['relation']}, or none"
        for column, check in _of_relation(row):
            yield check.without(lacking) if found is None else _beside(check, column, found)


def _of_relation(row: Row) -> Iterator[tuple[str, Check]]:
    """What is printed of one relation, each with the column of ours that belongs beside it."""
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


def _beside(check: Check, column: str, found: Row) -> Check:
    if column == "head":
        own = f"{head(found['layer'], found['head'])} {arrow(found['direction'])}"
        return check.decided(own == check.published, own)
    if column == "baseline_offset":
        return check.measured(found[column], 0)
    low, high = ("low", "high") if column == "accuracy" else ("baseline_low", "baseline_high")
    return check.measured(100 * found[column], TOLERANCES[check.place], 100 * found[low], 100 * found[high])


def coreference_checks(tables: Tables, missing: str) -> Iterator[Check]:
    """Table 2: for each way of choosing an antecedent the accuracy for each type of mention; and the head."""
    ours: dict[tuple[str, str], Row] = {}
    if not missing:
        heads = best_heads(tables["coreference"], tables["coreference_best"])
        rules = tables["coreference_baselines"].rename(columns={"baseline": "method"})
        ours = {(row["method"], row["mention_type"]): row for row in _rows(pd.concat([heads, rules]))}
    for row in _rows(published_coreference()):
        item = f"{METHODS[row['method']]}: {row['mention_type']} mentions"
        check = number("table 2", item, "%", 100 * row["accuracy"], TOLERANCES["table 2"])
        found = ours.get((row["method"], row["mention_type"]))
        if found is None:
            lacking = NEURAL if row["method"] == "neural" else f"--conll2012 has no {row['mention_type']} mentions"
            yield check.without(missing if missing and row["method"] != "neural" else lacking)
            continue
        yield check.measured(100 * found["accuracy"], TOLERANCES["table 2"], 100 * found["low"], 100 * found["high"])
    printed = published_coreference().query("method == 'head'").iloc[0]
    check = Check("table 2", "best head", "head", head(printed["layer"], printed["head"]), "the same head")
    if missing:
        yield check.without(missing)
    else:
        best = tables["coreference_best"]
        one = best[(best["mention_type"] == "all") & (best["candidates"] == CANDIDATES)].iloc[0]
        own = head(one["layer"], one["head"])
        yield check.decided(own == check.published, own)


def probe_checks(tables: Tables, missing: str) -> Iterator[Check]:
    """Table 3: the score of every probe, the mean over seeds."""
    ours = (
        {(row["probe"], row["weights"]): row for row in _rows(summarise_probes(tables["probes"]))}
        if not missing
        else {}
    )
    for row in _rows(published_probes().fillna({"weights": ""})):
        key = (row["probe"], row["weights"])
        check = number("table 3", NAMES[key], "%", 100 * row["score"], TOLERANCES["table 3"])
        found = ours.get(key)
        if found is None:
            yield check.without(missing or "--glove")
        else:
            low, high = 100 * found["low"], 100 * found["high"]
            yield check.measured(100 * found["score"], TOLERANCES["table 3"], low, high)


def _rows(table: pd.DataFrame) -> list[Row]:
    return [{str(name): value for name, value in row.items()} for row in table.to_dict("records")]
