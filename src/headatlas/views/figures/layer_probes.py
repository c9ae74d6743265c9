"""Pictures of what the layers know: mixing weights over differential scores, cumulative scores, single targets.

After figures 2, A.3 and 3 of Tenney et al. (2019), as the slides show them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from headatlas.views.figures.style import (
    BLACK,
    BLUE,
    FAINT,
    GREEN,
    INK,
    ORANGE,
    PURPLE,
    SKY,
    VERMILLION,
    drawable,
    families_for,
    styled,
)

_COLOURS = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, BLACK)
_LONGEST_TASK = 22
_MOST_EXAMPLES = 8
_EXAMPLES_A_TASK = 2
_LONGEST_TEXT = 88

Side = tuple[str, Mapping[str, pd.DataFrame]]
"""A model's name and its tables."""


def layer_figures(tables: Mapping[str, pd.DataFrame]) -> dict[str, Figure]:
    """Every figure that the tables of `headatlas layers` allow, by its file's stem."""
    if "layer_mix" not in tables:
        return {}
    figures = {"layers_figure2_mix": mix_figure([("", tables)]), "layers_scores": scores_figure(tables["layer_mix"])}
    if "layer_examples" in tables:
        figures["layers_figure3_examples"] = examples_figure(tables["layer_examples"])
    if "head_mix" in tables:
        figures["layers_heads"] = heads_figure(tables["head_mix"])
    return figures


@styled
def mix_figure(sides: Sequence[Side]) -> Figure:
    """Figures 2 and A.3: a row a task, a column a model; bars are mixing weights, outlines differential scores.

    The outlines are shares of what all gaining layers gain together; below the line a layer harms.
    """
    mixes = [_of_layers(tables["layer_mix"]) for _, tables in sides]
    summaries = [_of_layers(tables["layer_summary"]).set_index("task") for _, tables in sides]
    tasks = list(dict.fromkeys(task for mix in mixes for task in mix["task"]))
    widths = [max(2.2, 0.22 * mix["layer"].nunique()) for mix in mixes]
    size = (1.2 + sum(widths) + 1.25 * len(sides), 0.9 + 0.72 * len(tasks))
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(len(tasks), len(sides), squeeze=False, sharex="col", width_ratios=widths)
    for column, ((name, _), mix, summary) in enumerate(zip(sides, mixes, summaries, strict=True)):
        for row, task in enumerate(tasks):
            axes = grid[row, column]
            mine = mix[mix["task"] == task].sort_values("layer")
            if column == 0:
                label = drawable(task, _LONGEST_TASK)
                axes.set_ylabel(label, rotation=0, ha="right", va="center", family=families_for([label]))
            _draw_mix(axes, mine, summary.loc[task] if task in summary.index else None)
        grid[0, column].set_title(drawable(name, 40) if name else "")
        grid[-1, column].set_xlabel("layer (0: embeddings)")
    handles = [
        Patch(facecolor=BLUE, alpha=0.75, label="mixing weight"),
        Patch(facecolor="none", edgecolor=PURPLE, label="differential score, share of all gains"),
        Line2D(
            [], [], color=INK, marker="|", linestyle="none", label="centre of gravity (full), expected layer (dashed)"
        ),
    ]
    figure.legend(handles=handles, loc="outside upper left", ncols=3 if len(sides) > 1 else 1)
    return figure


