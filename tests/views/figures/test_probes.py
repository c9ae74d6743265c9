"""Figures of probes: a bar a probe, a cell a head, a point a layer."""

from __future__ import annotations

import pandas as pd
import pytest

from headatlas.views.figures.probes import probe_layers_figure, probe_scores_figure, probe_weights_figure
from tests.views.published.test_compare_probes import probes_table


def test_a_bar_a_probe_and_a_diamond_where_published():
    [axes] = probe_scores_figure(probes_table()).axes
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels[-1] == "right-branching"
    assert [bar.get_width() for bar in axes.patches][labels.index("attention + words")] == pytest.approx(61)
    diamonds = next(line for line in axes.lines if line.get_marker() == "D").get_xdata()
    assert diamonds[labels.index("attention + words")] == pytest.approx(77)


def test_a_cell_a_head_even_where_layers_differ():
    rows = [
        ("attention", "pretrained", seed, layer, head, direction, 1.0, layer + head + seed)
        for seed in (0, 1)
        for layer, heads in ((1, 3), (2, 2))
        for head in range(1, heads + 1)
        for direction in ("dependent_to_head", "head_to_dependent")
    ]
    columns = ["probe", "weights", "seed", "layer", "head", "direction", "weight", "contribution"]
    figure = probe_weights_figure(pd.DataFrame(rows, columns=columns))
    first = figure.axes[0].images[0].get_array()
    assert first.shape == (2, 3)
    assert first[0, 0] == pytest.approx(2.5)
    assert len(figure.axes) == 3  # two directions and their colours


def test_layers_are_drawn_with_both_probes():
    table = probes_table()
    depth = table[table["probe"] == "structural_distance"].assign(probe="structural_depth", root_accuracy=0.5)
    [axes] = probe_layers_figure(pd.concat([table, depth])).axes
    assert axes.lines[0].get_ydata().tolist() == pytest.approx([90, 70, 80])
    assert len(axes.lines) == 4
