"""Does it matter how much a head attends to a token? The gradient of the loss to attention, by the kind of token
attended to (section 3.2, figure 3).

|dL/da[i, j]| averaged over the pairs of a segment whose token j is of a kind and which the model's mask admits, then
over segments. L is the masked language model loss (BERT's masking) or, for causal models, that of the next token.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from headatlas.encoding.batches import Batch
from headatlas.encoding.kinds import TokenKind
from headatlas.models.tiles import Tile
from headatlas.statistics.surface import widest
from headatlas.studies.findings import Finding, last_layer
from headatlas.studies.labels import Pattern, Tables
from headatlas.studies.reductions import Reduction
from headatlas.studies.segment_means import SegmentMeans, table_of_layers
from headatlas.studies.study import LayerMap
from headatlas.studies.token_kinds import CLS, SEP, TO_KIND
from headatlas.tables import CONTROL, COUNT, ONE_HEAD, VALUE_INTERVAL, Key, Table, Value, control, controlled
from headatlas.wording import percent

KIND = Key("kind", "kind of the token attended to: cls, sep, period_comma, other", labels=TO_KIND)
GRADIENT = Value("value", "mean |dL/da| over pairs of tokens, L a segment's mean loss in nats")
GRADIENTS = Table(
    "gradients",
    "Would the loss change if a head attended more to a kind of token?",
    (*ONE_HEAD, KIND, GRADIENT, *VALUE_INTERVAL, COUNT, control("number")),
    section="3.2, figure 3",
    label="|dL/da| towards {kind}",
    short="{kind}",
    card="How much the loss depends on it, |dL/da|",
    panels=("sep", "other"),
    figure=("figure3_gradients", "headatlas.views.figures.layers:gradients_figure"),
)
GRADIENTS_LAYERS = table_of_layers(
    GRADIENTS, {f"{kind}_ratio": f"that towards {{{kind}}} over that towards other tokens" for kind in ("cls", "sep")}
)
SMALL = 0.5  # of the gradient towards other tokens
KINDS = {"cls": TokenKind.CLS, "sep": TokenKind.SEP, "period_comma": TokenKind.PERIOD_COMMA, "other": TokenKind.OTHER}


@dataclass(frozen=True)
class GradientToKinds(Reduction):
    """Mean |gradient| over the admitted pairs of a segment, by kind of the token attended to: [B, H, 4].

    It is 0 where there is no pair. causal: whether attention flows backwards only, if the model has no mask.
    """

    causal: bool

    def start(self, layer: int, batch: Batch, like: Tensor) -> tuple[Tensor, Tensor]:
        wide, shape = widest(like.device), (len(like), like.shape[1], len(KINDS))
        total = torch.zeros(shape, dtype=wide, device=like.device)
        return total, torch.zeros_like(total[:, :1])

    def add(self, sums: tuple[Tensor, Tensor], tile: Tile, batch: Batch) -> None:
        gradients = tile.weights.detach()
        if gradients.dtype in (torch.float16, torch.bfloat16):
            gradients = gradients.float()
        kinds = batch.kinds[tile.segments, tile.columns]
        columns = torch.stack([kinds == kind for kind in KINDS.values()], -1).to(gradients.dtype)  # [S, C, 4]
        admitted = admitted_pairs(tile, batch, self.causal)
        total, pairs = sums
        total[tile.segments, tile.heads] += (gradients.abs() * admitted).sum(2) @ columns
        if tile.head == 0:
            pairs[tile.segments] += admitted.sum(2).to(gradients.dtype) @ columns

    def finish(self, sums: tuple[Tensor, Tensor], batch: Batch) -> Tensor:
        total, pairs = sums
        return total / pairs.clamp_min(1)


def admitted_pairs(tile: Tile, batch: Batch, causal: bool) -> Tensor:
    """Pairs (i, j) of a tile's real tokens between which attention may flow: [S, 1, R, C], bool."""
    real = batch.mask[tile.segments]
    admitted = real[:, None, tile.rows, None] & real[:, None, None, tile.columns]
    if tile.mask is not None:
        admitted = admitted & (tile.mask > torch.finfo(tile.mask.dtype).min / 2)
    elif causal:
        places = torch.arange(real.shape[1], device=real.device)
        admitted = admitted & (places[tile.columns] <= places[tile.rows, None])
    return admitted


