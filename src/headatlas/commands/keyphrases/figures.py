"""Figures of keyphrases: heat maps and rankings of heads, F1 by number of heads, and F1 of every method."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import TwoSlopeNorm
from matplotlib.figure import Figure

from headatlas.commands.keyphrases.tables import LISTS
from headatlas.views.figures.heat_maps import around_zero, by_head, heat_grid, heat_map
from headatlas.views.figures.style import BLUE, FAINT, INK, LOOKS, VERMILLION, Picture, single_panel, styled

LISTED = 12  # heads of a list
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
def keyphrase_curve_figure(keyphrase_curve: pd.DataFrame, ax: Axes | None = None) -> Figure:
    """F1 against the number of heads used, the best or random ones; the mix of all and all words as lines."""
    figure, axes = single_panel(4.6, 2.6, ax)
    curve = keyphrase_curve[keyphrase_curve["method"] == "logistic"].sort_values("heads")
    axes.fill_between(curve["heads"], curve["low"], curve["high"], color=BLUE, alpha=0.15, linewidth=0)
    axes.plot(curve["heads"], curve["f1"], color=BLUE, marker="o", markersize=3.5, lw=1.2, label="logistic regression")
    random = keyphrase_curve[keyphrase_curve["method"] == "random_heads"].sort_values("heads")
    axes.plot(random["heads"], random["f1"], color=INK, lw=0.9, linestyle=":", label="heads in random order")
    f1 = keyphrase_curve.set_index("method")["f1"]
    axes.axhline(f1["scalar_mix"], color=VERMILLION, lw=1.0, linestyle=(0, (4, 3)), label="scalar mix of all heads")
    axes.axhline(f1["every_word"], color=INK, lw=0.6, label="every word")
    axes.set_xscale("log")
    axes.set_xticks([number for number in _TICKS if number <= curve["heads"].max()])
    axes.set_xticks([], minor=True)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0f}")
    axes.set_xlabel("heads used")
    axes.set_ylabel("F1 of key words")
    axes.legend(loc="lower right", bbox_to_anchor=(1, 1), borderaxespad=0, ncols=2)
    return figure


@styled
def keyphrase_scores_figure(keyphrase_scores: pd.DataFrame) -> Figure:
    """F1 of every method and control with 95 % intervals, a panel for each setting of report words."""
    settings, methods = (list(keyphrase_scores[name].unique()) for name in ("report_words", "method"))
    figure = Picture(figsize=(3.2 * len(settings), 0.24 * len(methods) + 0.9), layout="constrained")
    panels = figure.subplots(1, len(settings), squeeze=False)[0]
    for axes, setting in zip(panels, settings, strict=True):
        of_setting = keyphrase_scores[keyphrase_scores["report_words"] == setting]
        for place, (k, rows) in enumerate(of_setting.groupby("k")):
            colour, marker = LOOKS[place % len(LOOKS)]
            y = np.array([methods.index(method) for method in rows["method"]]) + 0.22 * (place - 1)
            ends = [rows["f1"] - rows["low"], rows["high"] - rows["f1"]]
            axes.hlines(y, rows["lowest"], rows["highest"], color=colour, lw=3.5, alpha=0.3)
            axes.errorbar(rows["f1"], y, xerr=ends, fmt=marker, color=colour, markersize=3, lw=1, label=f"{k} phrases")
        axes.set_yticks(range(len(methods)), [str(method).replace("_", " ") for method in methods])
        axes.invert_yaxis()
        axes.set_xlim(left=0)
        axes.set_xlabel("F1, mean over documents")
        axes.set_title({"exclude": "report words excluded", "keep": "report words kept"}[setting])
    panels[-1].legend(loc="upper left", bbox_to_anchor=(1, 1))
    return figure


@styled
def keyphrase_ranking_figure(keyphrase_ranking: pd.DataFrame) -> Figure:
    """The first heads of each list with 95 % intervals; grey where length or shuffled labels are not beaten."""
    figure = Picture(figsize=(2.5 * len(LISTS), 2 * (0.17 * LISTED + 0.6)), layout="constrained")
    grid = figure.subplots(len(TITLES), len(LISTS), squeeze=False)
    for axes, (pooling, name) in zip(grid.ravel(), product(TITLES, LISTS), strict=True):
        of_list = (keyphrase_ranking["list"] == name) & (keyphrase_ranking["pooling"] == pooling)
        rows = keyphrase_ranking[of_list].head(LISTED)
        for place, row in enumerate(rows.to_dict("records")):
            ends = [[row["value"] - row["low"]], [row["high"] - row["value"]]]
            colour = BLUE if row["named"] else FAINT
            axes.errorbar(row["value"], place, xerr=ends, fmt="o", color=colour, markersize=3, lw=1)
        for control, style in (("length", "-"), ("shuffled", ":")):
            said = {"length": "length of the phrase", "shuffled": "best head, shuffled labels"}[control]
            axes.axvline(float(rows[control].iloc[0]), color=VERMILLION, lw=0.9, linestyle=style, label=said)
        axes.set_yticks(range(len(rows)), rows["name"].tolist())
        axes.invert_yaxis()
        axes.set_title(name.replace("_", " ") + (" (less is better)" if name == "cross_entropy" else ""))
    grid[0, -1].legend(loc="upper left", bbox_to_anchor=(1, 1))
    return figure
