"""Heads by layer and number as heat maps: what the score loses without each, and how important each is.

And the causal test: a relation a line, the head found for it beside other heads of its layer.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.colors import Normalize, TwoSlopeNorm
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from headatlas.views.figures.heat_maps import by_head, heat_grid, heat_map
from headatlas.views.figures.style import BLUE, FAINT, INK, drawable, styled

SIGNIFICANT = 0.01

_LONGEST_RELATION = 24


@styled
def ablation_figure(ablation: pd.DataFrame) -> Figure:
    """The change of each task's first measure without each head; framed where p < 0.01, all heads counted."""
    first = ablation.groupby("task", sort=False)["measure"].first()
    frames = [rows[rows["measure"] == first[str(task)]] for task, rows in ablation.groupby("task", sort=False)]
    figure, all_axes = heat_grid(frames)
    for axes, rows in zip(all_axes, frames, strict=True):
        values, p_values = by_head(rows, "change"), by_head(rows, "p_value")
        most = float(np.nanmax(np.abs(values))) or 1.0
        title = f"{rows['task'].iloc[0]}: change of {_words(rows['measure'].iloc[0])} without the head"
        heat_map(axes, values, "RdBu", TwoSlopeNorm(0, -most, most), f"{title} (framed: p < {SIGNIFICANT:g})")
        for layer, head in zip(*np.nonzero(p_values < SIGNIFICANT), strict=True):
            axes.add_patch(Rectangle((head - 0.46, layer - 0.46), 0.92, 0.92, fill=False, edgecolor=INK, linewidth=1.1))
    return figure


@styled
def importance_figure(importance: pd.DataFrame) -> Figure:
    """Each head's importance, the mean absolute gradient of the loss to its gate."""
    frames = [rows for _, rows in importance.groupby("task", sort=False)]
    figure, all_axes = heat_grid(frames)
    for axes, rows in zip(all_axes, frames, strict=True):
        values = by_head(rows, "value")
        top = float(np.nanmax(values)) or 1.0
        heat_map(axes, values, "Blues", Normalize(0, top), f"{rows['task'].iloc[0]}: importance, mean |∂L/∂gate|")
    return figure


@styled
def causal_figure(causal: pd.DataFrame) -> Figure:
    """By how much more the loss rises in each relation than outside it: without its head, and without others.

    The line is the 95 % interval of the distance between the two.
    """
    rows = causal.sort_values("lead", kind="stable").reset_index(drop=True)
    places = np.arange(len(rows))
    figure = Figure(figsize=(5.6, 1.0 + 0.2 * len(rows)), layout="constrained")
    axes = figure.subplots()
    axes.axvline(0, color=FAINT, linewidth=0.7)
    control = rows["control_effect"].to_numpy()
    axes.hlines(places, control + rows["low"], control + rows["high"], color=BLUE, linewidth=1.0, alpha=0.6)
    axes.scatter(control, places, s=14, marker="D", color=FAINT, label="other heads of its layer")
    needed = (rows["p_holm"] < SIGNIFICANT).to_numpy()
    for chosen, face, label in (
        (needed, BLUE, f"the head found for it, p < {SIGNIFICANT:g}"),
        (~needed, "white", "the head found for it, not significant"),
    ):
        if chosen.any():
            axes.scatter(rows["effect"][chosen], places[chosen], s=22, facecolor=face, edgecolor=BLUE, label=label)
    names = [
        f"{drawable(str(row['relation']), _LONGEST_RELATION)}  {row['layer']}-{row['head']}"
        for row in rows.to_dict("records")
    ]
    axes.set_yticks(places, names)
    axes.set_ylim(-0.7, len(rows) - 0.3)
    axes.set_xlabel("rise of the loss in the relation less that on matched words (nats)")
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=1, borderaxespad=0.3)
    return figure


def _words(measure: str) -> str:
    return measure.replace("_", " ").replace("chrf", "chrF").replace("bleu", "BLEU")
