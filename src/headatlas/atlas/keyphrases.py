"""Figures about keyphrases: heat maps of heads, and the curve of more and more heads put together."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.colors import Normalize, TwoSlopeNorm
from matplotlib.figure import Figure

from headatlas.atlas.heat_maps import by_head, heat_grid, heat_map
from headatlas.atlas.style import styled

TITLES = {"mean": "mean received attention", "max": "largest weight received"}


@styled
def keyphrase_heads_figure(keyphrase_heads: pd.DataFrame) -> Figure:
    """Average precision by mean and by max pooling, and the mean relative attention, all rows counted."""
    rows = keyphrase_heads[keyphrase_heads["rows"] == "all"]
    of_pooling = {pooling: rows[rows["pooling"] == pooling] for pooling in TITLES}
    figure, (*ranked, last) = heat_grid([*of_pooling.values(), of_pooling["mean"]])
    chance = float(rows["key_share"].mean())
    for axes, (pooling, own) in zip(ranked, of_pooling.items(), strict=True):
        values = by_head(own, "average_precision")
        title = f"average precision of keyphrase tokens by {TITLES[pooling]} (chance: {chance:.2f})"
        top = max(float(np.nanmax(values)), chance + 0.01)
        low = min(float(np.nanmin(values)), chance - 0.01)
        heat_map(axes, values, "RdBu", TwoSlopeNorm(chance, low, top), title)
    relative = by_head(of_pooling["mean"], "relative_attention") * 100
    most = float(np.nanmax(np.abs(relative))) or 1.0
    heat_map(last, relative, "RdBu", Normalize(-most, most), "mean relative attention, in hundredths")
    return figure
