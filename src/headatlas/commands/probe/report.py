"""What `probe` prints when it ends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from headatlas.commands.shared.ending import finish, with_omissions
from headatlas.commands.shared.printing import FigureOptions
from headatlas.commands.shared.report import Item, as_item, as_warning, terminal_width
from headatlas.results.atlas import Atlas
from headatlas.results.rendering import render
from headatlas.studies.findings import Finding
from headatlas.views.published.views import view_of
from headatlas.wording import counted, percent


def report_probe(results: Atlas, _options: object, printing: FigureOptions) -> Iterator[Item]:
    """Give the scores; draw figures."""
    return finish(results, with_omissions(_probe_report(results), results.manifest), draw=printing.figures, write=None)


def _probe_report(results: Atlas) -> Iterator[Item]:
    """The scores of all probes, and how far the treebanks limit them."""
    yield render(view_of(results, "probes"), "terminal", terminal_width()).rstrip("\n")
    for name, about in results.manifest["corpora"].items():
        if shared := about.get("also_in_train"):
            yield f"--{name}: {shared:,} of {about['sentences']:,} sentences are also in the training data"
        if unknown := about.get("without_vector", {"words": 0})["words"]:
            yield f"--{name}: {unknown:,} of {about['words']:,} words have no vector"
    yield from map(as_item, probe_sentences(results.tables))
    yield from map(as_warning, _limited(results.tables["probes"], results.manifest["settings"]["epochs"]))


def _limited(probes: pd.DataFrame, epochs: int) -> Iterator[str]:
    """Warn of probes whose training the limit of passes ended."""
    limited = probes[probes["at_limit"].fillna(False).astype(bool)]
    if len(limited):
        names = ", ".join(dict.fromkeys(limited["probe"]))
        yield (
            f"Training ended at the limit of {epochs} passes while the held-out loss still fell: {names}. Their scores "
            f"may rise; add --epochs {4 * epochs}."
        )


Tables = Mapping[str, pd.DataFrame]
_ASKED = "attention_words"
_WAYS = {"dependent_to_head": "dependent to head", "head_to_dependent": "head to dependent"}
_MOST = 8  # relations that are spelled out


def probe_sentences(tables: Tables) -> Iterator[Finding | str]:
    """The heads that may be named for a relation, beside a random network; then the pairs of words asked for."""
    if "probe_relation_heads" in tables:
        yield from _relations(tables["probe_relation_heads"])
    if "probe_pairs" in tables:
        yield from _pairs(tables["probe_pairs"])


def _relations(heads: pd.DataFrame) -> Iterator[Finding | str]:
    asked = heads[heads["probe"] == _ASKED]
    trained = _of_first_seed(asked[asked["weights"] == "pretrained"])
    if trained.empty:
        return
    named = trained[trained["named"].astype(bool)]
    best = int((named["rank"] == 1).sum())
    random = _of_first_seed(asked[asked["weights"] == "random"])
    control = f" Random weights: {int(random['named'].sum())} of {len(random)}." if len(random) else ""
    yield (
        f"For {len(named)} of {counted(len(trained), 'relation')} the attention-and-words probe draws most on a head "
        "that it uses more there than elsewhere (relations permuted over arcs, maximum over heads) and that by itself "
        f"beats the best fixed offset (both p < 0.05, Holm over relations); for {best} of them it is the best single "
        f"head.{control}"
    )
    for row in named.sort_values("contribution", ascending=False, kind="stable").head(_MOST).to_dict("records"):
        yield Finding(
            f"{row['relation']}: head {row['layer']}-{row['head']} ({_WAYS[row['direction']]}) adds "
            f"{row['contribution']:.2f} to the score of a true arc, {row['mean_contribution']:.2f} over all arcs, and "
            f"alone finds {percent(row['accuracy'])} of {row['count']:,}",
            float(row["accuracy"]),
            baselines={"best fixed offset": float(row["offset_accuracy"])},
            heads=((int(row["layer"]), int(row["head"])),),
            evidence=(
                f"lead 95 % CI {100 * row['lead_low']:.0f} to {100 * row['lead_high']:.0f} points",
                _best(row),
            ),
        )


def _best(row: Mapping[Any, Any]) -> str:
    if row["rank"] == 1:
        return "no head finds more"
    best = f"{row['layer_best']}-{row['head_best']}"
    return f"the best single head is {best} with {percent(row['best_accuracy'])}"


def _pairs(pairs: pd.DataFrame) -> Iterator[str]:
    """The head with the largest weight for two words, beside its weights for the true arcs of the treebank."""
    trained = _of_first_seed(pairs[pairs["weights"] == "pretrained"])
    for (dependent, head_word), rows in trained.groupby(["dependent", "head_word"], sort=False):
        row = rows.sort_values("weight").to_dict("records")[-1]
        yield (
            f'For "{dependent}", depending on "{head_word}", attention head {row["layer"]}-{row["head"]} '
            f"({_WAYS[row['direction']]}) has the largest weight in the probe: {row['weight']:.2f}. For true arcs its "
            f"weight is {row['mean_weight']:.2f} on average, and smaller for {percent(row['share_below'])} of them."
        )


def _of_first_seed(rows: pd.DataFrame) -> pd.DataFrame:
    first: pd.DataFrame = rows[rows["seed"] == rows["seed"].min()]
    return first