def _ratio(kind: str, means: NDArray[np.float64]) -> NDArray[np.float64]:
    of, other = (means[..., list(KINDS).index(name)] for name in (kind, "other"))
    return np.where(other > 0, of / np.where(other > 0, other, 1), np.nan)


class Gradients(SegmentMeans):
    """Mean absolute gradient of the loss to attention, for every head and kind of token."""

    name = "gradients"
    watches = "gradients"
    tables = (GRADIENTS, GRADIENTS_LAYERS)
    contrasts: ClassVar = {"cls_ratio": partial(_ratio, "cls"), "sep_ratio": partial(_ratio, "sep")}

    def reductions(self) -> list[Reduction]:
        return [GradientToKinds(self.causal)]

    def segment_means(self, layer_map: LayerMap) -> Tensor:
        means: Tensor = layer_map.of(GradientToKinds(self.causal))
        return means

    def counted(self, batch: Batch) -> Tensor:
        """A kind counts where the segment has such a token."""
        kinds = torch.where(batch.mask, batch.kinds, 255)
        return torch.stack([(kinds == kind).any(1) for kind in KINDS.values()], -1)

    @classmethod
    def findings(cls, tables: Tables) -> Iterator[Finding | str]:
        layers = tables["gradients_layers"]
        for pattern in (SEP, CLS):
            ratios = layers[layers["kind"] == f"{pattern.key}_ratio"].dropna(subset="value")
            if len(ratios):
                yield _relative(pattern.target, ratios)
                yield from _onset(pattern, ratios, tables.get("token_kinds_layers"))


def _relative(target: str, ratios: pd.DataFrame) -> Finding:
    """The gradient towards a kind of token beside that towards other tokens, layer by layer."""
    first, last = ratios.iloc[0], ratios.iloc[-1]
    return last_layer(
        f"|dL/da| towards {target}, mean over the heads of a layer, is {first['value']:.2f} times that towards other "
        f"tokens in layer 1 and {last['value']:.2f} times in layer {last['layer']:.0f}",
        ratios,
        "number",
    )


def onset_of(ratios: pd.DataFrame) -> int | None:
    """The first layer from which on all gradients are surely small; None if that is not so, or so of all layers."""
    large = ratios[~(ratios["high"] < SMALL)]["layer"]
    onset = int(large.max()) + 1 if len(large) else None
    return onset if onset is not None and onset <= ratios["layer"].max() else None


def _onset(pattern: Pattern, ratios: pd.DataFrame, kinds: pd.DataFrame | None) -> Iterator[Finding]:
    """From which layer on gradients are small, if they are, and whether attention rises there."""
    onset = onset_of(ratios)
    if onset is None:
        return
    there = ratios[ratios["layer"] == onset].iloc[0]
    rise, figures = ("", ()) if kinds is None else _rise_beside(onset, pattern, kinds)
    yield Finding(
        f"From layer {onset} on, |dL/da| towards {pattern.target} is small: {percent(there['value'])} of that towards "
        f"other tokens in this layer, surely below {percent(SMALL)} in all later ones{rise}",
        there["value"],
        (there["low"], there["high"]),
        untrained=there[CONTROL] if controlled(ratios) else None,
        evidence=figures,
    )


def _rise_beside(onset: int, pattern: Pattern, kinds: pd.DataFrame) -> tuple[str, tuple[str, ...]]:
    """Whether attention rises most where gradients become small, and by how much; nothing if no layer surely does."""
    rises = kinds[kinds["kind"] == f"{pattern.key}_rise"].dropna(subset="value")
    if rises.empty:
        return "", ()
    top = rises.iloc[int(rises["value"].argmax())]
    if top["low"] <= max(0.0, rises[rises["layer"] != top["layer"]]["high"].max()):
        return "", ()
    where = "in this layer too" if top["layer"] == onset else f"in layer {top['layer']:.0f}"
    points, low, high = (f"{100 * top[name]:.0f}" for name in ("value", "low", "high"))
    rise = f"rise of {points} points, 95 % CI {low} to {high}"
    return f"; attention to {pattern.target} rises most {where}", (rise,)
