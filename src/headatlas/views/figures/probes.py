"""Pictures of probes: their scores beside the published ones, the heads they use, and the tree over the layers."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.colors import TwoSlopeNorm
from matplotlib.figure import Figure

from headatlas.views.figures.style import BLUE, GREEN, INK, VERMILLION, styled
from headatlas.views.published.compare_probes import compare_probes

_DIRECTIONS = {"dependent_to_head": "dependent attends to head", "head_to_dependent": "head attends to dependent"}


@styled
def scores_figure(probes: pd.DataFrame) -> Figure:
    """Table 3 as bars with 95 % intervals, a point a seed, and the published scores as diamonds."""
    frame = compare_probes(probes, "").frame[::-1].reset_index(drop=True)
    figure = Figure(figsize=(6.0, 0.6 + 0.3 * len(frame)), layout="constrained")
    axes = figure.subplots()
    places = np.arange(len(frame))
    colours = [GREEN if measure == "uuas" else BLUE for measure in frame["measure"]]
    axes.barh(places, 100 * frame["score"], color=colours, alpha=0.75, height=0.62)
    below, above = (100 * (frame["score"] - frame["low"]).clip(0), 100 * (frame["high"] - frame["score"]).clip(0))
    axes.errorbar(100 * frame["score"], places, xerr=[below, above], fmt="none", ecolor=INK, elinewidth=0.9, capsize=2)
    weights = probes["weights"].fillna("")
    for place, row in zip(places, frame.to_dict("records"), strict=True):
        here = probes[(probes["probe"] == row["probe"]) & (weights == row["weights"])]
        here = here if pd.isna(row["layer"]) else here[here["layer"] == row["layer"]]
        axes.plot(100 * here[row["measure"]], np.full(len(here), place + 0.22), ".", color=INK, markersize=2.5)
    axes.plot(
        100 * frame["published_score"], places, "D", color=VERMILLION, markersize=4, label="published (BERT-base)"
    )
    axes.set_yticks(places, frame["name"])
    axes.set_xlim(0, 100)
    axes.set_xlabel("words whose head is found, without punctuation (%)")
    axes.legend(loc="lower right", bbox_to_anchor=(1, 1), borderaxespad=0)
    return figure


@styled
def weights_figure(weights: pd.DataFrame) -> Figure:
    """What each head contributes to the scores of true arcs, layers down, heads across, mean over seeds."""
    networks = set(weights["weights"])
    shown = weights[weights["weights"] == ("pretrained" if "pretrained" in networks else "random")]
    probes = [name for name in ("attention", "attention_words") if name in set(shown["probe"])]
    layers, heads = int(shown["layer"].max()), int(shown["head"].max())
    figure = Figure(figsize=(7.0, len(probes) * (0.75 + 0.2 * layers)), layout="constrained")
    grid = figure.subplots(len(probes), 2, squeeze=False)
    for row, probe in zip(grid, probes, strict=True):
        mine = shown[shown["probe"] == probe]
        means = mine.groupby(["direction", "layer", "head"])["contribution"].mean()
        most = float(means.abs().max()) or 1.0
        for axes, (direction, label) in zip(row, _DIRECTIONS.items(), strict=True):
            table = means[direction].unstack("head").to_numpy()
            picture = axes.imshow(table, cmap="PuOr_r", norm=TwoSlopeNorm(0, -most, most), aspect="auto")
            axes.set_title(f"{probe.replace('_', ' + ')}: {label}")
            axes.set_xticks(np.arange(heads)[:: max(1, heads // 12)], np.arange(1, heads + 1)[:: max(1, heads // 12)])
            axes.set_yticks(
                np.arange(layers)[:: max(1, layers // 12)], np.arange(1, layers + 1)[:: max(1, layers // 12)]
            )
            axes.set_xlabel("head")
            axes.spines[:].set_visible(False)
        row[0].set_ylabel("layer")
        figure.colorbar(picture, ax=list(row), label="contribution", shrink=0.9)
    return figure


@styled
def layers_figure(probes: pd.DataFrame) -> Figure:
    """How well distances and depths learned from each layer's states give the tree back, with 95 % intervals."""
    figure = Figure(figsize=(5.0, 2.6), layout="constrained")
    axes = figure.subplots()
    looks = {
        "structural_distance": ("uuas", "edges found (UUAS)", "distances, Spearman", BLUE, "o"),
        "structural_depth": ("root_accuracy", "roots found", "depths, Spearman", VERMILLION, "s"),
    }
    for name, (measure, label, rank, colour, marker) in looks.items():
        means = probes[probes["probe"] == name].groupby("layer")[[measure, "low", "high", "spearman"]].mean() * 100
        layer = means.index.to_numpy(dtype=float)
        axes.fill_between(layer, means["low"], means["high"], color=colour, alpha=0.2, linewidth=0)
        axes.plot(layer, means[measure], color=colour, marker=marker, markersize=3.5, label=label)
        axes.plot(layer, means["spearman"], color=colour, linewidth=0.9, linestyle=(0, (4, 3)), label=rank)
    axes.set_xlabel("layer (0: embeddings)")
    axes.set_ylabel("%, and correlation in hundredths")
    axes.legend(loc="lower right", bbox_to_anchor=(1, 1), borderaxespad=0, ncols=2)
    return figure
