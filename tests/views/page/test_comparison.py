"""What the page says of a comparison: both sides, B's map turned towards A's, small and safe."""

import re

import numpy as np
import pytest

from headatlas.views.page import page_html
from headatlas.views.page.content import comparison_content, turned_map
from tests.views.page.test_page import HOSTILE, content_of
from tests.views.synthetic_comparison import synthetic_comparison


def test_the_page_holds_the_comparison_and_both_sides(tmp_path):
    made = synthetic_comparison(tmp_path, [2, 3], [3, 3, 3])
    content = content_of(page_html(made))
    assert content["tables"].keys() == made.tables.keys()
    assert [side["heads"] for side in content["sides"]] == [[2, 3], [3, 3, 3]]
    assert [side["name"] for side in content["sides"]] == ["base", "tuned"]
    assert all(
        side["tables"].keys() == tables.keys() for side, tables in zip(content["sides"], made.sides, strict=True)
    )
    assert "5 heads in 2 layers; B is tuned, 9 heads in 3 layers" in content["lead"]
    assert content["notes"][:3] == [
        "A and B were not surveyed on the same text, so differences come from both model and corpus.",
        "The surveys differ in a setting: seed is 0 in A, 1 in B.",
        "Heads are matched by how they attend to the same 5 segments (25 tokens).",
    ]


def test_without_matches_the_reason_is_told(tmp_path):
    made = synthetic_comparison(tmp_path, [2], [2], matched=False)
    assert "Heads are not matched by distance: no common tokenizer." in comparison_content(made)["notes"]


@pytest.mark.parametrize("mirror", [1, -1])
def test_the_map_of_b_is_turned_so_that_matched_heads_come_together(tmp_path, mirror):
    made = synthetic_comparison(tmp_path, [3, 4], [3, 4])
    matches = made.tables["head_matches"].set_index(["layer_b", "head_b"])
    places = made.sides[0]["head_map"].set_index(["layer", "head"])[["x", "y"]]
    angle = 1.1
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]) @ np.diag([1, mirror])
    own = made.sides[1]["head_map"]
    for row, (layer, head) in enumerate(zip(own["layer"], own["head"], strict=True)):
        matched = matches.loc[(layer, head)]
        own.loc[row, ["x", "y"]] = places.loc[(matched["layer_a"], matched["head_a"])].to_numpy() @ turn
    turned = turned_map(made)["head_map"]
    for row in turned.itertuples():
        matched = matches.loc[(row.layer, row.head)]
        expected = places.loc[(matched["layer_a"], matched["head_a"])]
        np.testing.assert_allclose([row.x, row.y], expected, atol=1e-9)


def test_turning_keeps_distances_and_empty_places(tmp_path):
    made = synthetic_comparison(tmp_path, [4], [5])
    made.sides[1]["head_map"].loc[2, ["x", "y"]] = np.nan
    before, after = (table["head_map"][["x", "y"]].to_numpy() for table in (made.sides[1], turned_map(made)))
    gaps = [np.linalg.norm(places[:, None] - places[None], axis=-1) for places in (before, after)]
    np.testing.assert_allclose(*gaps)
    assert np.isnan(after[2]).all()


@pytest.mark.parametrize("what", ["matches", "map"])
def test_nothing_is_turned_where_there_is_nothing_to_turn_by(tmp_path, what):
    made = synthetic_comparison(tmp_path, [2], [2], matched=what != "matches")
    if what == "map":
        del made.sides[0]["head_map"]
    assert turned_map(made)["head_map"] is made.sides[1]["head_map"]


def test_hostile_names_cannot_leave_their_element(tmp_path):
    labels = [[(1, 1, HOSTILE, 0.5)], [(1, 2, HOSTILE, 0.4)]]
    html = page_html(synthetic_comparison(tmp_path, [2], [2], names=(HOSTILE, "b"), labels=labels))
    assert len(re.findall(r"</?script", html)) == 4
    assert content_of(html)["sides"][0]["name"] == HOSTILE.rpartition("/")[2]


def test_a_page_of_144_heads_is_small(tmp_path):
    made = synthetic_comparison(tmp_path, [12] * 12, [12] * 12)
    assert len(page_html(made).encode()) < 3_000_000
