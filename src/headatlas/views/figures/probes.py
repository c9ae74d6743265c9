"""Figures of probes: their scores beside the published ones, the heads they use, and what the layers know.

The figures of layers follow figures 2, A.3 and 3 of Tenney et al. (2019): mixing weights over differential scores,
cumulative scores, single targets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from headatlas.views.figures.heat_maps import around_zero, by_head, from_zero, heat_grid, heat_map_pair
from headatlas.views.figures.style import (
    BLUE,
    COLOURS,
    FAINT,
    GREEN,
    INK,
    ORANGE,
    PURPLE,
    VERMILLION,
    Picture,
    drawable,
    say,
    single_panel,
    styled,
)
from headatlas.views.published.compare import compare_probes

WAYS = {"dependent_to_head": "dependent attends to head", "head_to_dependent": "head attends to dependent"}
_LONGEST_TASK = 22
_MOST_EXAMPLES = 8
_EXAMPLES_PER_TASK = 2
_LONGEST_TEXT = 88

Side = tuple[str, Mapping[str, pd.DataFrame]]
"""A model's name and its tables."""


@styled
def probe_scores_figure(probes: pd.DataFrame, ax: Axes | None = None) -> Figure:
    """Table 3 as bars with 95 % intervals, one point per seed, and the published scores as diamonds."""
    frame = compare_probes(probes, "").frame[::-1].reset_index(drop=True)
    figure, axes = single_panel(6.0, 0.6 + 0.3 * len(frame), ax)
    places = np.arange(len(frame))
    colours = [GREEN if measure == "uuas" else BLUE for measure in frame["measure"]]
    axes.barh(places, 100 * frame["score"], color=colours, alpha=0.75, height=0.62)
    below, above = (100 * (frame["score"] - frame["low"]).clip(0), 100 * (frame["high"] - frame["score"]).clip(0))
    axes.errorbar(100 * frame["score"], places, xerr=[below, above], fmt="none", ecolor=INK, elinewidth=0.9, capsize=2)
    weights = probes["weights"].fillna("")
    for place, row in zip(places, frame.to_dict("records"), strict=True):
        seeds = probes[(probes["probe"] == row["probe"]) & (weights == row["weights"])]
        seeds = seeds if pd.isna(row["layer"]) else seeds[seeds["layer"] == row["layer"]]
        axes.plot(100 * seeds[row["measure"]], np.full(len(seeds), place + 0.22), ".", color=INK, markersize=2.5)
    axes.plot(
        100 * frame["published_score"], places, "D", color=VERMILLION, markersize=4, label="published (BERT-base)"
    )
    axes.set_yticks(places, frame["name"])
    axes.set_xlim(0, 100)
    axes.set_xlabel("words whose head is found, without punctuation (%)")
    axes.legend(loc="lower right", bbox_to_anchor=(1, 1), borderaxespad=0)
    return figure


@styled
def probe_weights_figure(probe_weights: pd.DataFrame) -> Figure:
    """What each head contributes to the scores of true arcs, mean over seeds."""
    networks = set(probe_weights["weights"])
    shown = probe_weights[probe_weights["weights"] == ("pretrained" if "pretrained" in networks else "random")]
    probes = [name for name in ("attention", "attention_words") if name in set(shown["probe"])]
    figure, all_axes = heat_grid([shown] * 2 * len(probes), columns=2)
    means = shown.groupby(["probe", "direction", "layer", "head"], as_index=False)["contribution"].mean()
    for place, probe in enumerate(probes):
        maps = [by_head(means[(means["probe"] == probe) & (means["direction"] == way)], "contribution") for way in WAYS]
        titles = [f"{probe.replace('_', ' + ')}: {way}" for way in WAYS.values()]
        pair = all_axes[2 * place : 2 * place + 2]
        heat_map_pair(pair, maps, "PuOr_r", around_zero(np.stack(maps)), titles, "contribution")
    return figure


