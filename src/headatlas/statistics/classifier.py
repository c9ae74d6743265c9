"""A head as a classifier without training: which other word does a word attend to most? (paper, section 4.2)

Two directions. *Dependent to head*: the word that a word attends to most is predicted to be its head (row argmax).
*Head to dependent*: the word that attends to a word most is predicted to be its head (column argmax).

A word is never its own candidate. Where all candidates have attention exactly 0 there is no prediction, rather than
whichever word comes first: so for the first word of a causal model, for a word without tokens and for a word alone in
its sentence. Of candidates with the same attention the first in the sentence is predicted.
"""

from __future__ import annotations

import torch
from torch import Tensor

NO_PREDICTION = -1


def predictions(maps: Tensor, candidates: Tensor) -> tuple[Tensor, Tensor]:
    """Predicted words by row and by column argmax: two of [B, H, W] int32, NO_PREDICTION where there is none.

    maps: [B, H, W, W], from `word_attention`. candidates: [B, W] bool, which words predict and can be predicted.
    """
    if maps.device.type == "cpu" and maps.dtype == torch.float32:
        from headatlas.statistics.kernels.words import predictions_cpu

        return predictions_cpu(maps, candidates)
    return predictions_torch(maps, candidates)


def predictions_torch(maps: Tensor, candidates: Tensor) -> tuple[Tensor, Tensor]:
    """The same with tensor operations, for any device and dtype."""
    pairs = candidates[:, :, None] & candidates[:, None, :]  # [B, W, W]
    pairs = pairs & ~torch.eye(pairs.shape[-1], dtype=torch.bool, device=pairs.device)
    maps = maps.masked_fill(~pairs[:, None], 0)
    return _largest(maps), _largest(maps.transpose(-1, -2))


def _largest(maps: Tensor) -> Tensor:
    weight, place = maps.max(-1)  # the first of equals
    return place.masked_fill(weight <= 0, NO_PREDICTION).int()
