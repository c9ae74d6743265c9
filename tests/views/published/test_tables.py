"""The published figures: as printed, complete, and honest about what UD can stand beside."""

from __future__ import annotations

import pandas as pd
import pytest

from headatlas.views.published.tables import published_coreference, published_dependencies, source

PRINTED = """
all 7-6 34.5 26.3 1; prep 7-4 66.7 61.8 -1; pobj 9-6 76.3 34.6 -2; det 8-11 94.3 51.7 1; nn 4-10 70.4 70.2 1
nsubj 8-2 58.5 45.5 1; amod 4-10 75.6 68.3 1; dobj 8-10 86.8 40.0 -2; advmod 7-6 48.8 40.2 1; aux 4-10 81.1 71.5 1
poss 7-6 80.5 47.7 1; auxpass 4-10 82.5 40.5 1; ccomp 8-1 48.8 12.4 -2; mark 8-2 50.7 14.5 2; prt 6-7 99.1 91.4 -1
"""


def test_table_1_is_as_printed():
    table = published_dependencies().query("source == 'table 1'")
    rows = [
        f"{row.relation} {row.layer}-{row.head} {100 * row.accuracy:.1f} {100 * row.baseline:.1f} {row.offset}"
        for row in table.itertuples()
    ]
    assert rows == [row.strip() for row in PRINTED.replace("\n", ";").split(";") if row.strip()]
    turned = table["direction"] == "head_to_dependent"
    assert table["relation"][turned].tolist() == ["pobj"]
    assert (table["direction"][~turned] == "dependent_to_head").all()


def test_the_notebooks_rows_name_their_source_and_leave_out_what_it_does_not_print():
    table = published_dependencies().query("source == 'notebook'").set_index("relation")
    assert table["accuracy"].to_dict() == {
        "auxpass": 0.941,
        "num": 0.674,
        "cc": 0.478,
        "conj": 0.533,
        "number": 0.748,
        "xcomp": 0.573,
        "possessive": 0.988,
        "cop": 0.722,
    }
    assert table["baseline"].tolist() == [0.825, 0.564, 0.412, 0.268, 0.732, 0.471, 0.988, 0.405]
    assert (table.loc["num", "layer"], table.loc["num", "head"]) == (8, 11)
    assert table["layer"].notna().sum() == 1
    assert table["offset"].dropna().to_dict() == {"auxpass": 1}
    assert "94.1" in source("dependencies").notes["auxpass"]


def test_ud_relations_stand_only_beside_what_is_comparable():
    table = published_dependencies().drop_duplicates("relation").set_index("relation")
    assert table.loc[["dobj", "poss", "auxpass", "nn"], "ud"].tolist() == ["obj", "nmod:poss", "aux:pass", "compound"]
    assert table.loc["nn", "comparable"] == "roughly"
    assert table.loc[["prep", "pobj"], "ud"].isna().all()
    assert (table["ud"].isna() == (table["comparable"] == "no")).all()
    assert (table["remark"].isna() == (table["comparable"] == "same")).all()
    assert set(table["comparable"]) == {"same", "roughly", "no"}
    assert table["ud"].dropna().is_unique


def test_table_2_is_as_printed():
    wide = published_coreference().pivot(index="method", columns="mention_type", values="accuracy") * 100
    types = ["all", "pronoun", "proper", "nominal"]
    assert wide.loc[["nearest", "head_match", "sieves", "head"], types].round().values.tolist() == [
        [27, 29, 29, 19],
        [52, 47, 67, 40],
        [69, 70, 77, 60],
        [65, 64, 73, 58],
    ]
    assert wide.loc["neural"].dropna().round().to_dict() == {"all": 83}
    head = published_coreference().query("method == 'head'")
    assert set(zip(head["layer"], head["head"], strict=True)) == {(5, 4)}


@pytest.mark.parametrize("name", ["dependencies", "coreference"])
def test_each_table_says_where_it_comes_from(name):
    origin = source(name)
    assert (origin.paper, origin.model) == ("Clark et al. 2019", "BERT-base uncased")
    assert origin.corpus
    assert origin.notes


def test_every_published_relation_has_its_reading_in_ud():
    assert len(published_dependencies()) == 23
    assert not published_dependencies()["comparable"].isna().any()
    assert isinstance(published_dependencies()["layer"].dtype, pd.Int64Dtype)
