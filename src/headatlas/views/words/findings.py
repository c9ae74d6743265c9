"""What the tables of a folder show, in sentences fit for a paper: a number, its baseline, its uncertainty."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from headatlas.results.atlas import Comparison
from headatlas.results.folder import Results
from headatlas.statistics.paired import holm
from headatlas.studies import STUDIES
from headatlas.studies.findings import Finding
from headatlas.views.words.about import common_tokens
from headatlas.views.words.comparison import comparison_findings
from headatlas.wording import counted

Tables = Mapping[str, pd.DataFrame]
Row = Mapping[Any, Any]

SIGNIFICANT = 0.05  # of shuffled labels against a task's own, corrected over tasks
_ORDERS = {"centre_of_gravity": "By centre of gravity", "expected_layer": "By expected layer"}


def all_findings(results: Results) -> list[Finding | str]:
    """What is said of a folder, in the order of its studies; nothing for folders of which only their command speaks."""
    if isinstance(results, Comparison):
        return list(comparison_findings(results))
    manifest = results.manifest
    found = findings(results.tables, manifest.get("findings"))
    return [*found, *common_tokens(manifest)] if found else []


def findings(tables: Tables, of_others: Mapping[str, list[str]] | None = None) -> list[Finding | str]:
    """Return one sentence for each observation that the tables allow.

    Args:
        tables: The tables of a folder.
        of_others: The sentences of studies of other packages, by study. A survey saves them in its manifest, so that
            they can be read where the package is not installed.
    """
    own = [STUDIES[name] for name in STUDIES if STUDIES.is_own(name)]
    sentences: list[Finding | str] = [
        replace(sentence, study=study.name) if isinstance(sentence, Finding) else sentence
        for study in own
        if all(table.name in tables for table in study.tables)
        for sentence in study.findings(tables)
    ]
    sentences += [sentence for of_study in (of_others or {}).values() for sentence in of_study]
    return [*sentences, *(layer_sentences(tables) if "layer_summary" in tables else ())]


def layer_sentences(tables: Tables) -> Iterator[Finding | str]:
    """What the layers know: what is found for each task and mix, the orders of the tasks, how few layers they need.

    Every value stands beside its interval, the majority answer and the same with shuffled labels. Of a task that does
    not beat its majority answer only that is said, and nothing of an expected layer that could be anywhere.
    """
    summary = tables["layer_summary"]
    last = int(tables["layer_mix"]["layer"].max())
    trained = summary[summary["weights"] == "pretrained"]
    for row in (summary if trained.empty else trained).to_dict("records"):
        same = summary[(summary["task"] == row["task"]) & (summary["mix"] == row["mix"])]
        random = same[same["weights"] != row["weights"]].to_dict("records")
        yield from _task(row, random[0] if random else {}, last)
    if "layer_order" in tables:
        order = tables["layer_order"]
        pairs = order[order["mix"] == "layers"]
        for measure, by in _ORDERS.items():
            yield from _order(by, pairs[pairs["measure"] == measure], "below", "layers")
        yield from _withheld(pairs[pairs["measure"] == "centre_of_gravity"])
        yield from _localised(trained[trained["mix"] == "layers"], pairs[pairs["measure"] == "kl"])


def _task(row: Row, random: Row, last: int) -> Iterator[Finding | str]:
    """The score of a task and, if it beats the majority answer, where it is solved. random: with random weights."""
    name = f"Task {row['task']}, mix of {row['mix']}" + (", random weights" if row["weights"] == "random" else "")
    right, often = (f"{100 * row[column]:.1f} %" for column in ("accuracy", "majority"))
    if not row["lead_low"] > 0:
        yield (
            f"{name}: {right} of its answers are right, which is not above the {often} of always giving the commonest "
            f"one (difference {_points(row, 'lead', 'lead')}), so nothing is said of its layers."
        )
        return
    yield Finding(
        f"{name}: micro F1 {100 * row['score']:.1f} %",
        float(row["score"]),
        (float(row["low"]), float(row["high"])),
        {"shuffled labels": float(row["shuffled_score"])},
        random.get("score"),
        evidence=(f"{right} right, always the commonest answer {often}",),
    )
    if row["weights"] == "random":
        return
    centre = float(row["centre_of_gravity"])
    yield Finding(
        f"{name}: centre of gravity at layer {centre:.2f}",
        centre,
        (float(row["centre_low"]), float(row["centre_high"])),
        {"shuffled labels": float(row["shuffled_centre"])},
        random.get("centre_of_gravity"),
        "number",
    )
    yield f"{name}: {_expected(row, last)}."


def _expected(row: Row, last: int) -> str:
    """The expected layer; if layers that harm make a difference, also with their harm counted as 0."""
    if pd.isna(row["expected_layer"]):
        return "no gain over the embeddings"
    if not row["expected_high"] - row["expected_low"] <= last:
        return "the expected layer is not determined: its interval is wider than the stack, or there is none"
    clipped = f"{row['expected_clipped']:.2f}"
    harm = f", {clipped} with harm as 0" if clipped != f"{row['expected_layer']:.2f}" else ""
    return f"expected layer {_between(row, 'expected_layer', 'expected')}{harm}"


def _order(by: str, pairs: pd.DataFrame, relation: str, unit: str) -> Iterator[str]:
    """Which of the pairs that may be compared are settled, beside those of shuffled labels."""
    compared = pairs[pairs["withheld"].fillna("") == ""]
    if compared.empty:
        return
    settled = compared[compared["settled"].astype(bool)]
    listed = ", ".join(
        f"{row['below']} {relation} {row['above']} by {row['difference']:.2f} {unit} ({row['low']:.2f} to "
        f"{row['high']:.2f})"
        for row in settled.sort_values("p_holm", kind="stable").to_dict("records")
    )
    of_null = compared["shuffled_p"].notna()
    null = f" Shuffled labels: {int(compared['shuffled_settled'].sum())} settled." if of_null.any() else ""
    yield (
        f"{by}, {len(settled)} of {counted(len(compared), 'pair')} of tasks {'is' if len(settled) == 1 else 'are'} "
        f"settled (p < 0.05, two-sided, Holm over pairs){f': {listed}' if listed else ''}.{null}"
    )


def _withheld(pairs: pd.DataFrame) -> Iterator[str]:
    """Which pairs are not compared, and why."""
    for reason, rows in pairs[pairs["withheld"].fillna("") != ""].groupby("withheld", sort=False):
        names = ", ".join(f"{row['below']} and {row['above']}" for row in rows.to_dict("records"))
        remedy = " Run them in a new folder with --train-targets." if "trained on" in str(reason) else ""
        yield f"No order is given for {names}: {reason}.{remedy}"


def _localised(tasks: pd.DataFrame, pairs: pd.DataFrame) -> Iterator[str]:
    """How far each mix is from equal weights, beside shuffled labels, and which tasks differ in that."""
    tasks = tasks[tasks["lead_low"] > 0]
    if tasks.empty or tasks["kl_p"].isna().all():
        return
    corrected = holm(tasks["kl_p"].to_numpy(dtype=np.float64))
    said = [
        f"{row['task']} {_between(row, 'kl', 'kl')}, shuffled labels {row['shuffled_kl']:.2f}, "
        + ("localised" if p < SIGNIFICANT and row["kl"] > row["shuffled_kl"] else "not shown to be localised")
        for row, p in zip(tasks.to_dict("records"), corrected, strict=True)
    ]
    yield (
        "Localised or spread out (divergence of the mixing weights from equal ones, nats; localised: above that of "
        f"shuffled labels, p < 0.05, Holm over tasks): {'; '.join(said)}."
    )
    yield from _order("By that divergence", pairs, "more spread out than", "nats")


def _points(row: Row, name: str, ends: str) -> str:
    """A share in percent with its interval."""
    return _interval([100 * float(row[column]) for column in _columns(name, ends)], 1)


def _between(row: Row, name: str, ends: str) -> str:
    return _interval([float(row[column]) for column in _columns(name, ends)], 2)


def _columns(name: str, ends: str) -> tuple[str, str, str]:
    return name, f"{ends}_low".removeprefix("_"), f"{ends}_high".removeprefix("_")


def _interval(numbers: Sequence[float], digits: int) -> str:
    """A value with the ends of its interval, if it has one."""
    value, low, high = (f"{number:.{digits}f}" for number in numbers)
    return value if np.isnan(numbers[1]) else f"{value} (95 % CI {low} to {high})"
