"""What the causal test says: of all heads found together, of relations that need theirs, and of the words compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from headatlas.commands.ablate.task_run import SIGNIFICANT
from headatlas.studies.findings import Finding
from headatlas.tables import records
from headatlas.wording import counted, ordinal, percent


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
