"""What the tables of a folder show, in sentences fit for a paper: a number, its baseline, its uncertainty."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from headatlas.studies import STUDIES
from headatlas.studies.findings import Finding
from headatlas.wording import percent

SURE = 0.95  # share of replicates from which an order counts as settled
Tables = Mapping[str, pd.DataFrame]


def findings(tables: Tables, of_others: Mapping[str, list[str]] | None = None) -> list[Finding | str]:
    """Return one sentence for each observation that the tables allow.

    Args:
        tables: The tables of a folder.
        of_others: The sentences of studies of other packages, by study. A survey saves them in its manifest, so that
            they can be read where the package is not installed.
    """
    own = [STUDIES[name] for name in STUDIES if STUDIES.is_own(name)]
    sentences: list[Finding | str] = [
        sentence
        for study in own
        if all(table.name in tables for table in study.tables)
        for sentence in study.findings(tables)
    ]
    sentences += [sentence for of_study in (of_others or {}).values() for sentence in of_study]
    return [*sentences, *(_of_layers(tables) if "layer_summary" in tables else ())]


def _of_layers(tables: Tables) -> Iterator[str]:
    yield from _layer_summary(tables)
    if "layer_order" in tables:
        yield from _layer_order(tables)


def _layer_summary(tables: Tables) -> Iterator[str]:
    """Each task's place in the stack."""
    for row in tables["layer_summary"].to_dict("records"):
        task = f"Task {row['task']}, mix of {row['mix']}" + (", random weights" if row["weights"] == "random" else "")
        score, low, high = (100 * float(row[name]) for name in ("score", "low", "high"))
        yield (
            f"{task}: micro F1 {score:.1f} (95 % CI {low:.1f} to {high:.1f}), "
            f"centre of gravity {row['centre_of_gravity']:.2f}{_expected(row)}."
        )


def _expected(row: Mapping[Any, Any]) -> str:
    """The expected layer; if layers that harm make a difference, also with their harm counted as 0."""
    if pd.isna(row["expected_layer"]):
        return ", no gain over the embeddings"
    raw, clipped = (f"{row[name]:.2f}" for name in ("expected_layer", "expected_clipped"))
    return f", expected layer {raw}" + (f" ({clipped} with harm as 0)" if clipped != raw else "")


def _layer_order(tables: Tables) -> Iterator[str]:
    """The order of the tasks in the stack, and how much of it is settled."""
    summary, order = tables["layer_summary"], tables["layer_order"]
    for measure in ("centre_of_gravity", "expected_layer"):
        pairs = order[(order["measure"] == measure) & (order["mix"] == "layers")]
        tasks = summary[(summary["mix"] == "layers") & (summary["weights"] == "pretrained")].dropna(subset=measure)
        if len(tasks) < 2:
            continue
        ranked = " < ".join(tasks.sort_values(measure, kind="stable")["task"])
        settled = int((pairs["share"] >= SURE).sum())
        yield (
            f"By {measure.replace('_', ' ')}: {ranked}; {settled} of {len(pairs)} pairwise orders hold in at least "
            f"{percent(SURE)} of replicates."
        )
