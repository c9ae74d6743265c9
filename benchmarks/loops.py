"""The three surface studies on given maps against the straightforward loop: numpy, a head at a time."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.measuring import STUDIED, Result, random_batch, ratio
from headatlas.encoding.batches import Batch
from headatlas.encoding.kinds import TokenKind
from headatlas.models.loading import load_model
from headatlas.models.stacks import HeadShape
from headatlas.studies import STUDIES
from headatlas.studies.study import LayerMap

GOAL = 10.0
LAYERS, HEADS, ROWS, TOKENS = 12, 12, 8, 128


def measure(quick: bool) -> Result:
    """Time of the loop over time of the studies, on the maps of a 144-head model."""
    batch = random_batch(load_model("embedded", device="cpu"), ROWS, TOKENS)
    dice = torch.Generator().manual_seed(0)
    maps = [(2 * torch.randn(ROWS, HEADS, TOKENS, TOKENS, generator=dice)).softmax(-1) for _ in range(LAYERS)]
    stored = np.stack([layer.numpy() for layer in maps], axis=1)  # [B, L, H, Q, K]
    times = ratio(lambda: _loop(stored, batch), lambda: _studies(maps, batch), rounds=5 if quick else 15)
    return Result("loops", times, GOAL, at_least=True)


def _studies(maps: list[torch.Tensor], batch: Batch) -> None:
    studies = [STUDIES[name]() for name in STUDIED]
    for study in studies:
        study.start(HeadShape((HEADS,) * LAYERS))
    for layer, weights in enumerate(maps):
        layer_map = LayerMap(weights, batch, None)
        for study in studies:
            study.see(layer, layer_map)
    for study in studies:
        study.end_batch(batch)


def _loop(stored: NDArray[np.float32], batch: Batch) -> NDArray[np.float64]:
    """What a notebook would do with saved maps."""
    out = np.zeros((LAYERS, HEADS, 11))
    for segment, maps in zip(batch.segments, stored, strict=True):
        kinds = batch.kinds[0].numpy()[: len(segment)]
        columns = [kinds == kind for kind in (TokenKind.CLS, TokenKind.SEP, TokenKind.PERIOD_COMMA, TokenKind.OTHER)]
        sep = kinds == TokenKind.SEP
        n = len(segment)
        for layer in range(LAYERS):
            for head in range(HEADS):
                a = maps[layer, head]
                plogp = np.where(a > 0, a * np.log(np.where(a > 0, a, 1)), 0)
                out[layer, head] += (
                    *(np.diagonal(a, offset).sum() / n for offset in (-1, 0, 1)),
                    *(a[:, column].sum(-1).mean() for column in columns),
                    a[sep][:, sep].sum(-1).mean(),
                    a[~sep][:, sep].sum(-1).mean(),
                    -plogp.sum(-1).mean(),
                    -plogp[0].sum(),
                )
    return out / len(batch.segments)
