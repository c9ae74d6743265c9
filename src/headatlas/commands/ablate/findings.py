"""What `ablate` says of a task: each sentence with its interval and its control, and no head that could be chance."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import pandas as pd

from headatlas.commands.ablate.labelled import ANY
from headatlas.commands.ablate.task_run import SIGNIFICANT
from headatlas.statistics.paired import FEWEST_CHANGED
from headatlas.studies.findings import Finding, heads_in
from headatlas.tables import records
from headatlas.wording import counted, ordinal, percent

HALF_REMOVED = 0.5  # of the heads: the point of the curves that is put into words
_UNITS: dict[str, Literal["share", "nats"]] = {
    "accuracy": "share",
    "f1": "share",
    "uas": "share",
    "log_likelihood": "nats",
    "margin": "nats",
}


def head_findings(rows: pd.DataFrame, summary: Mapping[str, Any]) -> Iterator[Finding]:
    """Which heads are needed, and which do harm; if none, how large a change could have been found. rows: of a task."""
    measure = str(rows["measure"].iloc[0])
    main = rows[rows["measure"] == measure]
    significant = main[main["p_value"] < SIGNIFICANT].sort_values("change")
    if len(significant) and _is_guessing(summary):
        accuracy, commonest = summary["scores"]["accuracy"], summary["commonest_answer"]
        yield Finding(
            "No head is named, since the model is not reliably better than a constant answer: "
            f"accuracy {percent(accuracy)}",
            accuracy,
            baselines={"commonest answer": commonest["accuracy"]},
            evidence=(f"{len(significant)} heads change {spoken(measure)} at p < {SIGNIFICANT:g}",),
        )
        return
    total, units = summary["heads"], counted(summary["units"], summary["unit"])
    test = f"p < {SIGNIFICANT:g} corrected for {total} heads, {units} resampled"
    for chosen, verbs in (
        (significant[significant["change"] < 0], ("is needed", "are needed")),
        (significant[significant["change"] > 0], ("does harm", "do harm")),
    ):
        if len(chosen):
            claim = f"{len(chosen)} of {total} heads {verbs[len(chosen) > 1]}"
            yield Finding(claim, len(chosen), unit="count", heads=heads_in(chosen), evidence=(test,))
    if significant.empty:
        claim = f"No head is needed and none does harm at p < {SIGNIFICANT:g}, corrected for {total} heads"
        yield Finding(claim, evidence=(_power(summary, measure),))
    elif (fall := -float(significant["change"].iloc[0])) > 0:
        most = records(significant)[0]
        yield Finding(
            f"Without head {most['layer']}-{most['head']}, {spoken(measure)} falls most, by {amount(fall, measure)}",
            fall,
            (-most["high"], -most["low"]),
            {"median head": -float(main["change"].median())},
            unit=_unit(measure),
            heads=heads_in(significant.head(1)),
        )


def _is_guessing(summary: Mapping[str, Any]) -> bool:
    """Whether the model is not reliably better than a constant answer: then its heads do nothing for the task."""
    commonest = summary["commonest_answer"]
    return commonest is not None and not commonest["beaten"]


def _power(summary: Mapping[str, Any], measure: str) -> str:
    units = counted(summary["units"], summary["unit"])
    if not summary["tested"]:
        return f"no head changes as many as {FEWEST_CHANGED} of {units}, so none could be tested"
    if summary["findable"] is None:
        return f"with {units} and so few bootstrap replicates no change could be found, however large"
    return f"with {units}, a change of {amount(summary['findable'], measure)} would be found for half of the heads"


def agreement_findings(summary: Mapping[str, Any]) -> Iterator[Finding]:
    """How far importance agrees with what removing a head does, beside its agreement with itself.

    Nothing is said of a model that cannot do the task. The gradient predicts small changes of any network, so both
    agree for random weights too.
    """
    change = summary["importance_and_change"]
    if change is None or _is_guessing(summary):
        return
    halves, harm = summary["importance_of_halves"], summary["importance_and_harm"]
    measured = spoken(summary["harm_measured_by"])
    evidence = (
        [f"with the fall alone, signed: {harm['value']:.2f}, {harm['low']:.2f} to {harm['high']:.2f}"] if harm else []
    )
    evidence += [] if halves is None else [f"importance on two halves of the data: {halves:.2f}"]
    verdict = "There is no evidence that importance agrees with"
    if change["low"] > 0 or change["high"] < 0:
        verdict = "Importance agrees with" if change["low"] > 0 else "Importance disagrees with"
    yield Finding(
        f"{verdict} the size of the change of {measured}: Spearman {change['value']:.2f}",
        change["value"],
        (change["low"], change["high"]),
        unit="number",
        evidence=("permuted heads 0.00", *evidence),
    )


def curve_findings(curve: pd.DataFrame, removable: pd.DataFrame, order: str = "importance") -> Iterator[Finding]:
    """What is left with half of the heads, and how many can go. Both tables: of one task."""
    measure = str(curve["measure"].iloc[0])
    main = curve[curve["measure"] == measure]
    share = float(main.loc[main["share"] >= HALF_REMOVED, "share"].min())
    at = {row["order"]: row for row in records(main[main["share"] == share])}
    row, random = at[order], at["random"]
    whole = float(main.loc[main["share"] == 0, "score"].iloc[0])
    yield Finding(
        f"With {percent(share)} of the heads removed, least important first, {spoken(measure)} is "
        f"{amount(row['score'], measure)}",
        float(row["score"]),
        (float(row["low"]), float(row["high"])),
        {"all heads": whole},
        unit=_unit(measure),
        evidence=(
            f"random orders {amount(random['score'], measure)}, "
            f"{amount(random['low'], measure)} to {amount(random['high'], measure)}",
        ),
    )
    counts = {row["order"]: row for row in records(removable[removable["measure"] == measure])}
    row, random = counts[order], counts["random"]
    if math.isnan(row["heads_removable"]):
        yield Finding(
            f"{spoken(measure).capitalize()} does not reliably fall when all heads are removed, so none can be counted"
        )
        return
    lost = f"{percent(row['tolerance'])} of what heads add to {spoken(measure)} is lost"
    yield Finding(
        f"{row['heads_removable']:.0f} of {row['heads']} heads can be removed, least important first, before {lost}",
        float(row["heads_removable"]),
        (float(row["low"]), float(row["high"])),
        unit="count",
        evidence=(f"random orders {random['heads_removable']:.0f}, {random['low']:.0f} to {random['high']:.0f}",),
    )


def set_findings(agreement: pd.DataFrame) -> Iterator[Finding]:
    """Whether the same heads matter on two sets."""
    for row in records(agreement):
        if math.isnan(row["spearman"]):
            continue
        evidence = [
            f"heads permuted within layers {row['null_mean']:.2f}, 95th percentile {row['null_high']:.2f}, "
            f"corrected p = {row['p_holm']:.3f}",
            f"Pearson {row['pearson']:.2f}",
        ]
        if not math.isnan(row["halves"]):
            evidence.append(f"two halves of {row['set_a']} {row['halves']:.2f}")
        yield Finding(
            f"Changes of {spoken(row['measure'])} on {row['set_a']} and {row['set_b']} correlate over {row['count']} "
            f"heads: Spearman {row['spearman']:.2f}",
            row["spearman"],
            (row["low"], row["high"]),
            unit="number",
            evidence=("heads resampled", *evidence),
        )


def label_findings(table: pd.DataFrame) -> Iterator[Finding]:
    """How many heads have a label, and whether those matter more."""
    labelled = table[table["label"] == ANY]
    first = labelled.iloc[0]
    total = first["labelled"] + first["others"]
    yield Finding(f"{first['labelled']} of {total} heads have a label in the survey, {first['others']} have none")
    for row in records(labelled.dropna(subset="lead")):
        matter = "do not matter measurably more or less"
        if row["p_holm"] < SIGNIFICANT:
            matter = "matter more" if row["lead"] > row["null_high"] else "matter less"
        yield Finding(
            f"By {row['measure'].replace('_', ' ')}, heads with a label {matter} than others: mean "
            f"{row['mean_labelled']:.4f}, others {row['mean_others']:.4f}",
            evidence=(
                f"difference {row['lead']:+.4f}, labels permuted within layers {row['null_low']:+.4f} to "
                f"{row['null_high']:+.4f}",
                f"corrected p = {row['p_holm']:.3f}",
            ),
        )


def _unit(measure: str) -> Literal["share", "nats", "number"]:
    return _UNITS.get(measure, "number")


def amount(value: float, measure: str) -> str:
    """A score or a change with its unit."""
    unit = _unit(measure)
    return percent(value) if unit == "share" else f"{value:.2f} nats" if unit == "nats" else f"{value:.2f}"


def spoken(measure: str) -> str:
    """What people call a measure."""
    return measure.replace("_", " ").replace("chrf", "chrF").replace("bleu", "BLEU").replace("uas", "UAS")


def joint_findings(places: pd.DataFrame) -> Iterator[Finding]:
    """Where the heads found stand in their layers, one sentence per end and way of removing."""
    for row in records(places):
        shuffled = f"shuffled heads {percent(row['low'])} to {percent(row['high'])} in 95 % of cases"
        reached = f"p = {row['p_holm']:.2g}, corrected for both ends"
        if row["smallest"] * 2 >= SIGNIFICANT:
            reached = f"too few relations to tell: p is at least {row['smallest']:.2g}"
        yield Finding(
            f"With the {row['end']} word hidden, under {row['kind']} ablation, the heads found for "
            f"{counted(int(row['relations']), 'relation')} stand on average at {percent(row['mean'])} of the "
            "ranking of their layers",
            row["mean"],
            baselines={"heads drawn at random": row["expected"]},
            evidence=(shuffled, reached),
        )


def needed_findings(causal: pd.DataFrame, needed: Sequence[Sequence[str]]) -> Iterator[Finding]:
    """One sentence per relation and end that need their head, with the lead under each way of removing."""
    if not needed:
        yield Finding(
            "No relation is shown to need its head",
            evidence=("that takes heads found that stand in front together, then the first place and a sure lead",),
        )
    for relation, end in needed:
        first, *others = records(causal[(causal["relation"] == relation) & (causal["end"] == end)])
        yield Finding(
            f"{relation} needs head {first['layer']}-{first['head']} ({first['direction'].replace('_', ' ')}): without "
            f"it, hidden {end} words lose {first['lead']:.2f} nats more, against words like them, than without the "
            f"other {counted(int(first['heads']) - 1, 'head')} of its layer ({first['kind']} ablation)",
            first["lead"],
            (first["low"], first["high"]),
            baselines={"largest effect of another head less their mean": first["best_other"] - first["control_effect"]},
            unit="nats",
            heads=((int(first["layer"]), int(first["head"])),),
            evidence=(
                *(f"{row['kind']} ablation {row['lead']:.2f}" for row in others),
                f"{ordinal(int(first['place']))} of {first['heads']}",
                f"p = {max(row['p_holm'] for row in (first, *others)):.2g}, corrected for all relations and ends",
                f"{counted(int(first['count']), 'pair')} of words, {percent(first['same_input'])} within one input",
            ),
        )


def matched_words_line(causal: pd.DataFrame) -> str:
    """How many matched words come from the input of the word they are compared with, by relation and end."""
    once = causal.drop_duplicates(["relation", "end"])
    whole = float((once["same_input"] * once["count"]).sum() / once["count"].sum())
    spread = once.groupby("relation", sort=False)["same_input"].apply(lambda ends: " and ".join(map(percent, ends)))
    listed = ", ".join(f"{relation} {shares}" for relation, shares in spread.items())
    return f"matched words from the same input: {percent(whole)} ({listed})"


_NAMES = {"bleu": "BLEU", "chrf": "chrF"}


def score_table(rows: pd.DataFrame) -> Iterator[str]:
    """The lines of the table, with a heading and a footnote; rows: of one task and measure."""
    measure = str(rows["measure"].iloc[0])
    whole = float(rows["score"].iloc[0] - rows["change"].iloc[0])
    starred = rows["p_value"] < SIGNIFICANT
    cells = [f"{change:+.2f}{'*' if star else ' '}" for change, star in zip(rows["change"], starred, strict=True)]
    grid = rows.assign(cell=cells).pivot(index="layer", columns="head", values="cell").fillna("")
    width = max(map(len, cells)) + 1
    yield f"change of {_NAMES.get(measure, measure)} without each head, {whole:.2f} with all of them:"
    yield "layer" + "".join(f"{head:>{width - 1}} " for head in grid.columns)
    for layer, line in grid.iterrows():
        yield f"{layer:>5}" + "".join(f"{cell:>{width}}" for cell in line)
    yield (
        f"* p < {SIGNIFICANT:g}, corrected for {counted(len(rows), 'head')}; texts resampled: {rows['count'].iloc[0]:,}"
    )
