"""Packed tables say what the frames say, to five digits; missing values stay missing."""

import base64
import itertools
import json
import zlib

import numpy as np
import pandas as pd
import pytest

from headatlas.views.page import content as page_tables
from headatlas.views.page.content import difference_names, nearest_heads, packed_table, rounded
from tests.views.synthetic_atlas import similarity_tables


def unpacked(table):
    columns = json.loads(zlib.decompress(base64.b64decode(table["packed"])))
    return [
        one if isinstance(one, list) else [None if c is None else one["words"][c] for c in one["codes"]]
        for one in columns
    ]


def test_values_come_back_to_five_digits():
    frame = pd.DataFrame({"layer": [1, 2], "kind": ["sep", "<b>"], "value": [1 / 3, np.nan], "ok": [True, False]})
    table = packed_table("unknown", frame, {})
    assert unpacked(table) == [[1, 2], ["sep", "<b>"], [0.33333, None], ["True", "False"]]
    assert [column["number"] for column in table["columns"]] == [True, False, True, False]
    assert (table["rows"], table["shown"], table["about"]) == (2, 2, "")


def test_missing_words_and_whole_numbers_stay_missing():
    frame = pd.DataFrame({"offset": pd.array([1, None], dtype="Int64"), "word": [None, "a"]})
    assert unpacked(packed_table("unknown", frame, {})) == [[1, None], [None, "a"]]


def test_columns_of_known_tables_are_explained():
    frame = pd.DataFrame({"layer": [1], "head": [1], "offset": [-1], "value": [0.5], "count": [3]})
    table = packed_table("positions", frame, {})
    assert table["about"] == "How much attention goes to the previous, current and next token?"
    assert all(column["meaning"] for column in table["columns"])


def test_measures_of_declared_tables_say_what_they_are():
    frame = pd.DataFrame(
        {"layer": [1, 1, 2, 2], "head": 1, "kind": ["sep", "sep_to_sep"] * 2, "value": 0.5, "low": 0.1}
    )
    shown, minor = packed_table("token_kinds", frame, {"sep": "</s>"})["measures"]
    common = {"column": "value", "unit": "share", "main": True}
    assert shown == common | {
        "key": {"kind": "sep"},
        "label": "attention to </s>",
        "short": "</s>",
        "card": "What it attends to",
        "panel": True,
    }
    assert minor == common | {
        "key": {"kind": "sep_to_sep"},
        "label": "attention to </s>, from </s>",
        "short": "</s>, from </s>",
        "card": None,
        "panel": False,
    }


def test_a_table_that_nobody_declared_is_shown_with_plain_names():
    frame = pd.DataFrame({"layer": [1, 2], "head": 1, "some_kind": ["<b>", None], "score": 0.5, "low": 0.1, "count": 3})
    first, second = packed_table("new_table", frame, {})["measures"]
    assert first["label"] == "new table: <b>: score"
    assert (first["unit"], first["card"], first["panel"]) == ("number", "More", False)
    assert (second["key"], second["label"]) == ({"some_kind": None}, "new table: score")
    assert packed_table("new_table", frame.drop(columns="head"), {})["measures"] == []
    flags = packed_table("new_table", frame.assign(some_kind=[True, False]), {})
    assert [measure["key"]["some_kind"] for measure in flags["measures"]] == unpacked(flags)[2] == ["True", "False"]
    rare = pd.DataFrame({"layer": range(9), "head": 1, "word": [f"w{row}" for row in range(9)], "score": 0.5})
    assert packed_table("new_table", rare, {})["measures"] == [], "no word has a value for half of the heads"
    assert packed_table("positions", frame, {})["measures"][0]["label"] == "positions: <b>: score", "no offset"


def test_differences_are_named_by_their_tables():
    rows = [
        ("positions", "value", "offset=-1"),
        ("dependencies", "accuracy", "relation=nmod:poss direction=head_to_dependent"),
        ("dependencies", "accuracy", "relation=a b=c direction=head_to_dependent"),
        ("dependencies", "accuracy", ""),
        ("dependency_best", "lead", "relation=dobj"),
        ("unknown", "value", "x=1"),
    ]
    names = difference_names(pd.DataFrame(rows, columns=["table", "column", "measure"]), {})
    assert names == {
        "positions/value": {"unit": "share", "labels": {"offset=-1": "attention to the previous token"}},
        "dependencies/accuracy": {
            "unit": "accuracy",
            "labels": {rows[1][2]: "nmod:poss, head → dependent", rows[2][2]: "a, head → dependent"},
        },
        "dependency_best/lead": {"unit": "accuracy", "labels": {}},
        "unknown/value": {"unit": "number", "labels": {}},
    }


def test_a_very_long_table_is_cut_and_says_so(monkeypatch):
    monkeypatch.setattr(page_tables, "MOST_ROWS", 3)
    table = packed_table("unknown", pd.DataFrame({"value": [1.0] * 5}), {})
    assert (table["rows"], table["shown"], unpacked(table)) == (5, 3, [[1.0, 1.0, 1.0]])


@pytest.mark.parametrize(("most_rows", "shown"), [(8, 8), (9, 8), (15, 8), (16, 16), (24, 24), (7, 7), (1, 4)])
def test_a_table_of_heads_is_cut_between_relations(monkeypatch, most_rows, shown):
    """Of 3 relations with 8 rows each. Beside a relation, every head has its value, or the page does not have it."""
    monkeypatch.setattr(page_tables, "MOST_ROWS", most_rows)
    monkeypatch.setattr(page_tables, "ROWS_PER_HEAD", 1)
    every = [(layer, head) for layer in (1, 2) for head in (1, 2)]
    rows = [(relation, *head, way) for relation in ("a", "b", "c") for head in every for way in ("to", "from")]
    frame = pd.DataFrame(rows, columns=["relation", "layer", "head", "direction"]).assign(accuracy=0.5)
    table = packed_table("dependencies", frame, {})
    assert (table["rows"], table["shown"]) == (24, shown)
    if shown % 8 == 0:
        assert len(table["measures"]) == 2 * shown // 8


def test_nearest_heads_are_those_of_a_plain_search():
    every = [(layer, head) for layer in (1, 2, 3) for head in (1, 2, 3, 4)]
    frame = similarity_tables(every, np.random.default_rng(3))["head_distances"]
    frame.loc[5, "value"] = np.nan
    found = nearest_heads(frame)
    distance = {}
    for row in frame.itertuples():
        for one, other in itertools.permutations(((row.layer_a, row.head_a), (row.layer_b, row.head_b))):
            distance[one, other] = row.value
    for one in every:
        others = sorted((value, other) for (start, other), value in distance.items() if start == one and value == value)
        expected = [[*other, rounded(value)] for value, other in others[: page_tables.NEAREST]]
        assert found[f"{one[0]}-{one[1]}"] == expected


@pytest.mark.parametrize(
    ("value", "said"), [(0.123456789, 0.12346), (float("nan"), None), (float("inf"), None), (0.0, 0.0)]
)
def test_rounding(value, said):
    assert rounded(value) == said
