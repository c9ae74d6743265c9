"""Findings as a yes or no: they hold on tables made to the paper's words, and no longer once these are untrue."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from headatlas.commands.reproduce.findings import RULES, at_depth, finding_checks, number_checks
from headatlas.views.published.tables import published_text

LAYERS, HEADS = 12, 12
SEP = {layer: 0.55 if 6 <= layer <= 10 else 0.3 for layer in range(1, LAYERS + 1)}


def rows(value_of, keys, column):
    """One row a head and key."""
    return pd.DataFrame(
        [
            {"layer": layer, "head": head, column: key, "value": value_of(layer, head, key)}
            for layer in range(1, LAYERS + 1)
            for head in range(1, HEADS + 1)
            for key in keys
        ]
    )


def position(layer, head, offset):
    devoted = {-1: [(2, 1), (4, 1), (7, 1), (8, 1)], 1: [(1, 2), (2, 2), (2, 3), (3, 2), (6, 2)], 0: []}
    return 0.6 if (layer, head) in devoted[offset] else 0.05


def kind_share(layer, _head, kind):
    by_depth = {"cls": 0.3 - 0.02 * layer, "sep": SEP[layer], "period_comma": 0.01 * layer, "other": 0.1}
    return by_depth.get(kind, 0.95 if kind == "sep_to_sep" else 0.5)


def paper_tables():
    """Tables in which all of section 3 and figure 6 hold."""
    kinds = ("cls", "sep", "period_comma", "other", "sep_to_sep", "other_to_sep")
    entropy = rows(
        lambda layer, head, source: (
            3.89 if source == "cls" and layer == 12 else 4.4 if (layer, head) == (1, 1) else 2.5
        ),
        ("all", "cls"),
        "source",
    ).rename(columns={"value": "nats"})
    similarity = {"within_layers": 10.0, "between_layers": 12.0, "p_layers": 0.001}
    return {
        "positions": rows(position, (-1, 0, 1), "offset"),
        "token_kinds": rows(kind_share, kinds, "kind"),
        "gradients": rows(lambda layer, _h, _k: 1e-4 if layer >= 5 else 1e-3, ("sep", "other"), "kind"),
        "entropy": entropy.assign(uniform_nats=math.log(128)),
        "max_attention": rows(lambda layer, head, _: 0.08 if (layer, head) == (1, 1) else 0.4, (0,), "nothing"),
        "behaviours": pd.DataFrame([{"layer": 1, "head": 1, "label": "broad"}]),
        "similarity": pd.DataFrame([{"measure": name, "distance": "js", "value": v} for name, v in similarity.items()]),
    }


SURFACE = [key for key, rule in RULES.items() if set(rule.tables) <= set(paper_tables())]


def verdicts(tables, missing=None):
    reasons = dict.fromkeys(("dependency_best", "coreference", "probes"), "--else") | (missing or {})
    found = dict(zip(published_text("findings").index, finding_checks(tables, reasons), strict=True))
    return {key: check.verdict for key, check in found.items()}


def test_there_is_a_rule_for_every_finding():
    assert set(RULES) == set(published_text("findings").index)


def test_what_the_paper_found_holds_on_its_own_figures():
    found = verdicts(paper_tables())
    assert {key: found[key] for key in SURFACE} == dict.fromkeys(SURFACE, "reproduced")
    assert found["no_parser"] == "input missing"


UNTRUE = {
    "current_token": ("positions", "offset == 0", 0.2),
    "previous_layers": ("positions", "offset == -1 and layer == 8", 0.1),
    "next_layers": ("positions", "offset == 1 and layer == 12", 0.9),
    "neighbours_early": ("positions", "offset == -1 and layer > 6", 0.9),
    "sep_half": ("token_kinds", "kind == 'sep' and layer == 8", 0.4),
    "sep_to_sep": ("token_kinds", "kind == 'sep_to_sep' and layer == 6", 0.8),
    "kinds_by_depth": ("token_kinds", "kind == 'cls' and layer == 12", 0.9),
    "special_half": ("token_kinds", "kind == 'sep'", 0.0),
    "sep_gradients": ("gradients", "kind == 'sep' and layer >= 5", 9e-4),
    "broad_first": ("entropy", "source == 'all' and layer == 1", 3.0),
    "broad_weight": ("max_attention", "layer == 1", 0.2),
    "cls_like_all": ("entropy", "source == 'cls'", 4.0),
    "cls_last": ("entropy", "source == 'cls' and layer == 12", 1.0),
    "layers_alike": ("similarity", "measure == 'p_layers'", 0.3),
}


@pytest.mark.parametrize("key", SURFACE)
def test_what_is_untrue_differs(key):
    name, where, value = UNTRUE[key]
    tables = paper_tables()
    table = tables[name]
    table.loc[table.query(where).index, "nats" if name == "entropy" else "value"] = value
    assert verdicts(tables)[key] == "differs"


def test_a_model_without_separators_lacks_them():
    tables = paper_tables()
    tables["token_kinds"]["value"] = float("nan")
    tables["entropy"].loc[tables["entropy"]["source"] == "cls", "nats"] = float("nan")
    found = verdicts(tables)
    assert [found[key] for key in ("sep_half", "kinds_by_depth", "cls_last")] == ["input missing"] * 3
    numbers = {check.unit: check for check in number_checks(tables, {})}
    assert numbers["nats"].verdict == "input missing"


def test_numbers_are_counted_and_averaged():
    previous, following, entropy = number_checks(paper_tables(), {})
    assert (previous.our_value, following.our_value, entropy.our_value) == (4, 5, pytest.approx(3.89))
    assert {check.verdict for check in (previous, following, entropy)} == {"reproduced"}
    assert [check.missing for check in number_checks({}, {"positions": "a", "entropy": "b"})] == ["a", "a", "b"]


@pytest.mark.parametrize(("layers", "expected"), [(12, (6, 10)), (6, (3, 5)), (24, (12, 20)), (1, (1, 1))])
def test_layers_of_other_depths_are_at_the_same_share(layers, expected):
    assert (at_depth(6, layers), at_depth(10, layers)) == expected
