"""Labels of heads from made-up tables: what earns one, and what just fails to."""

from __future__ import annotations

import math
from contextlib import suppress

import pandas as pd
import pytest

from headatlas.results.tables import TABLES
from headatlas.studies import STUDIES
from headatlas.studies.entropy import BROAD_ENTROPY
from headatlas.studies.labels import table_of_labels
from headatlas.views.words.patterns import main_labels


def behaviours(tables):
    """The labels that all studies give which have the tables for it."""
    labels = []
    for study in STUDIES.values():
        with suppress(KeyError):
            labels += study.labels(tables)
    return table_of_labels(labels)


def positions(*rows):
    return pd.DataFrame(rows, columns=["layer", "head", "offset", "value"])


def kinds(*rows):
    return pd.DataFrame(rows, columns=["layer", "head", "kind", "value"])


def entropy(*rows):
    return pd.DataFrame(rows, columns=["layer", "head", "source", "value", "expected"])


def best(*rows):
    columns = ["relation", "layer", "head", "direction", "held_out", "baseline", "baseline_offset", "baseline_high"]
    table = pd.DataFrame(rows, columns=columns)
    return table.assign(accuracy=table["held_out"] + 0.01, p_corrected=0.001, tag_rule="", tag_baseline=math.nan)


def labels(tables):
    return [(row.layer, row.head, row.label) for row in behaviours(tables).itertuples()]


def test_more_than_half_on_a_neighbour():
    table = positions((1, 1, -1, 0.51), (1, 2, -1, 0.5), (2, 1, 1, 0.9), (2, 2, 0, 0.99))
    assert labels({"positions": table}) == [(1, 1, "previous token"), (2, 1, "next token")]


def test_more_than_sixty_per_cent_on_a_kind_of_token():
    rows = [(1, 1, "cls", 0.61), (1, 2, "sep", 0.6), (1, 3, "period_comma", 0.7), (1, 4, "other", 0.9)]
    table = kinds(*rows, (1, 5, "sep_to_sep", 0.99), (1, 6, "sep", math.nan))
    assert labels({"token_kinds": table}) == [(1, 1, "[CLS]"), (1, 3, "periods and commas")]


def test_broad_goes_with_the_uniform_entropy():
    assert BROAD_ENTROPY * math.log(128) == pytest.approx(3.8)
    table = entropy((1, 1, "all", 3.81, math.log(128)), (1, 2, "all", 3.79, math.log(128)), (1, 3, "all", 2.4, 3.0))
    table = pd.concat([table, entropy((1, 4, "cls", 4.8, math.log(128)), (1, 5, "all", 0.0, 0.0))])
    assert labels({"entropy": table}) == [(1, 1, "broad"), (1, 3, "broad")]


def test_a_relation_needs_held_out_accuracy_above_the_baseline():
    table = best(
        ("all", 1, 1, "dependent_to_head", 0.9, 0.2, 1, 0.3),
        ("det", 1, 1, "dependent_to_head", 0.31, 0.2, 1, 0.3),
        ("obj", 1, 2, "head_to_dependent", 0.2, 0.2, -2, 0.3),
        ("rare", 1, 3, "head_to_dependent", math.nan, 0.2, -2, 0.3),
    )
    found = behaviours({"dependency_best": table})
    assert found["label"].tolist() == ["det"]
    assert found["strength"].tolist() == [0.32]
    assert "right 32 %; held out, choosing on the other half, 31 %; offset +1 20 %" in found["evidence"].item()


@pytest.mark.parametrize(("held_out", "expected"), [(0.51, ["coreference"]), (0.5, [])])
def test_coreference_needs_to_beat_head_match(held_out, expected):
    chosen = pd.DataFrame(
        [("all", "preceding", 2, 1, held_out), ("all", "words", 2, 2, 0.99), ("pronoun", "preceding", 1, 1, 0.99)],
        columns=["mention_type", "candidates", "layer", "head", "held_out"],
    ).assign(accuracy=0.6, p_corrected=0.001)
    rules = pd.DataFrame(
        [("nearest", "all", 0.3, 0.9), ("head_match", "all", 0.5, 0.55), ("head_match", "pronoun", 0.1, 0.2)],
        columns=["baseline", "mention_type", "accuracy", "high"],
    )
    assert behaviours({"coreference_best": chosen, "coreference_baselines": rules})["label"].tolist() == expected


def test_the_table_is_as_its_schema_says_even_when_empty():
    assert len(TABLES["behaviours"].conform(behaviours({}))) == 0
    found = TABLES["behaviours"].conform(behaviours({"positions": positions((2, 1, -1, 0.9), (1, 2, 1, 0.7))}))
    assert found["layer"].tolist() == [1, 2]


def test_a_head_of_several_labels_is_named_by_what_it_attends_to():
    tables = {
        "positions": positions((1, 1, -1, 0.6), (1, 2, 1, 0.55)),
        "token_kinds": kinds((1, 2, "cls", 0.7)),
        "dependency_best": best(
            ("det", 1, 1, "dependent_to_head", 0.95, 0.2, 1, 0.3),
            ("obj", 1, 3, "dependent_to_head", 0.5, 0.2, 1, 0.3),
            ("case", 1, 3, "dependent_to_head", 0.6, 0.2, 1, 0.3),
        ),
    }
    assert main_labels(behaviours(tables)) == {(1, 1): "previous token", (1, 2): "[CLS]", (1, 3): "case"}
