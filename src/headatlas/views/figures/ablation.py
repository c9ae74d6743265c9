"""Figures of removed heads: what the score loses without each, how important each is, and curves of removing many.

And the causal test: one line per relation, the head found for it beside other heads of its layer.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import PercentFormatter

from headatlas.views.figures.heat_maps import around_zero, by_head, from_zero, heat_grid, heat_map
from headatlas.views.figures.style import (
    BLACK,
    BLUE,
    FAINT,
    GREEN,
    INK,
    LOOKS,
    VERMILLION,
    drawable,
    single_panel,
    styled,
)

SIGNIFICANT = 0.01

_LONGEST_RELATION = 24
_LONGEST_SET = 40
ORDERS = {
    "importance": ("least important first", BLUE, "o"),
    "remove_one": ("least harmful alone first", GREEN, "^"),
    "random": ("random (range)", FAINT, "s"),
    "most_important_first": ("most important first", VERMILLION, "v"),
}


@styled
def ablation_figure(ablation: pd.DataFrame, _labels: Mapping[str, str] | None = None) -> Figure:
    """The change of each task's first measure without each head; framed if p < 0.01, corrected for all heads."""
    first = ablation.groupby("task", sort=False)["measure"].first()
    frames = [rows[rows["measure"] == first[str(task)]] for task, rows in ablation.groupby("task", sort=False)]
    figure, all_axes = heat_grid(frames)
    for axes, rows in zip(all_axes, frames, strict=True):
        values, p_values = by_head(rows, "change"), by_head(rows, "p_value")
        title = f"{rows['task'].iloc[0]}: change of {_words(rows['measure'].iloc[0])} without the head"
        heat_map(axes, values, "RdBu", around_zero(values), f"{title} (framed: p < {SIGNIFICANT:g})")
        for layer, head in zip(*np.nonzero(p_values < SIGNIFICANT), strict=True):
            axes.add_patch(Rectangle((head - 0.46, layer - 0.46), 0.92, 0.92, fill=False, edgecolor=INK, linewidth=1.1))
    return figure


@styled
def importance_figure(importance: pd.DataFrame, _labels: Mapping[str, str] | None = None) -> Figure:
    """Each head's importance: the mean absolute gradient of the loss with respect to its gate."""
    frames = [rows for _, rows in importance.groupby("task", sort=False)]
    figure, all_axes = heat_grid(frames)
    for axes, rows in zip(all_axes, frames, strict=True):
        values = by_head(rows, "value")
        heat_map(axes, values, "Blues", from_zero(values), f"{rows['task'].iloc[0]}: importance, mean |∂L/∂gate|")
    return figure


@styled
def sets_figure(set_changes: pd.DataFrame, _labels: Mapping[str, str] | None = None) -> Figure:
    """Each head as a point: the change without it on one set of a task and on another, a panel per measure."""
    panels = [rows for _, rows in set_changes.groupby(["set_a", "set_b", "measure"], sort=False)]
    figure = Figure(figsize=(3.4, 3.1 * len(panels)), layout="constrained")
    for axes, rows in zip(figure.subplots(len(panels), 1, squeeze=False)[:, 0], panels, strict=True):
        for line in (axes.axhline, axes.axvline):
            line(0, color=FAINT, linewidth=0.7)
        points = axes.scatter(rows["change_a"], rows["change_b"], c=rows["layer"], s=14, cmap="viridis")
        figure.colorbar(points, ax=axes, label="layer", shrink=0.8, ticks=sorted(rows["layer"].unique()))
        ranks = rows["change_a"].corr(rows["change_b"], method="spearman")
        axes.set_title(
            f"{_words(rows['measure'].iloc[0])}: change without each head (Spearman {ranks:.2f})", loc="left"
        )
        axes.set_xlabel(drawable(str(rows["set_a"].iloc[0]), _LONGEST_SET))
        axes.set_ylabel(drawable(str(rows["set_b"].iloc[0]), _LONGEST_SET))
    return figure


@styled
def causal_figure(causal: pd.DataFrame, _labels: Mapping[str, str] | None = None) -> Figure:
    """How much more the loss rises in each relation than outside it, without its head and without others.

    The line is the 95 % interval of the difference between the two.
    """
    rows = causal.sort_values("lead", kind="stable").reset_index(drop=True)
    places = np.arange(len(rows))
    figure, axes = single_panel(5.6, 1.0 + 0.2 * len(rows))
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


@styled
def removal_figure(removal_curve: pd.DataFrame, _labels: Mapping[str, str] | None = None) -> Figure:
    """The first measure of each task; with several tasks, a last panel compares what each keeps of its score."""
    first = removal_curve.groupby("task", sort=False)["measure"].first()
    tasks = [removal_curve.query("task == @task and measure == @measure") for task, measure in first.items()]
    several = len(tasks) > 1
    panels = len(tasks) + several
    figure = Figure(figsize=(4.6, 2.5 * panels), layout="constrained")
    all_axes: list[Axes] = list(figure.subplots(panels, 1, squeeze=False)[:, 0])
    for axes, rows in zip(all_axes, tasks, strict=False):
        _orders(axes, rows)
    if several:
        _tasks(all_axes[-1], tasks)
    for axes in all_axes:
        axes.set_xlim(0, 1)
        axes.set_xlabel("heads removed")
        axes.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        axes.margins(y=0.06)
    return figure


def _orders(axes: Axes, rows: pd.DataFrame) -> None:
    for order, (label, colour, marker) in ORDERS.items():
        curve = rows[rows["order"] == order].sort_values("share")
        if len(curve):
            axes.fill_between(curve["share"], curve["low"], curve["high"], color=colour, alpha=0.15, linewidth=0)
            axes.plot(curve["share"], curve["score"], color=colour, marker=marker, label=label, markersize=3, lw=1.1)
    axes.set_ylabel(str(rows["measure"].iloc[0]).replace("_", " "))
    axes.set_title(str(rows["task"].iloc[0]), loc="left")
    axes.legend(loc="best")


def _tasks(axes: Axes, tasks: list[pd.DataFrame]) -> None:
    """The share that each task keeps of its score above that without any head, least important heads first."""
    for rows, (colour, marker) in zip(tasks, LOOKS, strict=False):
        curve = rows[rows["order"] == "importance"].sort_values("share")
        whole, nothing = curve["score"].iloc[0], curve["score"].iloc[-1]
        if whole != nothing:
            share = (curve["score"] - nothing) / (whole - nothing)
            axes.plot(
                curve["share"], share, color=colour, marker=marker, markersize=3, lw=1.1, label=rows["task"].iloc[0]
            )
    axes.axhline(0, color=BLACK, linewidth=0.5)
    axes.set_ylabel("share of the score kept")
    axes.set_title("all tasks, least important heads first", loc="left")
    axes.legend(loc="best")


def _words(measure: str) -> str:
    return measure.replace("_", " ").replace("chrf", "chrF").replace("bleu", "BLEU")
