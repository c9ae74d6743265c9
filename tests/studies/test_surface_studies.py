"""Positions, token kinds, entropy and largest weights against slow loops over single maps."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from headatlas.models.stacks import HeadShape
from headatlas.studies.entropy import Entropy, uniform_entropy
from headatlas.studies.max_attention import MaxAttention
from headatlas.studies.positions import Positions
from headatlas.studies.study import LayerMap
from headatlas.studies.token_kinds import TokenKinds
from random_maps import batch_of, random_maps, random_segments, segment, table_of

SEGMENTS = random_segments([9, 4, 6, 7], seed=3)
CLS, SEP = 1, 2


@pytest.fixture(scope="module")
def maps():
    """The map of every segment and head: {segment: [H, n, n]}, float64."""
    batch = batch_of(SEGMENTS)
    weights = random_maps(batch)[0].double()
    return {one.id: weights[row, :, : len(one), : len(one)].numpy() for row, one in enumerate(batch.segments)}


def seen_table(study):
    batch = batch_of(SEGMENTS)
    study.start(HeadShape((3,)))
    study.see(0, LayerMap(random_maps(batch)[0], batch, None))
    study.end_batch(batch)
    return table_of(study)


def mean_over_segments(values):
    known = [value for value in values if value is not None]
    return (sum(known) / len(known) if known else math.nan), len(known)


def test_positions(maps):
    table = seen_table(Positions())
    assert len(table) == 9
    for row in table.itertuples():
        per_segment = []
        for one in SEGMENTS:
            a, n = maps[one.id][row.head - 1], len(one)
            per_segment.append(sum(a[i, i + row.offset] for i in range(n) if 0 <= i + row.offset < n) / n)
        expected, count = mean_over_segments(per_segment)
        assert row.value == pytest.approx(expected, rel=1e-5)
        assert row.count == count == 4


def test_token_kinds(maps):
    wanted = {"cls": [1], "sep": [2], "period_comma": [3], "other": [0]}
    for row in seen_table(TokenKinds()).itertuples():
        per_segment = []
        for one in SEGMENTS:
            a, kinds = maps[one.id][row.head - 1], one.ids
            n = len(kinds)
            if row.kind in wanted:
                exists = row.kind in ("period_comma", "other") or np.isin(kinds, wanted[row.kind]).any()
                to_kind = sum(a[i, j] for i in range(n) for j in range(n) if kinds[j] in wanted[row.kind])
                per_segment.append(to_kind / n if exists else None)
                continue
            rows = [i for i in range(n) if (kinds[i] == SEP) == (row.kind == "sep_to_sep")]
            to_sep = [sum(a[i, j] for j in range(n) if kinds[j] == SEP) for i in rows]
            per_segment.append(sum(to_sep) / len(rows) if rows and SEP in kinds else None)
        expected, count = mean_over_segments(per_segment)
        assert row.count == count
        assert row.value == pytest.approx(expected, rel=1e-5, nan_ok=True)


def test_kinds_share_out_all_attention():
    with_both = [one for one in SEGMENTS if {CLS, SEP} <= set(one.ids.tolist())]
    study = TokenKinds()
    study.start(HeadShape((3,)))
    batch = batch_of(with_both)
    study.see(0, LayerMap(random_maps(batch)[0], batch, None))
    study.end_batch(batch)
    shares = table_of(study).query("kind in ['cls', 'sep', 'period_comma', 'other']").groupby("head")["value"].sum()
    np.testing.assert_allclose(shares, 1, rtol=1e-6)


def test_a_model_without_separator_has_no_value_rather_than_zero():
    study = TokenKinds()
    study.start(HeadShape((3,)))
    batch = batch_of([segment([0, 0, 3, 0])])
    study.see(0, LayerMap(random_maps(batch)[0], batch, None))
    study.end_batch(batch)
    table = table_of(study).set_index(["head", "kind"])
    for kind in ("cls", "sep", "sep_to_sep", "other_to_sep"):
        assert math.isnan(table.loc[(1, kind), "value"])
        assert table.loc[(1, kind), "count"] == 0
    assert table.loc[(1, "other"), "value"] + table.loc[(1, "period_comma"), "value"] == pytest.approx(1)


def test_entropy(maps):
    def entropy(row):
        return -sum(w * math.log(w) for w in row / row.sum() if w > 0)

    for row in seen_table(Entropy()).itertuples():
        values, uniform = [], []
        for one in SEGMENTS:
            a = maps[one.id][row.head - 1]
            rows = [i for i in range(len(one)) if row.source == "all" or one.ids[i] == CLS]
            values.append(sum(entropy(a[i]) for i in rows) / len(rows) if rows else None)
            uniform.append(math.log(len(one)) if rows else None)
        assert row.nats == pytest.approx(mean_over_segments(values)[0], rel=1e-5)
        assert row.uniform_nats == pytest.approx(mean_over_segments(uniform)[0])
        assert row.count == mean_over_segments(values)[1]


@pytest.mark.parametrize("causal", [False, True])
def test_uniform_entropy_is_that_of_uniform_maps(causal):
    batch = batch_of([segment([1, 0, 0, 3, 2]), segment([1, 0, 2])])
    ones = torch.ones(2, 1, 5, 5) * batch.mask[:, None, None]
    uniform = ones.tril() if causal else ones
    uniform = uniform / uniform.sum(-1, keepdim=True)
    study = Entropy(causal=causal)
    study.start(HeadShape((1,)))
    study.see(0, LayerMap(uniform, batch, None))
    study.end_batch(batch)
    table = table_of(study)
    np.testing.assert_allclose(table["nats"], table["uniform_nats"], rtol=1e-5, atol=1e-7)
    assert uniform_entropy(batch, causal).shape == (2, 2)


def test_max_attention(maps):
    for row in seen_table(MaxAttention()).itertuples():
        largest = [maps[one.id][row.head - 1].max(axis=1) for one in SEGMENTS]
        assert row.value == pytest.approx(np.mean([values.mean() for values in largest]), rel=1e-5)
        assert row.highest == pytest.approx(max(values.max() for values in largest), rel=1e-6)
