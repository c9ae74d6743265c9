"""Stored maps are checked as they are read: a checksum shows what has changed, not what was wrong before."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from headatlas.choices import Level
from headatlas.encoding.kinds import TokenKind
from headatlas.encoding.template import SPECIAL
from headatlas.store.examples import StoredExample, units_of

ROW_TOLERANCE = 0.01  # how far from 1 a row may sum: float16 and printed numbers are rounded

Rows = NDArray[np.float32] | float
"""The least that each row of an example's maps sums to, [n], or one number for all rows."""


def least_sums(example: StoredExample, level: Level, sink: bool) -> Rows:
    """What the rows sum to: 1; less where the model has a learned sink, or where not every token stands for a unit.

    Between words, a word without tokens has a row of zeros, and so has [CLS] or [SEP] of a model that has none; what
    goes to any other special token is not kept.
    """
    if sink:
        return 0.0
    if level == "tokens" or example.words is None:
        return 1.0
    special = example.word_of == SPECIAL
    if not np.isin(example.kinds[special], (TokenKind.CLS, TokenKind.SEP)).all():
        return 0.0
    least = np.zeros(units_of(example, level), dtype=np.float32)
    least[example.word_of[~special]] = 1
    least[len(example.words) :] = [kind in example.kinds[special] for kind in (TokenKind.CLS, TokenKind.SEP)]
    return least


def is_attention(maps: NDArray[np.floating], least: Rows) -> bool:
    """Whether maps as a store has them, [A, n, n], are surely attention weights. A quick look; `find_defect` decides.

    Read as integers, numbers from 0 to 1 are the smallest: below the negative, the infinite and those that are NaN.
    """
    if not maps.size:
        return True
    integers = np.dtype(f"u{maps.itemsize}")
    if maps.view(integers).max() > np.array(1 + ROW_TOLERANCE, maps.dtype).view(integers):
        return False
    sums = torch.from_numpy(maps).float().sum(-1).numpy()
    return bool((sums <= 1 + ROW_TOLERANCE).all() and (sums >= least - np.float32(ROW_TOLERANCE)).all())


def is_finite(numbers: NDArray[np.floating]) -> bool:
    """Whether no number is NaN or infinite: a sum shows either, but may itself become too large."""
    return bool(torch.from_numpy(numbers).float().sum().isfinite()) or bool(np.isfinite(numbers).all())


def find_defect(maps: NDArray[np.floating], least: Rows = 1.0) -> tuple[int, str] | None:
    """The first head, from 0, with maps that are not attention weights, and why; None if all are. maps: [A, n, n]."""
    with np.errstate(invalid="ignore", over="ignore"):  # reported in words, right below
        sums = maps.sum(-1, dtype=np.float32)
    finite = np.isfinite(sums)
    if not finite.all():
        return int(np.argwhere(~finite)[0, 0]), "has a weight that is NaN or infinite"
    if (negative := maps.min(-1) < 0).any():
        return int(np.argwhere(negative)[0, 0]), "has negative weights"
    if (wrong := (sums < least - np.float32(ROW_TOLERANCE)) | (sums > 1 + ROW_TOLERANCE)).any():
        return int(np.argwhere(wrong)[0, 0]), f"has a row that sums to {sums[wrong][0]:.3f}, not 1"
    return None
