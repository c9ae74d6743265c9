"""The paper's findings about relations, antecedents and probes, each as yes or no with the figures that decide."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd

from headatlas.commands.reproduce.checks import Found, Tables
from headatlas.views.published.compare import best_heads
from headatlas.views.published.compare_probes import summarise_probes

NOT_MUCH = 0.15  # of all words, by which the best head may lead an offset
FAR = 0.1
NEAR = 0.05
FAR_BELOW = 0.2
SPECIALISED = ("det", "dobj", "pobj", "poss")
"""The relations of figure 5, but for auxpass, whose printed accuracy is that of the baseline."""


def no_parser(tables: Tables) -> Found:
    """Is the best head for all words not much better than the best offset?"""
    row = tables["dependency_best"].set_index("relation").loc["all"]
    figures = f"{100 * row['accuracy']:.1f} and {100 * row['baseline']:.1f}"
    return bool(row["accuracy"] - row["baseline"] <= NOT_MUCH), figures


def specialists(tables: Tables) -> Found:
    """Do the heads of figure 5 beat every offset by far, chosen on other sentences?"""
    ours = _paired(tables)
    ours = ours[ours["published_relation"].isin(SPECIALISED)]
    lead = ours["held_out"] - ours["baseline_held_out"]
    figures = ", ".join(f"{name} {100 * by:+.0f}" for name, by in zip(ours["relation"], lead, strict=True))
    return (bool((lead > FAR).all()), f"{figures} points") if len(ours) else None


def directions(tables: Tables) -> Found:
    """Do the ends of each relation of table 1 attend as printed?"""
    ours = _paired(tables)
    differing = ours[ours["direction"] != ours["published_direction"]]["relation"].tolist()
    figures = f"{len(ours) - len(differing)} of {len(ours)} relations"
    return (not differing, figures + (f"; not {', '.join(differing)}" if differing else "")) if len(ours) else None


def _paired(tables: Tables) -> pd.DataFrame:
    """Our best heads for the relations of table 1, as `compare_dependencies` puts them beside the published ones."""
    best = tables["dependency_best"]
    return best[(best["published_source"] == "table 1") & (best["published_relation"] != "all")]


def above_head_match(tables: Tables) -> Found:
    """Does the best head beat the nearest mention with the same head word by far?"""
    best, rule = (_antecedents(tables, method)["all"] for method in ("head", "head_match"))
    return best - rule > FAR, f"{100 * best:.1f} and {100 * rule:.1f}"


def near_sieves(tables: Tables) -> Found:
    """Is the best head not far below the rules of four sieves?"""
    best, rule = (_antecedents(tables, method)["all"] for method in ("head", "sieves"))
    return best >= rule - NEAR, f"{100 * best:.1f} and {100 * rule:.1f}"


def nominal(tables: Tables) -> Found:
    """Is the best head's lead over the same head word largest for nominal mentions?"""
    best, rule = (_antecedents(tables, method) for method in ("head", "head_match"))
    lead = {kind: best[kind] - rule[kind] for kind in ("pronoun", "proper", "nominal") if kind in best and kind in rule}
    figures = ", ".join(f"{kind} {100 * by:+.1f}" for kind, by in lead.items())
    return bool(lead) and max(lead, key=lambda kind: lead[kind]) == "nominal", f"{figures} points"


def _antecedents(tables: Tables, method: str) -> dict[str, float]:
    """Accuracy for each type of mention."""
    rules = tables["coreference_baselines"]
    if method == "head":
        heads = best_heads(tables["coreference"], tables["coreference_best"])
        rows = heads[heads["method"] == "head"]
    else:
        rows = rules[rules["baseline"] == method]
    return {str(kind): float(share) for kind, share in zip(rows["mention_type"], rows["accuracy"], strict=True)}


def above_baselines(tables: Tables) -> Found:
    """Does attention with words beat right-branching, distances with words and random weights, intervals apart?"""
    scores = _scores(tables)
    names = [("right_branching", ""), ("distances_words", ""), ("attention_words", "random")]
    if any(name not in scores for name in [_BOTH, *names]):
        return None
    highest = max((scores[name] for name in names), key=lambda row: row["high"])
    figures = f"{100 * scores[_BOTH]['score']:.1f}, and {highest['name']} {100 * highest['score']:.1f}"
    return bool(scores[_BOTH]["low"] > highest["high"]), figures


def above_random(tables: Tables) -> Found:
    """Is attention of random weights far below?"""
    return _apart(tables, _BOTH, ("attention_words", "random"), lambda trained, random: trained - random > FAR_BELOW)


def near_structural(tables: Tables) -> Found:
    """Does the structural probe find not much more than attention with words?"""
    structural = ("structural_distance", "pretrained")
    return _apart(tables, structural, _BOTH, lambda states, attention: states - attention <= NEAR)


_BOTH = ("attention_words", "pretrained")


def _apart(tables: Tables, a: tuple[str, str], b: tuple[str, str], holds: Callable[[float, float], bool]) -> Found:
    scores = _scores(tables)
    if a not in scores or b not in scores:
        return None
    first, second = (float(scores[name]["score"]) for name in (a, b))
    return holds(first, second), f"{100 * first:.1f} and {100 * second:.1f}"


def _scores(tables: Tables) -> dict[tuple[str, str], dict[Any, Any]]:
    return {(row["probe"], row["weights"]): row for row in summarise_probes(tables["probes"]).to_dict("records")}