@styled
def probe_layers_figure(probes: pd.DataFrame, ax: Axes | None = None) -> Figure:
    """How well distances and depths learned from each layer's states recover the tree, with 95 % intervals.

    Thin lines without marks: the same network with random weights.
    """
    figure, axes = single_panel(5.0, 2.6, ax)
    looks = {
        "structural_distance": ("uuas", "edges found (UUAS)", "distances, Spearman", BLUE, "o"),
        "structural_depth": ("root_accuracy", "roots found", "depths, Spearman", VERMILLION, "s"),
    }
    for name, (measure, label, rank, colour, marker) in looks.items():
        rows = probes[probes["probe"] == name]
        random = rows[rows["weights"] == "random"].groupby("layer")[measure].mean() * 100
        means = rows[rows["weights"] != "random"].groupby("layer")[[measure, "low", "high", "spearman"]].mean() * 100
        if means.empty:
            continue
        layer = means.index.to_numpy(dtype=float)
        axes.fill_between(layer, means["low"], means["high"], color=colour, alpha=0.2, linewidth=0)
        axes.plot(layer, means[measure], color=colour, marker=marker, markersize=3.5, label=label)
        axes.plot(layer, means["spearman"], color=colour, linewidth=0.9, linestyle=(0, (4, 3)), label=rank)
        if len(random):
            axes.plot(layer, random, color=colour, linewidth=0.6, label=f"{label}, random weights")
    adjacent = probes.loc[probes["probe"] == "adjacent_words", "uuas"]
    if len(adjacent):
        axes.axhline(
            100 * adjacent.mean(), color=INK, linewidth=0.9, linestyle=":", label="adjacent words linked (UUAS)"
        )
    axes.set_xlabel("layer (0: embeddings)")
    axes.set_ylabel("%, and correlation in hundredths")
    axes.legend(loc="lower right", bbox_to_anchor=(1, 1), borderaxespad=0, ncols=2)
    return figure


@styled
def layer_mix_figure(sides: Sequence[Side]) -> Figure:
    """Figures 2 and A.3: one row per task, one column per model; bars are mixing weights, outlines differential scores.

    The outlines are shares of the total gain of all layers that gain; below the line, a layer harms.
    """
    mixes = [_of_layers(tables["layer_mix"]) for _, tables in sides]
    summaries = [_of_layers(tables["layer_summary"]).set_index("task") for _, tables in sides]
    tasks = list(dict.fromkeys(task for mix in mixes for task in mix["task"]))
    widths = [max(2.2, 0.22 * mix["layer"].nunique()) for mix in mixes]
    size = (1.2 + sum(widths) + 1.25 * len(sides), 0.9 + 0.72 * len(tasks))
    figure = Picture(figsize=size, layout="constrained")
    grid = figure.subplots(len(tasks), len(sides), squeeze=False, sharex="col", width_ratios=widths)
    for column, ((name, _), mix, summary) in enumerate(zip(sides, mixes, summaries, strict=True)):
        for row, task in enumerate(tasks):
            axes = grid[row, column]
            rows = mix[mix["task"] == task].sort_values("layer")
            if column == 0:
                label = drawable(task, _LONGEST_TASK)
                axes.set_ylabel(label, rotation=0, ha="right", va="center")
            _draw_mix(axes, rows, summary.loc[task] if task in summary.index else None)
        grid[0, column].set_title(drawable(name, 40) if name else "")
        grid[-1, column].set_xlabel("layer (0: embeddings)")
    handles = [
        Patch(facecolor=BLUE, alpha=0.75, label="mixing weight"),
        Patch(facecolor="none", edgecolor=PURPLE, label="differential score, share of all gains"),
        Line2D(
            [], [], color=INK, marker="|", linestyle="none", label="centre of gravity (full), expected layer (dashed)"
        ),
        Line2D([], [], color=VERMILLION, marker="|", linestyle="none", label="centre of gravity with shuffled labels"),
    ]
    figure.legend(handles=handles, loc="outside upper left", ncols=2 if len(sides) > 1 else 1)
    return figure


