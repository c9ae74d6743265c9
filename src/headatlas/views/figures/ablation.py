"""Figures of removed heads: what the score loses without each, how important each is, and curves of removing many.

And the causal test: one line per relation, the head found for it beside other heads of its layer.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import PercentFormatter

from headatlas.views.figures.heat_maps import around_zero, by_head, from_zero, heat_grid, heat_map
from headatlas.views.figures.style import BLACK, BLUE, FAINT, GREEN, INK, LOOKS, VERMILLION, Picture, drawable, styled

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
def ablation_figure(ablation: pd.DataFrame, ax: Axes | None = None) -> Figure:
    """The change of each task's first measure without each head; framed if p < 0.01, corrected for all heads."""
    first = ablation.groupby("task", sort=False)["measure"].first()
    frames = [rows[rows["measure"] == first[str(task)]] for task, rows in ablation.groupby("task", sort=False)]
    figure, all_axes = heat_grid(frames, ax=ax)
    for axes, rows in zip(all_axes, frames, strict=True):
        values, p_values = by_head(rows, "change"), by_head(rows, "p_value")
        whole = float(rows["score"].iloc[0] - rows["change"].iloc[0])
        measure = f"{_words(rows['measure'].iloc[0])} ({whole:.3g})"
        title = f"{rows['task'].iloc[0]}: change of {measure} without the head"
        heat_map(axes, values, "RdBu", around_zero(values), f"{title} (framed: p < {SIGNIFICANT:g})")
        for layer, head in zip(*np.nonzero(p_values < SIGNIFICANT), strict=True):
            axes.add_patch(Rectangle((head - 0.46, layer - 0.46), 0.92, 0.92, fill=False, edgecolor=INK, linewidth=1.1))
    return figure


@styled
def importance_figure(importance: pd.DataFrame, ax: Axes | None = None) -> Figure:
    """Each head's importance: the mean absolute gradient of the loss with respect to its gate."""
    frames = [rows for _, rows in importance.groupby("task", sort=False)]
    figure, all_axes = heat_grid(frames, ax=ax)
    for axes, rows in zip(all_axes, frames, strict=True):
        values = by_head(rows, "value")
        heat_map(axes, values, "Blues", from_zero(values), f"{rows['task'].iloc[0]}: importance, mean |∂L/∂gate|")
    return figure


@styled
def sets_figure(set_changes: pd.DataFrame) -> Figure:
    """Each head as a point: the change without it on one set of a task and on another, a panel per measure."""
    panels = [rows for _, rows in set_changes.groupby(["set_a", "set_b", "measure"], sort=False)]
    figure = Picture(figsize=(3.4, 3.1 * len(panels)), layout="constrained")
    for axes, rows in zip(figure.subplots(len(panels), 1, squeeze=False)[:, 0], panels, strict=True):
        for line in (axes.axhline, axes.axvline):
            line(0, color=FAINT, linewidth=0.7)
        points = axes.scatter(rows["change_a"], rows["change_b"], c=rows["layer"], s=14, cmap="viridis")
        figure.colorbar(points, ax=axes, label="layer", shrink=0.8, ticks=sorted(rows["layer"].unique()))
        ranks = rows["change_a"].corr(rows["change_b"], method="spearman")
        axes.set_title(f"change of {_words(rows['measure'].iloc[0])}, Spearman {ranks:.2f}", loc="left")
        axes.locator_params(nbins=5)
        axes.set_xlabel(drawable(str(rows["set_a"].iloc[0]), _LONGEST_SET))
        axes.set_ylabel(drawable(str(rows["set_b"].iloc[0]), _LONGEST_SET))
    return figure


@styled
def causal_figure(causal: pd.DataFrame) -> Figure:
    """How much more the loss rises in each relation than outside it, without its head and without others.

    One panel per end that is hidden and way of removing. The line is the 95 % interval of the difference between the
    head found and the mean of the others of its layer.
    """
    ends, kinds = (list(dict.fromkeys(causal[key])) for key in ("end", "kind"))
    panels = [
        (end, kind, causal[(causal["end"] == end) & (causal["kind"] == kind)]) for end, kind in product(ends, kinds)
    ]
    order = causal.groupby("relation")["lead"].mean().sort_values(kind="stable").index
    height = 0.9 + 0.19 * len(order)
    figure = Picture(figsize=(1.6 + 2.9 * len(kinds), 0.5 + height * len(ends)), layout="constrained")
    all_axes = figure.subplots(len(ends), len(kinds), squeeze=False, sharex=True)
    for axes, (end, kind, rows) in zip(all_axes.ravel(), panels, strict=True):
        _relations(axes, rows.set_index("relation").reindex([name for name in order if name in set(rows["relation"])]))
        axes.set_title(f"{end} word hidden, {kind} ablation", loc="left")
        if kind != kinds[0]:
            axes.tick_params(labelleft=False)
    for axes in all_axes[-1]:
        axes.set_xlabel("rise of the loss in the relation\nless that on matched words (nats)")
    handles: dict[str, Artist] = {}
    for axes in all_axes.ravel():
        handles |= dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    figure.legend(list(handles.values()), list(handles), loc="outside upper left", ncols=2)
    return figure


def _relations(axes: Axes, rows: pd.DataFrame) -> None:
    """One line per relation: the head found for it, the mean and the largest of the other heads of its layer."""
    places = np.arange(len(rows))
    axes.axvline(0, color=FAINT, linewidth=0.7)
    control = rows["control_effect"].to_numpy()
    axes.hlines(places, control + rows["low"], control + rows["high"], color=BLUE, linewidth=1.0, alpha=0.6)
    axes.scatter(control, places, s=14, marker="D", color=FAINT, label="other heads of its layer, mean")
    axes.scatter(rows["best_other"], places, s=16, marker="|", color=INK, label="the largest of them")
    leading = ((rows["p_holm"] < SIGNIFICANT) & (rows["lead"] > 0) & (rows["place"] == 1)).to_numpy()
    for chosen, face, label in (
        (leading, BLUE, f"the head found for it: first, and leads (p < {SIGNIFICANT:g})"),
        (~leading, "white", "the head found for it: otherwise"),
    ):
        if chosen.any():
            axes.scatter(rows["effect"][chosen], places[chosen], s=22, facecolor=face, edgecolor=BLUE, label=label)
    names = [
        f"{drawable(str(name), _LONGEST_RELATION)}  {layer}-{head}"
        for name, layer, head in zip(rows.index, rows["layer"], rows["head"], strict=True)
    ]
    axes.set_yticks(places, names)
    axes.set_ylim(-0.7, len(rows) - 0.3)


@styled
def removal_figure(removal_curve: pd.DataFrame) -> Figure:
    """The first measure of each task; with several tasks, a last panel compares what each keeps of its score."""
    first = removal_curve.groupby("task", sort=False)["measure"].first()
    tasks = [removal_curve.query("task == @task and measure == @measure") for task, measure in first.items()]
    several = len(tasks) > 1
    panels = len(tasks) + several
    figure = Picture(figsize=(4.6, 2.5 * panels), layout="constrained")
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
