"""Section 3: it holds on tables made to the paper's words, not once these are untrue, and not by even attention."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from headatlas.commands.reproduce.claim import at_depth
from headatlas.commands.reproduce.claims import judge
from headatlas.commands.reproduce.claims.surface import SURFACE, layer_means

LAYERS, HEADS = 12, 12
SEP = {layer: 0.55 if 6 <= layer <= 10 else 0.3 for layer in range(1, LAYERS + 1)}


def rows(value_of, keys, column):
    """One row a head and key, with narrow intervals."""
    table = pd.DataFrame(
        [
            {"layer": layer, "head": head, column: key, "value": value_of(layer, head, key)}
            for layer in range(1, LAYERS + 1)
            for head in range(1, HEADS + 1)
            for key in keys
        ]
    )
    return table.assign(low=table["value"] - 0.005, high=table["value"] + 0.005)


def position(layer, head, offset):
    devoted = {-1: [(2, 1), (4, 1), (7, 1), (8, 1)], 1: [(1, 2), (2, 2), (2, 3), (3, 2), (6, 2)], 0: []}
    return 0.6 if (layer, head) in devoted[offset] else 0.05


def kind_share(layer, _head, kind):
    by_depth = {"cls": 0.3 - 0.02 * layer, "sep": SEP[layer], "period_comma": 0.02 * layer, "other": 0.1}
    return by_depth.get(kind, 0.95 if kind == "sep_to_sep" else 0.5)


def similarities(values):
    clusters = ("silhouette", "cloud_silhouette", "p_clusters")
    return pd.DataFrame(
        [
            {"measure": name, "distance": "sqrt_js" if name in clusters else "js", "value": v}
            for name, v in values.items()
        ]
    )


def paper_tables():
    """Tables in which all of section 3 and figure 6 hold."""
    kinds = ("cls", "sep", "period_comma", "other", "sep_to_sep", "other_to_sep")
    entropy = rows(
        lambda layer, head, source: (
            3.89 if source == "cls" and layer == 12 else 4.4 if (layer, head) == (1, 1) else 3.0 if layer < 3 else 2.5
        ),
        ("all", "cls"),
        "source",
    )
    similarity = {"within_layers": 10.0, "between_layers": 12.0, "p_layers": 0.001}
    similarity |= {"silhouette": 0.4, "cloud_silhouette": 0.1, "p_clusters": 0.001}
    return {
        "positions": rows(position, (-1, 0, 1), "offset"),
        "token_kinds": rows(kind_share, kinds, "kind"),
        "gradients": rows(lambda layer, _h, _k: 1 if layer >= 5 else 10, ("sep", "other"), "kind"),
        "entropy": entropy.assign(expected=math.log(128)),
        "max_attention": rows(lambda layer, head, _: 0.08 if (layer, head) == (1, 1) else 0.4, (0,), "nothing"),
        "similarity": similarities(similarity),
    }


def even_tables():
    """Tables of a network that attends evenly everywhere, as fresh weights do."""
    kinds = ("cls", "sep", "period_comma", "other", "sep_to_sep", "other_to_sep")
    entropy = rows(lambda *_: math.log(128), ("all", "cls"), "source")
    similarity = {"within_layers": 2.11, "between_layers": 2.12, "p_layers": 0.2}
    similarity |= {"silhouette": 0.1, "cloud_silhouette": 0.1, "p_clusters": 0.5}
    return {
        "positions": rows(lambda *_: 1 / 128, (-1, 0, 1), "offset"),
        "token_kinds": rows(lambda *_: 2 / 128, kinds, "kind"),
        "gradients": rows(lambda *_: 1, ("sep", "other"), "kind"),
        "entropy": entropy.assign(expected=math.log(128)),
        "max_attention": rows(lambda *_: 1 / 128, (0,), "nothing"),
        "similarity": similarities(similarity),
    }


EVEN_TOO = {"most heads put little attention on the current token", "broad heads put at most 10 % on any one word",
            "in most layers the entropy from [CLS] is that from all tokens"}  # fmt: skip
QUESTION = "are the first and the last layer alike?"
CLAIMS = {claim.item: claim for claim in SURFACE if claim.item != QUESTION and claim.decided_by == "model"}


def verdicts(tables, random=None):
    nulls = {"fresh": even_tables() if random is None else random}
    return {item: judge(claim, tables, nulls, {}).verdict for item, claim in CLAIMS.items()}


def test_what_the_paper_found_holds_on_its_own_figures_and_beyond_even_attention():
    expected = {item: "not decided" if item in EVEN_TOO else "reproduced" for item in CLAIMS}
    assert verdicts(paper_tables()) == expected


def test_the_same_network_as_control_decides_nothing():
    assert set(verdicts(paper_tables(), paper_tables()).values()) == {"not decided"}


def test_even_attention_reproduces_nothing():
    assert "reproduced" not in verdicts(even_tables()).values()


UNTRUE = {
    1: ("positions", "offset == 0", 0.2),
    2: ("positions", "offset == -1 and layer in (7, 8)", 0.1),
    3: ("positions", "offset == 1 and layer == 12", 0.9),
    4: ("positions", "offset == -1 and layer > 6", 0.9),
    5: ("token_kinds", "kind == 'sep' and layer == 8", 0.4),
    9: ("token_kinds", "kind == 'sep_to_sep' and layer == 6", 0.8),
    10: ("token_kinds", "kind == 'cls' and layer == 12", 0.9),
    11: ("token_kinds", "kind == 'sep'", 0.0),
    13: ("gradients", "kind == 'sep' and layer >= 5", 10),
    14: ("entropy", "source == 'all' and layer <= 2", 2.4),
    15: ("entropy", "source == 'cls'", 4.0),
    16: ("entropy", "source == 'cls' and layer == 12", 1.0),
    32: ("similarity", "measure == 'silhouette'", 0.2),
    33: ("similarity", "measure == 'p_layers'", 0.3),
}


@pytest.mark.parametrize("number", UNTRUE)
def test_what_is_untrue_differs(number):
    name, where, value = UNTRUE[number]
    tables = paper_tables()
    table = tables[name]
    chosen = table.query(where).index
    table.loc[chosen, "value"] = value
    if "low" in table:
        table.loc[chosen, ["low", "high"]] = [value - 0.005, value + 0.005]
    found = verdicts(tables)
    assert {found[item] for item, claim in CLAIMS.items() if claim.number == number} == {"differs"}


def test_a_wide_interval_reproduces_nothing():
    tables = paper_tables()
    for table in tables.values():
        if "low" in table:
            table["low"] -= 0.5
            table["high"] += 0.5
    tables["gradients"] = tables["gradients"].assign(low=0.0, high=20.0)
    found = verdicts(tables)
    exact = {item for item in CLAIMS if "these layers" in item or CLAIMS[item].number in (32, 33)}  # have no interval
    assert {item for item, verdict in found.items() if verdict == "reproduced"} == exact


def test_the_last_layer_must_be_the_exception():
    tables = paper_tables()
    entropy = tables["entropy"]
    everywhere = entropy["source"] == "cls"
    entropy.loc[everywhere, ["value", "low", "high"]] = [3.89, 3.885, 3.895]
    assert verdicts(tables)["in the last layer [CLS] attends more broadly"] == "differs"


def test_a_model_without_separators_lacks_them():
    tables = paper_tables()
    tables["token_kinds"][["value", "low", "high"]] = float("nan")
    tables["entropy"].loc[tables["entropy"]["source"] == "cls", ["value", "low", "high"]] = float("nan")
    found = verdicts(tables)
    lacking = {claim.number for item, claim in CLAIMS.items() if found[item] == "not run"}
    assert lacking == {5, 9, 10, 13, 15, 16}


def test_the_corpus_is_checked():
    common = pd.DataFrame({"token": ["the", ",", ".", "of"]})
    tables = {"token_kinds": paper_tables()["token_kinds"].assign(expected=2 / 128), "common_tokens": common}
    checked = {claim.number: claim for claim in SURFACE if claim.decided_by == "corpus"}
    found = {number: judge(claim, tables, {}, {}) for number, claim in checked.items()}
    assert {number: (check.verdict, check.ours) for number, check in found.items()} == {
        6: ("reproduced", "1/64"),
        7: ("reproduced", "the, ,, ."),
    }
    tables["common_tokens"] = common.iloc[::-1]
    assert judge(checked[7], tables, {}, {}).verdict == "differs"


def test_gradients_must_fall_where_attention_rises():
    tables = paper_tables()
    kinds = tables["token_kinds"]
    early = (kinds["kind"] == "sep") & (kinds["layer"].isin([2, 3]))
    kinds.loc[early, ["value", "low", "high"]] = [0.7, 0.695, 0.705]  # rises in layer 2, not in 5 or 6
    assert verdicts(tables)["that is where attention to [SEP] rises"] == "differs"


def test_layer_means_are_means_over_heads():
    table = paper_tables()["token_kinds"]
    means = layer_means(table, kind="sep")
    for layer in (1, 8):
        here = table[(table["kind"] == "sep") & (table["layer"] == layer)]
        assert means.loc[layer].tolist() == pytest.approx([here[name].mean() for name in ("value", "low", "high")])


@pytest.mark.parametrize(("layers", "expected"), [(12, (6, 10)), (6, (3, 5)), (24, (12, 20)), (1, (1, 1))])
def test_layers_of_other_depths_are_at_the_same_share(layers, expected):
    assert (at_depth(6, layers), at_depth(10, layers)) == expected