def _draw_mix(axes: Axes, rows: pd.DataFrame, summary: pd.Series[float] | None) -> None:
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    if summary is None:
        axes.text(0.5, 0.5, "not asked", ha="center", va="center", transform=axes.transAxes, color=FAINT)
        return
    layer = rows["layer"].to_numpy()
    gains = rows["differential"].to_numpy()
    total = np.nansum(np.clip(gains, 0, None))
    shares = gains / total if total > 0 else np.zeros_like(gains)
    axes.axhline(0, color=FAINT, linewidth=0.6)
    axes.bar(layer, rows["weight"], width=0.8, color=BLUE, alpha=0.75)
    axes.bar(layer, shares, width=0.8, facecolor="none", edgecolor=PURPLE, linewidth=1.0)
    for value, low, high, dashes in (
        (summary["centre_of_gravity"], summary["centre_low"], summary["centre_high"], "-"),
        (summary["expected_layer"], summary["expected_low"], summary["expected_high"], (0, (3, 2))),
    ):
        if np.isfinite(value) and layer[0] - 0.5 <= value <= layer[-1] + 0.5:
            axes.axvline(value, color=INK, linewidth=1.0, linestyle=dashes)
            axes.axvspan(max(low, layer[0] - 0.5), min(high, layer[-1] + 0.5), color=INK, alpha=0.08, linewidth=0)
    told = (
        f"F1 {100 * summary['score']:.1f}\ncentre {summary['centre_of_gravity']:.2f}\n"
        f"expected {summary['expected_layer']:.2f}\nKL {summary['kl']:.2f}"
    )
    axes.text(1.02, 0.5, told, transform=axes.transAxes, va="center", fontsize="x-small")
    axes.set_xlim(layer[0] - 0.6, layer[-1] + 0.6)
    axes.set_xticks(layer[:: max(1, len(layer) // 14)])


@styled
def scores_figure(layer_mix: pd.DataFrame) -> Figure:
    """Scores of probes that see layers 0 to l, with 95 % intervals: of layers, of heads, and of random weights."""
    figure = Figure(figsize=(5.6, 3.4), layout="constrained")
    axes = figure.subplots()
    looks = {"layers": ("-", "o"), "heads": ((0, (4, 2)), "s")}
    tasks = list(dict.fromkeys(layer_mix["task"]))
    for place, task in enumerate(tasks):
        colour = _COLOURS[place % len(_COLOURS)]
        for (mix, weights), rows in layer_mix[layer_mix["task"] == task].groupby(["mix", "weights"], sort=False):
            dashes, marker = looks[mix]
            faint = 0.45 if weights == "random" else 1.0
            ordered = rows.sort_values("layer")
            layer = ordered["layer"].to_numpy(dtype=float)
            axes.fill_between(layer, 100 * ordered["low"], 100 * ordered["high"], color=colour, alpha=0.12, linewidth=0)
            axes.plot(
                layer,
                100 * ordered["cumulative"],
                color=colour,
                linestyle=dashes,
                marker=marker if weights == "pretrained" else "x",
                markersize=3,
                alpha=faint,
                label=drawable(_label(task, mix, weights), 40),
            )
    axes.set_xlabel("layers 0 to l seen (0: embeddings)")
    axes.set_ylabel("micro F1 (%)")
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize="small")
    return figure


@styled
def examples_figure(examples: pd.DataFrame) -> Figure:
    """Figure 3: targets whose decision moves; blue the right label, orange its strongest rival, layer by layer."""
    chosen = examples[examples["rank"] <= _EXAMPLES_A_TASK].sort_values("rank", kind="stable")
    groups = [rows for _, rows in chosen.groupby(["rank", "task"], sort=False)][:_MOST_EXAMPLES]
    figure = Figure(figsize=(6.4, 1.05 * len(groups) + 0.3), layout="constrained")
    all_axes = figure.subplots(len(groups), 1, squeeze=False, sharex=True)[:, 0]
    for axes, rows in zip(all_axes, groups, strict=True):
        first = rows.iloc[0]
        layer = rows["layer"].to_numpy(dtype=float)
        axes.bar(layer - 0.2, rows["probability"], width=0.38, color=BLUE, label=drawable(first["label"], 26))
        axes.bar(layer + 0.2, rows["rival_probability"], width=0.38, color=ORANGE, label=drawable(first["rival"], 26))
        text = _around(str(first["text"]))
        axes.set_title(f"{first['task']}: {text}", loc="left", fontsize="small", family=families_for([text]))
        axes.set_ylim(0, 1)
        axes.set_yticks([0, 1])
        axes.set_xticks(layer)
        axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize="small")
    all_axes[-1].set_xlabel("layers 0 to l seen (0: embeddings)")
    return figure


@styled
def heads_figure(head_mix: pd.DataFrame) -> Figure:
    """The weight of every head in the mix of a task, in both directions; layers down, heads across."""
    shown = head_mix[head_mix["weights"] == head_mix["weights"].iloc[0]]
    tasks = list(dict.fromkeys(shown["task"]))
    layers, heads = int(shown["layer"].max()), int(shown["head"].max())
    figure = Figure(figsize=(7.0, len(tasks) * (0.75 + 0.2 * layers)), layout="constrained")
    grid = figure.subplots(len(tasks), 2, squeeze=False)
    for row, task in zip(grid, tasks, strict=True):
        mine = shown[shown["task"] == task]
        top = float(mine["weight"].max())
        for axes, (direction, rows) in zip(row, mine.groupby("direction", sort=False), strict=True):
            table = rows.pivot(index="layer", columns="head", values="weight").to_numpy()
            picture = axes.imshow(table, cmap="Blues", norm=Normalize(0, top), aspect="auto")
            axes.set_title(f"{drawable(task, _LONGEST_TASK)}: {str(direction).replace('_', ' ')} span")
            step, down = max(1, heads // 12), max(1, layers // 12)
            axes.set_xticks(np.arange(0, heads, step), np.arange(1, heads + 1, step))
            axes.set_yticks(np.arange(0, layers, down), np.arange(1, layers + 1, down))
            axes.set_xlabel("head")
            axes.spines[:].set_visible(False)
        row[0].set_ylabel("layer")
        figure.colorbar(picture, ax=list(row), label="weight", shrink=0.9)
    return figure


def _of_layers(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of the mix over layers, of the network as it was given."""
    rows = table[table["mix"] == "layers"]
    kept: pd.DataFrame = rows[rows["weights"] == rows["weights"].iloc[0]]
    return kept


def _label(task: str, mix: str, weights: str) -> str:
    more = [name for name, usual in ((mix, "layers"), (weights, "pretrained")) if name != usual]
    return f"{task} ({', '.join(more)})" if more else task


def _around(text: str) -> str:
    """As many words about each span as fit, "…" for those between and beyond."""
    words = text.split(" ")
    inside, depth = [], 0
    for place, word in enumerate(words):
        depth += word in ("[1", "[2")
        if depth:
            inside.append(place)
        depth -= depth > 0 and word.endswith("]")
    for near in range(12, -1, -1):
        kept = [place for place in range(len(words)) if any(abs(place - span) <= near for span in inside)]
        shown = [
            f"{'… ' * (place - before > 1)}{words[place]}" for before, place in zip([-1, *kept], kept, strict=False)
        ]
        found = " ".join([*shown, *(["…"] if kept and kept[-1] + 1 < len(words) else [])])
        if len(found) <= _LONGEST_TEXT:
            break
    return drawable(found, _LONGEST_TEXT)
