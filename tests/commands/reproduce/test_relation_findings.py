"""Findings about relations, antecedents and probes: as published they hold, and otherwise not."""

from __future__ import annotations

import pandas as pd
import pytest

from headatlas.commands.reproduce.claims import coreference as antecedents
from headatlas.commands.reproduce.claims import dependencies as syntax
from headatlas.commands.reproduce.claims import probes as probing
from tests.commands.reproduce.test_tables import as_published
from tests.views.published.surveyed_tables import coreference, coreference_best

TYPES = ("all", "pronoun", "proper", "nominal")


def relations(**changes):
    best = as_published()["dependency_best"]
    best = best.assign(held_out=best["accuracy"], baseline_held_out=best["baseline"])
    for name, (column, value) in changes.items():
        best.loc[best["relation"] == name, column] = value
    return {"dependency_best": best}


def shown(answer):
    return answer.holds, answer.ours


def test_relations_as_published_hold():
    assert shown(syntax.no_parser(relations())) == (True, "34.5 and 26.3")
    assert shown(syntax.three_quarters(relations())) == (True, "pobj 76, det 94, dobj 87, poss 80")
    assert syntax.specialists(relations()).holds
    assert shown(syntax.directions(relations()))[0]
    assert syntax.gain_little(relations(**dict.fromkeys(("prep", "nn", "aux", "amod"), ("p_value", 0.5)))).holds


def test_relations_that_are_otherwise_do_not():
    assert not syntax.no_parser(relations(all=("high", 0.5))).holds
    assert not syntax.no_parser(relations(all=("low", 0.25))).holds  # a head that may be below the offset
    assert not syntax.three_quarters(relations(pobj=("low", 0.749))).holds
    assert not syntax.specialists(relations(det=("held_out", 0.6))).holds
    answer = syntax.directions(relations(nsubj=("direction", "head_to_dependent")))
    assert not answer.holds
    assert answer.ours.endswith("; not nsubj")
    assert not syntax.gain_little(relations()).holds  # all beat it
    none = dict.fromkeys(as_published()["dependency_best"]["relation"], ("p_value", 0.5))
    assert not syntax.gain_little(relations(**none)).holds


def test_heads_below_the_offset_have_no_direction():
    worse = dict.fromkeys(as_published()["dependency_best"]["relation"], ("low", 0.01))
    assert shown(syntax.directions(relations(**worse))) == (None, "0 of 0 relations, too few to say")


def mentions(head, rules):
    """Tables of one head and the rules, with these accuracies for each type."""
    heads = coreference().query("layer == 2 and head == 2 and candidates == 'words'").assign(accuracy=head)
    heads = heads.assign(low=heads["accuracy"] - 0.01, high=heads["accuracy"] + 0.01)
    best = coreference_best().query("candidates == 'words'").assign(layer=2, head=2)
    rows = [(name, kind, share) for name, shares in rules.items() for kind, share in zip(TYPES, shares, strict=True)]
    baselines = pd.DataFrame(rows, columns=["baseline", "mention_type", "accuracy"])
    baselines = baselines.assign(low=baselines["accuracy"] - 0.01, high=baselines["accuracy"] + 0.01)
    return {"coreference": heads, "coreference_best": best, "coreference_baselines": baselines}


PUBLISHED_RULES = {"head_match": (0.52, 0.47, 0.67, 0.40), "sieves": (0.69, 0.70, 0.77, 0.60)}


def test_antecedents_as_published_hold():
    tables = mentions((0.65, 0.64, 0.73, 0.58), PUBLISHED_RULES)
    assert shown(antecedents.above_head_match(tables)) == (True, "65.0 and 52.0")
    assert shown(antecedents.near_sieves(tables)) == (True, "65.0 and 69.0")
    assert shown(antecedents.nominal(tables)) == (True, "pronoun +17.0, proper +6.0, nominal +18.0 points")


@pytest.mark.parametrize("of_all", [0.55, 0.85])
def test_antecedents_that_are_otherwise_do_not(of_all):
    tables = mentions((of_all, 0.70, 0.70, 0.50), PUBLISHED_RULES)
    assert antecedents.above_head_match(tables).holds == (of_all > 0.7)
    assert not antecedents.near_sieves(tables).holds  # nor far above
    assert not antecedents.nominal(tables).holds


def test_nominal_mentions_need_a_sure_lead():
    assert not antecedents.nominal(mentions((0.6, 0.5, 0.7, 0.505), PUBLISHED_RULES)).holds


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
        edges = 0.82 if probe == "attention_words" else own
        rows.append({"probe": probe, "weights": weights, "uas_no_punct": own, "uuas": edges, "low": own - 0.01})
    frame = pd.DataFrame(rows).assign(high=lambda table: table["low"] + 0.02, count=10)
    nothing = ["layer", "held_out_loss", "uas_tree_no_punct", "selectivity", "mdl_bits", "uniform_bits"]
    return {"probes": frame.assign(**dict.fromkeys(nothing, float("nan")))}


def test_probes_as_published_hold():
    assert shown(probing.above_baselines(probes())) == (True, "77.0, and distances + words 58.0")
    assert shown(probing.above_random(probes())) == (True, "77.0 and 30.0")
    assert shown(probing.near_structural(probes())) == (True, "80.0 and 82.0 (UUAS)")


@pytest.mark.parametrize(
    ("question", "changes"),
    [
        (probing.above_baselines, {"distances_words": 0.755}),
        (probing.above_random, {"attention_words_random": 0.6}),
        (probing.near_structural, {"structural_distance_pretrained": 0.95}),
        (probing.near_structural, {"structural_distance_pretrained": 0.6}),  # a probe that failed
        (probing.near_structural, {"attention_words_random": 0.6}),
    ],
)
def test_probes_that_are_otherwise_do_not(question, changes):
    assert not question(probes(**changes)).holds


def test_without_words_there_is_nothing_to_say():
    table = probes()["probes"]
    lacking = {"probes": table[~table["probe"].str.contains("words")]}
    for question in (probing.above_baselines, probing.above_random, probing.near_structural):
        assert question(lacking) is None


@pytest.mark.parametrize(("rank", "named", "holds"), [(1, True, True), (2, True, False), (1, False, False)])
def test_the_probe_weighs_the_head_for_determiners(rank, named, holds):
    row = {"probe": "attention_words", "weights": "pretrained", "relation": "det", "layer": 8, "head": 11}
    table = pd.DataFrame([row | {"rank": rank, "named": named, "p_holm": 0.01}])
    found = probing.weighs_det({"probe_relation_heads": table})
    assert shown(found) == (holds, f"8-11 (rank {rank} alone, p = 0.010)")
    assert probing.weighs_det({"probe_relation_heads": table.assign(relation="nn")}) is None
    random = pd.concat([table, table.assign(weights="random", rank=7)])
    (theirs,) = probing.of_random_weights({"probe_relation_heads": random}).values()
    assert probing.weighs_det({"probe_relation_heads": theirs}).ours.startswith("8-11 (rank 7")
