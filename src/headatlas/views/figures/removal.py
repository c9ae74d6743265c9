"""Curves of the score against the share of heads removed, a panel a task, and all tasks beside one another."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from headatlas.views.figures.style import BLACK, BLUE, FAINT, GREEN, ORANGE, PURPLE, SKY, VERMILLION, styled

ORDERS = {
    "importance": ("least important first", BLUE, "o"),
    "remove_one": ("least harmful alone first", GREEN, "^"),
    "random": ("random (range)", FAINT, "s"),
    "most_important_first": ("most important first", VERMILLION, "v"),
}
_TASK_LOOKS = ((BLUE, "o"), (VERMILLION, "s"), (GREEN, "^"), (PURPLE, "D"), (ORANGE, "v"), (SKY, "P"))


@styled
def removal_figure(removal_curve: pd.DataFrame) -> Figure:
    """The first measure of each task; with several tasks, a last panel shows what each keeps of its score."""
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
    """Of each task's score above that without any head, what is kept, least important heads first."""
    for rows, (colour, marker) in zip(tasks, _TASK_LOOKS, strict=False):
        curve = rows[rows["order"] == "importance"].sort_values("share")
        whole, nothing = curve["score"].iloc[0], curve["score"].iloc[-1]
        if whole != nothing:
            kept = (curve["score"] - nothing) / (whole - nothing)
            axes.plot(
                curve["share"], kept, color=colour, marker=marker, markersize=3, lw=1.1, label=rows["task"].iloc[0]
            )
    axes.axhline(0, color=BLACK, linewidth=0.5)
    axes.set_ylabel("kept of the score")
    axes.set_title("all tasks, least important heads first", loc="left")
    axes.legend(loc="best")
