"""Findings about relations, antecedents and probes: as published they hold, and otherwise not."""

from __future__ import annotations

import pandas as pd
import pytest

from headatlas.commands.reproduce import findings as ask
from tests.commands.reproduce.test_tables import as_published
from tests.views.published.surveyed_tables import coreference, coreference_best

TYPES = ("all", "pronoun", "proper", "nominal")


def relations(**changes):
    best = as_published()["dependency_best"]
    best = best.assign(held_out=best["accuracy"], baseline_held_out=best["baseline"])
    for name, (column, value) in changes.items():
        best.loc[best["relation"] == name, column] = value
    return {"dependency_best": best}


def test_relations_as_published_hold():
    assert ask.no_parser(relations()) == (True, "34.5 and 26.3")
    assert ask.specialists(relations())[0]
    assert ask.directions(relations()) == (True, "14 of 14 relations")


def test_relations_that_are_otherwise_do_not():
    assert not ask.no_parser(relations(all=("accuracy", 0.5)))[0]
    assert not ask.specialists(relations(det=("held_out", 0.6)))[0]
    assert ask.directions(relations(nsubj=("direction", "head_to_dependent"))) == (
        False,
        "13 of 14 relations; not nsubj",
    )


def mentions(head, rules):
    """Tables of one head and the rules, with these accuracies for each type."""
    heads = coreference().query("layer == 2 and head == 2 and candidates == 'preceding'").assign(accuracy=head)
    best = coreference_best().query("candidates == 'preceding'").assign(layer=2, head=2)
    rows = [(name, kind, share) for name, shares in rules.items() for kind, share in zip(TYPES, shares, strict=True)]
    baselines = pd.DataFrame(rows, columns=["baseline", "mention_type", "accuracy"])
    return {"coreference": heads, "coreference_best": best, "coreference_baselines": baselines}


PUBLISHED_RULES = {"head_match": (0.52, 0.47, 0.67, 0.40), "sieves": (0.69, 0.70, 0.77, 0.60)}


def test_antecedents_as_published_hold():
    tables = mentions((0.65, 0.64, 0.73, 0.58), PUBLISHED_RULES)
    assert ask.above_head_match(tables) == (True, "65.0 and 52.0")
    assert ask.near_sieves(tables) == (True, "65.0 and 69.0")
    assert ask.nominal(tables) == (True, "pronoun +17.0, proper +6.0, nominal +18.0 points")


def test_antecedents_that_are_otherwise_do_not():
    tables = mentions((0.60, 0.70, 0.70, 0.50), PUBLISHED_RULES)
    assert not ask.above_head_match(tables)[0]
    assert not ask.near_sieves(tables)[0]
    assert not ask.nominal(tables)[0]


def probes(**changes):
    published = {
        ("right_branching", ""): 0.26,
        ("distances_words", ""): 0.58,
        ("attention_words", "random"): 0.30,
        ("attention_words", "pretrained"): 0.77,
        ("structural_distance", "pretrained"): 0.80,
    }
    rows = []
    for (probe, weights), score in published.items():
        own = changes.get(f"{probe}_{weights}".rstrip("_"), score)
        rows.append({"probe": probe, "weights": weights, "uas_no_punct": own, "uuas": own, "low": own - 0.01})
    frame = pd.DataFrame(rows).assign(high=lambda table: table["low"] + 0.02, count=10)
    nothing = ["layer", "held_out_loss", "uas_tree_no_punct", "selectivity", "mdl_bits", "uniform_bits"]
    return {"probes": frame.assign(**dict.fromkeys(nothing, float("nan")))}


def test_probes_as_published_hold():
    assert ask.above_baselines(probes()) == (True, "77.0, and distances + words 58.0")
    assert ask.above_random(probes()) == (True, "77.0 and 30.0")
    assert ask.near_structural(probes()) == (True, "80.0 and 77.0")


@pytest.mark.parametrize(
    ("question", "changes"),
    [
        (ask.above_baselines, {"distances_words": 0.755}),
        (ask.above_random, {"attention_words_random": 0.6}),
        (ask.near_structural, {"structural_distance_pretrained": 0.9}),
    ],
)
def test_probes_that_are_otherwise_do_not(question, changes):
    assert not question(probes(**changes))[0]


def test_without_words_there_is_nothing_to_say():
    table = probes()["probes"]
    lacking = {"probes": table[~table["probe"].str.contains("words")]}
    assert ask.above_baselines(lacking) is ask.above_random(lacking) is ask.near_structural(lacking) is None
