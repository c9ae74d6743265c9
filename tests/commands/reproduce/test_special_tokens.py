"""Special tokens as a rest and as candidates, the clitic, reworded mentions and lengths: they hold, and they do not."""

from __future__ import annotations

import pandas as pd
import pytest

from headatlas.commands.reproduce.claims import judge
from headatlas.commands.reproduce.claims.coreference import COREFERENCE
from headatlas.commands.reproduce.claims.dependencies import SPECIAL_TOKENS, SYNTAX
from tests.commands.reproduce.test_relation_findings import PUBLISHED_RULES, mentions
from tests.commands.reproduce.test_tables import as_published

CLAIMS = {claim.item: claim for claim in (*SPECIAL_TOKENS, *SYNTAX, *COREFERENCE)}
DET = "words outside det rest on special tokens in the head for it"
CLITIC = "the clitic 's stands in for the possessor"


def answer(item, tables):
    return CLAIMS[item].ask(tables)


def resting(others, low):
    row = {"layer": 8, "head": 11, "by": "dependent", "word": "det", "value": 0.01}
    row |= {"others": others, "difference_low": low}
    return as_published() | {"resting": pd.DataFrame([row, row | {"head": 3}, row | {"word": "prep"}])}


@pytest.mark.parametrize(("others", "low", "holds"), [(0.6, 0.5, True), (0.4, 0.3, False), (0.6, 0.05, False)])
def test_other_words_rest(others, low, holds):
    found = answer(DET, resting(others, low))
    assert found.holds == holds
    assert found.ours == f"1 % in the relation, {100 * others:.0f} % of other words"


def test_a_head_that_was_not_measured_is_not_judged():
    tables = resting(0.6, 0.5)
    assert answer(DET, tables | {"resting": tables["resting"].iloc[1:]}) is None


def test_special_tokens_as_candidates():
    best = as_published()["dependency_best"]
    lost = best.assign(with_special=best["accuracy"] - 0.02)
    item = "nor the best head of most relations"
    assert answer(item, {"dependency_best": lost}).holds
    assert not answer(item, {"dependency_best": lost.assign(with_special=0.1)}).holds
    heads = [(1, head, way, 0.2 + head / 100 - (way == "a") / 10) for head in range(1, 6) for way in "ab"]
    table = pd.DataFrame(heads, columns=["layer", "head", "direction", "accuracy"]).assign(relation="all")
    losses = table["head"].map({1: 0.0, 2: 0.01, 3: 0.03, 4: 0.2, 5: 0.2}) + (table["direction"] == "a")
    table["with_special"] = table["accuracy"] - losses  # of the better direction, the median head loses 3 points
    found = answer("special tokens as candidates hardly change most heads", {"dependencies": table})
    assert (found.holds, found.ours) == (True, "the median head loses 3.0 points of all words")


def test_a_table_without_the_column_was_not_run():
    claim = CLAIMS["nor the best head of most relations"]
    best = as_published()["dependency_best"].drop(columns="with_special")
    check = judge(claim, {"dependency_best": best}, {}, {})
    assert check.verdict == "not run"


@pytest.mark.parametrize(("noun", "clitic", "holds"), [(0.4, 0.88, True), (0.85, 0.88, False), (0.1, 0.4, False)])
def test_the_clitic_stands_in(noun, clitic, holds):
    best = as_published()["dependency_best"].query("relation == 'poss'").iloc[0]
    rows = [
        {"relation": f"possessors, from the {name}", "accuracy": value, "low": value - 0.05, "high": value + 0.05}
        for name, value in (("clitic", clitic), ("noun", noun))
    ]
    every = pd.DataFrame(rows).assign(layer=best["layer"], head=best["head"], direction=best["direction"])
    assert answer(CLITIC, as_published() | {"dependencies": every}).holds == holds
    assert answer(CLITIC, as_published() | {"dependencies": every.iloc[:1]}) is None


@pytest.mark.parametrize(("head", "holds"), [(0.3, True), (0.21, False)])
def test_reworded_mentions(head, holds):
    tables = mentions((0.65, 0.64, 0.73, 0.58), PUBLISHED_RULES)
    item = "and matches synonyms: it finds antecedents with other head words"
    assert answer(item, tables) is None
    kinds = {"mention_type": "reworded"}
    heads, best = (tables[name].iloc[:1].assign(**kinds) for name in ("coreference", "coreference_best"))
    heads = heads.assign(accuracy=head, low=head - 0.02, high=head + 0.02)
    rules = tables["coreference_baselines"].iloc[[0, 4]].assign(accuracy=[0.0, 0.2], low=0.19, high=0.21, **kinds)
    more = {"coreference": heads, "coreference_best": best, "coreference_baselines": rules}
    joined = {name: pd.concat([table, more[name]]) for name, table in tables.items()}
    found = answer(item, joined)
    assert (found.holds, found.ours) == (holds, f"{100 * head:.1f}, and four sieves 20.0")


def test_links_are_longer_than_dependencies():
    links = pd.DataFrame([{"links": "all", "mean": 20.0, "median": 12, "lower_quartile": 5}])
    arcs = pd.DataFrame([{"relation": "all_but_root_punct", "mean": 3.5, "median": 2}])
    item = "coreference links are longer than dependencies"
    found = answer(item, {"coreference_lengths": links, "dependency_lengths": arcs})
    assert (found.holds, found.ours) == (
        True,
        "links: median 12 words, mean 20.0; dependencies: median 2 words, mean 3.5",
    )
    assert not answer(item, {"coreference_lengths": links, "dependency_lengths": arcs.assign(median=6)}).holds


def test_split_words_are_a_check_of_the_corpus():
    claim = CLAIMS["words that the tokenizer splits into pieces"]
    table = pd.DataFrame([{"words": 200, "split_words": 19}])
    check = judge(claim, {"split_words": table}, {}, {})
    assert (check.verdict, check.decided_by, check.our_value) == ("reproduced", "corpus", 9.5)
