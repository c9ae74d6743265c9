"""The mean gradient by kind against a loop over pairs."""

from __future__ import annotations

import math

import pytest
import torch

from headatlas.models.stacks import HeadShape
from headatlas.models.tiles import Tile
from headatlas.studies.gradients import Gradients, admitted_pairs
from headatlas.studies.study import LayerMap
from random_maps import batch_of, random_segments, segment, table_of

KINDS = {"other": 0, "cls": 1, "sep": 2, "period_comma": 3}


@pytest.mark.parametrize("masked_how", ["not", "causal flag", "model's own mask"])
def test_equals_the_loop_over_admitted_pairs(masked_how):
    segments = random_segments([6, 3, 5], seed=1)
    batch = batch_of(segments)
    size = batch.mask.shape[1]
    gradients = torch.randn(3, 2, size, size, generator=torch.Generator().manual_seed(0))
    window = torch.ones(size, size).tril().triu(-2).bool()
    mask = None
    if masked_how == "model's own mask":
        mask = torch.zeros(1, 1, size, size).masked_fill(~window, torch.finfo(torch.float32).min)

    def admits(i, j):
        return {"not": True, "causal flag": j <= i, "model's own mask": bool(window[i, j])}[masked_how]

    study = Gradients(causal=masked_how != "not")
    study.start(HeadShape((2,)))
    study.see(0, LayerMap(gradients, batch, mask))
    study.end_batch(batch)
    for row in table_of(study).itertuples():
        means = []
        for b, one in enumerate(segments):
            n = len(one)
            pairs = [
                abs(gradients[b, row.head - 1, i, j].item())
                for i in range(n)
                for j in range(n)
                if one.ids[j] == KINDS[row.kind] and admits(i, j)
            ]
            if pairs:
                means.append(sum(pairs) / len(pairs))
        assert row.count == len(means)
        assert row.value == pytest.approx(sum(means) / len(means) if means else math.nan, rel=1e-5, nan_ok=True)


def test_padding_is_never_admitted():
    batch = batch_of([segment([1, 0, 2]), segment([1, 2])])
    admitted = admitted_pairs(Tile(torch.zeros(2, 1, 3, 3)), batch, causal=False)
    assert admitted[1, 0].nonzero().max() == 1
    assert int(admitted.sum()) == 9 + 4