def _draw_mix(axes: Axes, rows: pd.DataFrame, summary: pd.Series[float] | None) -> None:
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    if summary is None:
        say(axes, "not asked")
        return
    layer = rows["layer"].to_numpy()
    gains = rows["differential"].to_numpy()
    total = np.nansum(np.clip(gains, 0, None))
    shares = gains / total if total > 0 else np.zeros_like(gains)
    axes.axhline(0, color=FAINT, linewidth=0.6)
    axes.bar(layer, rows["weight"], width=0.8, color=BLUE, alpha=0.75)
    axes.bar(layer, shares, width=0.8, facecolor="none", edgecolor=PURPLE, linewidth=1.0)
    narrow = summary["expected_high"] - summary["expected_low"] <= layer[-1]
    marks = (
        (summary["centre_of_gravity"], summary["centre_low"], summary["centre_high"], "-"),
        (
            summary["expected_layer"] if narrow else np.nan,
            summary["expected_low"],
            summary["expected_high"],
            (0, (3, 2)),
        ),
    )
    if np.isfinite(summary["shuffled_centre"]):
        axes.axvline(summary["shuffled_centre"], color=VERMILLION, linewidth=0.9, linestyle=(0, (1, 1.5)))
    for value, low, high, dashes in marks if summary["lead_low"] > 0 else ():
        if np.isfinite(value) and layer[0] - 0.5 <= value <= layer[-1] + 0.5:
            axes.axvline(value, color=INK, linewidth=1.0, linestyle=dashes)
            axes.axvspan(max(low, layer[0] - 0.5), min(high, layer[-1] + 0.5), color=INK, alpha=0.08, linewidth=0)
    caption = (
        f"F1 {100 * summary['score']:.1f}\ncentre {summary['centre_of_gravity']:.2f}\n"
        f"expected {format(summary['expected_layer'], '.2f') if narrow else '?'}\nKL {summary['kl']:.2f}"
        if summary["lead_low"] > 0
        else f"{100 * summary['accuracy']:.0f} % right,\nmajority {100 * summary['majority']:.0f} %"
    )
    axes.text(1.02, 0.5, caption, transform=axes.transAxes, va="center", fontsize="x-small")
    axes.set_xlim(layer[0] - 0.6, layer[-1] + 0.6)
    axes.set_xticks(layer[:: max(1, len(layer) // 14)])


@styled
def layer_scores_figure(layer_mix: pd.DataFrame, ax: Axes | None = None) -> Figure:
    """Scores of probes that see layers 0 to l, with 95 % intervals: of layers, of heads, and of random weights."""
    figure, axes = single_panel(5.6, 3.4, ax)
    looks = {"layers": ("-", "o"), "heads": ((0, (4, 2)), "s")}
    tasks = list(dict.fromkeys(layer_mix["task"]))
    for place, task in enumerate(tasks):
        colour = COLOURS[place % len(COLOURS)]
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
def layer_examples_figure(layer_examples: pd.DataFrame) -> Figure:
    """Figure 3: targets whose decision changes over the layers; blue the right label, orange its strongest rival."""
    chosen = layer_examples[layer_examples["rank"] <= _EXAMPLES_PER_TASK].sort_values("rank", kind="stable")
    groups = [rows for _, rows in chosen.groupby(["rank", "task"], sort=False)][:_MOST_EXAMPLES]
    figure = Picture(figsize=(6.4, 1.05 * len(groups) + 0.3), layout="constrained")
    all_axes = figure.subplots(len(groups), 1, squeeze=False, sharex=True)[:, 0]
    for axes, rows in zip(all_axes, groups, strict=True):
        first = rows.iloc[0]
        layer = rows["layer"].to_numpy(dtype=float)
        axes.bar(layer - 0.2, rows["probability"], width=0.38, color=BLUE, label=drawable(first["label"], 26))
        axes.bar(layer + 0.2, rows["rival_probability"], width=0.38, color=ORANGE, label=drawable(first["rival"], 26))
        text = _around(str(first["text"]))
        axes.set_title(f"{first['task']}: {text}", loc="left", fontsize="small")
        axes.set_ylim(0, 1)
        axes.set_yticks([0, 1])
        axes.set_xticks(layer)
        axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize="small")
    all_axes[-1].set_xlabel("layers 0 to l seen (0: embeddings)")
    return figure


@styled
def head_mix_figure(head_mix: pd.DataFrame) -> Figure:
    """The weight of every head in the mix of a task, in both directions."""
    shown = head_mix[head_mix["weights"] == head_mix["weights"].iloc[0]]
    pairs = [rows for _, rows in shown.groupby(["task", "direction"], sort=False)]
    figure, all_axes = heat_grid(pairs, columns=2)
    for place in range(0, len(pairs), 2):
        titles = [
            f"{drawable(rows['task'].iloc[0], _LONGEST_TASK)}: {rows['direction'].iloc[0].replace('_', ' ')} span"
            for rows in pairs[place : place + 2]
        ]
        maps = [by_head(rows, "weight") for rows in pairs[place : place + 2]]
        heat_map_pair(all_axes[place : place + 2], maps, "Blues", from_zero(np.stack(maps)), titles, "weight")
    return figure


def _of_layers(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of the mix over layers, of the first network."""
    rows = table[table["mix"] == "layers"]
    first: pd.DataFrame = rows[rows["weights"] == rows["weights"].iloc[0]]
    return first


def _label(task: str, mix: str, weights: str) -> str:
    more = [name for name, usual in ((mix, "layers"), (weights, "pretrained")) if name != usual]
    return f"{task} ({', '.join(more)})" if more else task


def _around(text: str) -> str:
    """As many words around each span as fit, "…" for the words between and beyond."""
    words = text.split(" ")
    inside, depth = [], 0
    for place, word in enumerate(words):
        depth += word in ("[1", "[2")
        if depth:
            inside.append(place)
        depth -= depth > 0 and word.endswith("]")
    for near in range(12, -1, -1):
        places = [place for place in range(len(words)) if any(abs(place - span) <= near for span in inside)]
        shown = [
            f"{'… ' * (place - before > 1)}{words[place]}" for before, place in zip([-1, *places], places, strict=False)
        ]
        excerpt = " ".join([*shown, *(["…"] if places and places[-1] + 1 < len(words) else [])])
        if len(excerpt) <= _LONGEST_TEXT:
            break
    return drawable(excerpt, _LONGEST_TEXT)
