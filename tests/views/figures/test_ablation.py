"""Figures of removed heads: what they show is what the tables say."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from headatlas.views.figures.ablation import (
    ablation_figure,
    causal_figure,
    importance_figure,
    removal_figure,
    sets_figure,
)


def ablation(heads=4, tasks=("masked-lm",)):
    rows = [
        (
            task,
            measure,
            "zero",
            layer,
            head,
            0.5,
            0.01 * head - 0.02 * layer,
            -1.0,
            1.0,
            0.001 if head == layer else 0.5,
            9,
        )
        for task in tasks
        for measure in ("log_likelihood", "accuracy")
        for layer in (1, 2, 3)
        for head in range(1, heads + 1)
    ]
    names = ["task", "measure", "kind", "layer", "head", "score", "change", "low", "high", "p_value", "count"]
    return pd.DataFrame(rows, columns=names)


def curve(*tasks):
    rows = [
        (task, measure, order, share, 0, 1 - share + 0.1 * number, 0.0, 1.0, 9)
        for number, task in enumerate(tasks)
        for measure in ("accuracy", "margin")
        for order in ("importance", "remove_one", "random", "most_important_first")
        for share in (0.0, 0.5, 1.0)
    ]
    names = ["task", "measure", "order", "share", "heads_removed", "score", "low", "high", "count"]
    return pd.DataFrame(rows, columns=names)


def heat_maps(figure):
    return [axes for axes in figure.axes if axes.images]


def test_the_heat_map_shows_the_first_measure_and_frames_what_is_significant():
    table = ablation()
    (axes,) = heat_maps(ablation_figure(table))
    shown = table[table["measure"] == "log_likelihood"]
    assert np.asarray(axes.images[0].get_array()) == pytest.approx(shown["change"].to_numpy().reshape(3, 4))
    assert {(round(frame.get_x() + 0.46), round(frame.get_y() + 0.46)) for frame in axes.patches} == {
        (0, 0),
        (1, 1),
        (2, 2),
    }
    assert len(axes.texts) == 12
    assert "log likelihood" in axes.get_title(loc="left")


def test_a_map_for_each_task_and_no_numbers_where_they_would_not_fit():
    maps = heat_maps(ablation_figure(ablation(heads=32, tasks=("masked-lm", "minimal-pairs"))))
    assert len(maps) == 2
    assert not any(axes.texts for axes in maps)


def test_heads_that_were_not_removed_stay_empty():
    table = ablation().query("layer == 2 and head == 3")
    (axes,) = heat_maps(ablation_figure(table))
    shown = np.ma.filled(axes.images[0].get_array(), np.nan)
    assert np.isfinite(shown).sum() == 1
    assert shown.shape == (2, 3)


def test_nothing_changes_and_nothing_fails():
    table = ablation().assign(change=0.0)
    assert heat_maps(ablation_figure(table))


def test_what_rounds_to_nothing_has_no_sign_and_no_digits():
    table = ablation().assign(change=[-0.5, -0.0001, 0.0001, 0.0] + [0.25] * 20)
    (axes,) = heat_maps(ablation_figure(table.query("measure == 'log_likelihood'")))
    assert [text.get_text() for text in axes.texts][:5] == ["-.50", "0", "0", "0", ".25"]


def test_importance_is_drawn_as_it_is():
    table = ablation().query("measure == 'accuracy'")[["task", "layer", "head"]].assign(value=np.arange(12.0))
    (axes,) = heat_maps(importance_figure(table))
    assert np.asarray(axes.images[0].get_array()).ravel().tolist() == list(range(12))


def test_two_sets_are_points_in_a_panel_per_measure():
    rows = ablation()[["measure", "layer", "head", "change"]].rename(columns={"change": "change_a"})
    table = rows.assign(set_a="classification", set_b="classification:other", change_b=-rows["change_a"])
    panels = [axes for axes in sets_figure(table).axes if axes.get_xlabel() == "classification"]
    assert [axes.get_title(loc="left") for axes in panels] == [
        f"change of {measure}, Spearman -1.00" for measure in ("log likelihood", "accuracy")
    ]
    points = panels[0].collections[0].get_offsets()
    assert points.tolist() == table[table["measure"] == "log_likelihood"][["change_a", "change_b"]].to_numpy().tolist()


def test_curves_have_a_panel_a_task_and_one_for_all():
    assert len(removal_figure(curve("masked-lm")).axes) == 1
    figure = removal_figure(curve("masked-lm", "minimal-pairs"))
    assert [axes.get_title(loc="left") for axes in figure.axes][:2] == ["masked-lm", "minimal-pairs"]
    last = figure.axes[-1]
    for line in last.lines[:2]:
        assert list(line.get_ydata()) == pytest.approx([1.0, 0.5, 0.0])
    (axes, *_) = figure.axes
    assert len(axes.lines) == 4
    assert axes.get_ylabel() == "accuracy"


def test_the_causal_figure_has_a_line_a_relation_and_a_panel_an_end_and_kind():
    rows = [("dobj", 3, 1, 0.3, 0.2, 0.001, 1), ("a_very_long_name_of_a_relation_indeed", 1, 2, 0.1, 0.0, 0.9, 2)]
    columns = ["relation", "layer", "head", "effect", "lead", "p_holm", "place"]
    half = pd.DataFrame(rows, columns=columns).assign(control_effect=0.1, best_other=0.15)
    half = half.assign(low=half["lead"] - 0.1, high=half["lead"] + 0.1)
    ends = [("attending", "zero"), ("attending", "mean"), ("attended", "zero"), ("attended", "mean")]
    figure = causal_figure(pd.concat([half.assign(end=ends[place][0], kind=ends[place][1]) for place in (0, 2, 1, 3)]))
    assert [axes.get_title(loc="left") for axes in figure.axes] == [
        f"{end} word hidden, {kind} ablation" for end, kind in ends
    ]
    for axes in figure.axes:
        found = [points.get_offsets().data.tolist() for points in axes.collections[3:]]
        assert found == [[[0.3, 1.0]], [[0.1, 0.0]]], "first and significant, not so"
    long, short = (label.get_text() for label in figure.axes[0].get_yticklabels())
    assert short == "dobj  3-1"
    assert long.endswith("…  1-2")
