"""What the page opens with: the findings that matter, on what heads rest, and the first head.

A finding is shown with a picture. If it is about the mean of a layer, the picture shows those of all layers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from headatlas.corpora.files import name_files
from headatlas.results.naming import heads_in_layers
from headatlas.studies.findings import LEADING, Finding, heads_in, leading
from headatlas.studies.labels import labels_of
from headatlas.studies.token_kinds import RESTING_PLACES, RESTS, resting_places
from headatlas.wording import counted

FEWEST = 3  # findings that are shown before the others; more only if they are surprising enough
SURPRISING = 0.1
COUNTED = ("mention", "sentence", "token", "document")  # what a corpus is counted in: the first that it has
DIGITS = 5  # significant ones; the files in tables/ have all
Tables = Mapping[str, pd.DataFrame]


def opening_content(
    tables: Tables, findings: Sequence[Finding | str], heads: Sequence[int], special: Mapping[str, str]
) -> dict[str, Any]:
    """The findings to show first, what is known of resting, and the head to open on, if one stands out.

    Args:
        tables: The tables of an atlas.
        findings: What they show.
        heads: The number of heads of each layer.
        special: The model's own names of `cls` and `sep`.
    """
    head = most_interesting_head(tables, findings)
    first = {} if head is None else {"head": place_of(head, heads)}
    ranked = [one for one in leading(findings, LEADING) if isinstance(one, Finding) and one.surprise > 0]
    shown = [one for place, one in enumerate(ranked) if place < FEWEST or one.surprise >= SURPRISING]
    return {
        "leading": [_finding(finding, tables) for finding in shown],
        "resting": resting_content(tables, special),
        **first,
    }


def brief_lead(manifest: Mapping[str, Any]) -> str:
    """Model and corpora in one line; the details are in the page's last fold."""
    model = manifest["model"]
    parts = [f"{model['class']}, {heads_in_layers(model)}"]
    for about in manifest["corpora"].values():
        noun = next((noun for noun in COUNTED if about.get(f"{noun}s")), None)
        if noun is not None and about.get("files"):
            parts.append(f"{counted(about[f'{noun}s'], noun)} of {name_files(about['files'])}")
    return " · ".join(parts)


def resting_content(tables: Tables, special: Mapping[str, str]) -> dict[str, Any]:
    """From which share of attention on heads are said to rest, on what tokens, and the labels that say the same."""
    kinds = tables.get("token_kinds", pd.DataFrame({"kind": [], "value": []}))
    return {
        "least": RESTS,
        "on": resting_places(kinds, special),
        "labels": [place.label for place in RESTING_PLACES],
    }


def most_interesting_head(tables: Tables, findings: Sequence[Finding | str]) -> tuple[int, int] | None:
    """The head with the largest lead over its baseline: in a finding about it alone, or else by the label it earned.

    A head that is known for nothing but resting comes last, however surprising that is.
    """
    alone = [one for one in findings if isinstance(one, Finding) and len(one.heads) == 1 and one.surprise > 0]
    leads = [finding.heads[0] for finding in sorted(alone, key=lambda finding: -finding.surprise)]
    labels = labels_of(tables.get("behaviours", pd.DataFrame(columns=["layer", "head", "label", "strength"])))
    labels = labels[~labels["label"].isin([place.label for place in RESTING_PLACES])]
    labelled = heads_in(labels.sort_values("strength", ascending=False, kind="stable"))
    return next(iter([*(head for head in leads if head in labelled), *labelled, *leads]), None)


def place_of(head: tuple[int, int], heads: Sequence[int]) -> int:
    """The place of a head (layer and head from 1) among all heads, layer by layer."""
    return sum(heads[: head[0] - 1]) + head[1] - 1


def rounded(value: float) -> float | None:
    """A number with five significant digits; None for NaN and infinity, which JSON does not have."""
    return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None


def _finding(finding: Finding, tables: Tables) -> dict[str, Any]:
    """A finding with its numbers apart, and what a picture of it needs besides."""
    layers = _means_of_layers(finding, tables)
    return finding.record() | {"base": _base(finding)} | ({"layers": layers} if layers else {})


def _base(finding: Finding) -> str:
    """What stands behind the claim: interval and rivals; for counts, or if there are none, the evidence in words."""
    told = finding.evidence if finding.unit == "count" or not finding.rivals else ()
    bare = replace(finding, claim="", heads=(), evidence=told)
    return str(bare).strip(" .()")


def _means_of_layers(finding: Finding, tables: Tables) -> list[float | None]:
    """The means of all layers, if the finding states that of one."""
    table = tables.get(f"{finding.study}_layers")
    if table is None or finding.value is None or finding.unit != "share":
        return []
    key = next(name for name in table.columns if name != "layer")
    stated = table.loc[table["value"] == finding.value, key]
    if stated.empty:
        return []
    return [rounded(value) for value in table.loc[table[key] == stated.iloc[0], "value"]]
