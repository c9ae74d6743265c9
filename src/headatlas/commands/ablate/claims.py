"""What the paper and the lectures claim of removing heads, for the list of claims that `reproduce` prints.

Gradients predict the small changes of any network, and a random one has heads that matter on whatever it reads. So
every rule but the first, for which random networks have no labels, also asks for an ablation with random weights.
"""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from headatlas.commands.ablate.findings import HALF_REMOVED
from headatlas.commands.ablate.labelled import ANY
from headatlas.commands.ablate.task_run import SIGNIFICANT
from headatlas.commands.reproduce.claim import Answer, Claim, Estimate, Tables
from headatlas.tables import records

FEW = 0.2  # of the heads
LITTLE_BLEU = 1.0
CORRELATED = 0.3
FEWEST_TASKS = 3
AS_GOOD = 0.25  # of what all heads together add to the score
SHARES_RIGHT = ("accuracy", "uas")  # the scores by which tasks are harder or easier


def _listed(rows: pd.DataFrame, words: str) -> str:
    return "; ".join(words.format(**row) for row in records(rows))


def known_heads_matter(tables: Tables) -> Answer | None:
    """Do heads with a label matter more than others, by gradients and by removing them?"""
    rows = tables["label_importance"].query(f"label == '{ANY}'").dropna(subset="lead")
    sure, way = rows["p_holm"] < SIGNIFICANT, rows["measure"] == "importance"
    more = (sure & (rows["lead"] > rows["null_high"])).groupby([rows["source"], rows["task"], way]).any().all()
    holds = bool(more and not (sure & (rows["lead"] < rows["null_low"])).any())
    words = "{task}: {measure} {mean_labelled:.2g}, of others {mean_others:.2g} (p = {p_holm:.3f})"
    return Answer(holds, _listed(rows, words)) if len(rows) else None


def few_matter(tables: Tables) -> Answer | None:
    """Do some heads change BLEU, and nearly all others surely not by much?"""
    rows = tables["any_ablation"].query("task == 'translation' and measure == 'bleu'")
    needed = int((rows["p_value"] < SIGNIFICANT).sum())
    harmless = int((rows[["low", "high"]].abs().max(axis=1, skipna=False) < LITTLE_BLEU).sum())
    figures = f"{needed} of {len(rows)} heads (p < {SIGNIFICANT}), {harmless} surely change BLEU by less than 1"
    return Answer(needed > 0 and harmless >= (1 - FEW) * len(rows), figures) if len(rows) else None


def same_heads(tables: Tables) -> Answer | None:
    """Do the changes without each head agree on two sets, by the score that follows the loss?"""
    rows = tables["set_agreement"].dropna(subset=["halves", "spearman"])
    holds = bool(((rows["low"] > CORRELATED) & (rows["p_holm"] < SIGNIFICANT)).all())
    words = "{set_a} and {set_b}: {spearman:.2f} [{low:.2f}, {high:.2f}], permuted heads {null_high:.2f}"
    return Answer(holds, _listed(rows, f"{words} (p = {{p_holm:.3f}})")) if len(rows) else None


def harder_bear_less(tables: Tables) -> Answer | None:
    """Can fewer heads go, the fewer answers are right with all of them?"""
    keys = ["source", "task", "measure", "order"]
    whole = tables["removal_curve"].query("heads_removed == 0 and order == 'importance'")[[*keys, "score"]]
    rows = tables["removable_heads"].dropna(subset="heads_removable").merge(whole, on=keys)
    rows = rows[rows["measure"].isin(SHARES_RIGHT)].sort_values("score", ascending=False)
    if len(rows) < FEWEST_TASKS:
        return None
    falls = rows["heads_removable"].is_monotonic_decreasing and rows["low"].iloc[0] > rows["high"].iloc[-1]
    words = "{task} ({score:.0%} right) {heads_removable:.0f} of {heads} heads [{low:.0f}, {high:.0f}]"
    return Answer(bool(falls), _listed(rows, words).replace("%", " %"))


def as_good_as_removals(tables: Tables) -> Answer | None:
    """With half of the heads gone, are both orders about as good, and better than random ones?"""
    given = list(_halfway(tables["removal_curve"]))
    return Answer(all(holds for holds, _ in given), "; ".join(figures for _, figures in given)) if given else None


def _halfway(curves: pd.DataFrame) -> Iterator[tuple[bool, str]]:
    for (_, task), of_task in curves.groupby(["source", "task"], sort=False):
        curve = of_task[of_task["measure"] == of_task["measure"].iloc[0]]
        whole, *_, none = curve.query("order == 'importance'").sort_values("share")["score"]
        half = curve["share"] == curve.loc[curve["share"] >= HALF_REMOVED, "share"].min()
        at = curve[half].set_index("order")[["score", "low", "high"]]
        if whole > none:  # otherwise heads add nothing that could be kept
            by_gradient, alone, random = (Estimate(*at.loc[order]) for order in ("importance", "remove_one", "random"))
            apart, margin = by_gradient.minus(alone), AS_GOOD * (whole - none)
            holds = apart.low > -margin and apart.high < margin and min(by_gradient.value, alone.value) > random.high
            figures = f"{task}: {by_gradient.value:.2f} and {alone.value:.2f}, random orders up to {random.high:.2f}"
            yield holds, f"{figures}, all heads {whole:.2f}, none {none:.2f}"


CLAIMS = (
    Claim(35, "section 7", "heads with a known behaviour matter most", ("label_importance",),
          "by importance and by the change of a score, heads with a label matter more, and by none less, than labels "
          f"permuted within layers on every task (corrected p < {SIGNIFICANT})", known_heads_matter,
          decided_by="comparison", lacking="--results of headatlas ablate --atlas, with labels"),
    Claim(39, "lecture", "few heads matter for translation (p < 0.01)", ("any_ablation",),
          f"at least one head (corrected p < {SIGNIFICANT}), and {1 - FEW:.0%} of the heads surely change BLEU by less "
          f"than {LITTLE_BLEU:g}", few_matter, "8 of 96 heads",
          lacking="--results of headatlas ablate --task translation, also of another model"),
    Claim(40, "lecture", "heads that matter on one data set matter on another", ("set_agreement",),
          f"rank correlation of the changes surely above {CORRELATED}, heads permuted within layers p < {SIGNIFICANT}",
          same_heads, lacking="--results of headatlas ablate --also"),
    Claim(41, "lecture", "harder tasks bear fewer removals", ("removal_curve", "removable_heads"),
          f"of at least {FEWEST_TASKS} tasks, fewer heads can go the fewer answers are right, surely fewer in the "
          "hardest than in the easiest", harder_bear_less,
          lacking="--results of headatlas ablate, with three tasks or sets that need heads"),
    Claim(42, "lecture", "pruning by importance is as good as by single removals", ("removal_curve",),
          f"with half of the heads gone both orders surely differ by less than {AS_GOOD:.0%} of what heads add, and "
          "beat all random orders", as_good_as_removals, lacking="--results of headatlas ablate, with curves"),
)  # fmt: skip
