"""Figures and sentences of a comparison, from made-up tables of any shape."""

from __future__ import annotations

import pytest

from headatlas.views.figures.write import write_figures
from headatlas.views.words.comparison import comparison_findings, names_of
from tests.views.synthetic_comparison import synthetic_comparison


@pytest.mark.parametrize(
    ("a", "b", "matched", "expected"),
    [
        ([2, 3], [2, 3], True, {"heads_moved", "head_matches", "best_heads", "surface"}),
        ([2, 2], [3, 3, 3], True, {"head_matches", "best_heads"}),
        ([1], [1], False, {"best_heads", "surface"}),
    ],
)
def test_figures_are_drawn_where_there_is_something_to_draw(tmp_path, a, b, matched, expected):
    made = synthetic_comparison(tmp_path, a, b, matched, names=("base 模型", "tuned"))
    paths = write_figures(made, formats=["svg"])
    assert {path.stem for path in paths} == expected
    assert all(path.parent == tmp_path / "figures" and path.stat().st_size > 1000 for path in paths)


def test_the_figures_say_what_they_show(tmp_path):
    paths = write_figures(synthetic_comparison(tmp_path, [2, 3], [2, 3]), formats=["svg"])
    texts = {path.stem: path.read_text(encoding="utf-8") for path in paths}
    assert ">A: base<" in texts["best_heads"]
    assert all(f">{name}<" in texts["best_heads"] for name in ("all", "det", "nsubj"))
    assert ">layer of base<" in texts["head_matches"]
    assert ">to [CLS]<" in texts["surface"]


def test_sentences_tell_the_numbers_of_the_tables(tmp_path):
    made = synthetic_comparison(tmp_path, [2, 3], [2, 3])
    said = "\n".join(comparison_findings(made))
    differences = made.tables["differences"]
    mean = differences.query("table == 'positions' and measure == 'offset=-1' and scope == 'model'").iloc[0]
    assert f"{100 * mean['value_a']:.1f} % in base, {100 * mean['value_b']:.1f} % in tuned" in said
    heads = differences.query("table == 'positions' and scope == 'head'")
    clear = int(((heads["low"] > 0) | (heads["high"] < 0)).sum())
    assert f"Table positions: {clear} of 15 differences of single heads" in said
    best = differences.query("table == 'dependency_best' and column == 'accuracy' and measure != 'relation=all'")
    assert f"Of 2 relations the best head of tuned is better at {int((best['low'] > 0).sum())}" in said
    kept = int(made.tables["head_matches"]["place_kept"].sum())
    assert f"{kept} of 5 heads are matched with the head in the same place (by chance: 1)" in said
    assert "[SEP] 1 and 0" in said


def test_of_other_shapes_means_are_told(tmp_path):
    said = "\n".join(comparison_findings(synthetic_comparison(tmp_path, [2, 2], [3, 3, 3])))
    assert "differences of means over heads" in said
    assert "same place" not in said


def test_sides_are_told_apart():
    def manifest(a, b):
        return {"a": {"model": a}, "b": {"model": b}}

    one = {"name": "folder/one", "random_weights": None}
    fresh, shuffled = (one | {"random_weights": {"kind": kind, "seed": 0}} for kind in ("fresh", "shuffled"))
    assert names_of(manifest(fresh, shuffled)) == ("one with random weights", "one with shuffled weights")
    assert names_of(manifest(one, one)) == ("A, one", "B, one")
