"""Figures of keyphrases: heat maps of heads, and F1 against the number of heads and of phrases."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.colors import TwoSlopeNorm
from matplotlib.figure import Figure

from headatlas.views.figures.heat_maps import around_zero, by_head, heat_grid, heat_map
from headatlas.views.figures.style import BLUE, LOOKS, VERMILLION, styled

TITLES = {"mean": "mean received attention", "max": "largest weight received"}
_TICKS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


@styled
def keyphrase_heads_figure(keyphrase_heads: pd.DataFrame) -> Figure:
    """Average precision by mean and by max pooling, and the mean relative attention, all rows counted."""
    rows = keyphrase_heads[keyphrase_heads["rows"] == "all"]
    of_pooling = {pooling: rows[rows["pooling"] == pooling] for pooling in TITLES}
    figure, (*ranked, last) = heat_grid([*of_pooling.values(), of_pooling["mean"]])
    chance = float(rows["key_share"].mean())
    for axes, (pooling, pooled) in zip(ranked, of_pooling.items(), strict=True):
        values = by_head(pooled, "average_precision")
        title = f"average precision of keyphrase tokens by {TITLES[pooling]} (chance: {chance:.2f})"
        top = max(float(np.nanmax(values)), chance + 0.01)
        low = min(float(np.nanmin(values)), chance - 0.01)
        heat_map(axes, values, "RdBu", TwoSlopeNorm(chance, low, top), title)
    relative = by_head(of_pooling["mean"], "relative_attention") * 100
    heat_map(last, relative, "RdBu", around_zero(relative), "mean relative attention, in hundredths")
    return figure


@styled
def keyphrase_curve_figure(keyphrase_curve: pd.DataFrame) -> Figure:
    """F1 against the number of best heads used; the scalar mix of all heads as a dashed line."""
    figure = Figure(figsize=(4.6, 2.6), layout="constrained")
    axes = figure.subplots()
    curve = keyphrase_curve[keyphrase_curve["method"] == "logistic"].sort_values("heads")
    axes.fill_between(curve["heads"], curve["low"], curve["high"], color=BLUE, alpha=0.15, linewidth=0)
    axes.plot(curve["heads"], curve["f1"], color=BLUE, marker="o", markersize=3.5, lw=1.2, label="logistic regression")
    for row in keyphrase_curve[keyphrase_curve["method"] == "scalar_mix"].itertuples():
        axes.axhline(
            float(str(row.f1)), color=VERMILLION, lw=1.0, linestyle=(0, (4, 3)), label="scalar mix of all heads"
        )
    axes.set_xscale("log")
    axes.set_xticks([number for number in _TICKS if number <= curve["heads"].max()])
    axes.set_xticks([], minor=True)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0f}")
    axes.set_xlabel("best heads used")
    axes.set_ylabel("F1 of key words")
    axes.legend(loc="lower right")
    return figure


@styled
def keyphrase_scores_figure(keyphrase_scores: pd.DataFrame) -> Figure:
    """F1 by number of phrases, one line per method, with 95 % intervals."""
    figure = Figure(figsize=(4.6, 2.6), layout="constrained")
    axes = figure.subplots()
    for place, (method, rows) in enumerate(keyphrase_scores.groupby("method", sort=False)):
        colour, marker = LOOKS[place % len(LOOKS)]
        low, high = rows["f1"] - rows["low"], rows["high"] - rows["f1"]
        label = str(method).replace("_", "-")
        axes.errorbar(
            rows["k"] + 0.12 * (place - 2),
            rows["f1"],
            yerr=[low, high],
            color=colour,
            marker=marker,
            markersize=4,
            label=label,
            lw=1.1,
        )
    axes.set_xticks(sorted(keyphrase_scores["k"].unique()))
    axes.set_xlabel("phrases per document")
    axes.set_ylabel("F1")
    axes.set_ylim(bottom=0)
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1))
    return figure
