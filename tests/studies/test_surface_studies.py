"""Positions, token kinds, entropy and largest weights against slow loops over single maps."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from headatlas.models.stacks import HeadShape
from headatlas.studies.entropy import Entropy
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
    def kind_of(kinds, j):
        """What the token in a place counts as: an ordinary first token is a kind of its own."""
        return "first" if j == 0 and kinds[0] not in (CLS, SEP) else ("other", "cls", "sep", "period_comma")[kinds[j]]

    together = {"resting": {"cls", "sep", "first"}}
    for row in seen_table(TokenKinds()).itertuples():
        per_segment = []
        for one in SEGMENTS:
            a, kinds = maps[one.id][row.head - 1], one.ids
            n = len(kinds)
            if not row.kind.endswith("to_sep"):
                wanted = [j for j in range(n) if kind_of(kinds, j) in together.get(row.kind, {row.kind})]
                to_kind = sum(a[i, j] for i in range(n) for j in wanted)
                per_segment.append(to_kind / n if wanted or row.kind in ("period_comma", "other") else None)
                continue
            rows = [i for i in range(n) if (kinds[i] == SEP) == (row.kind == "sep_to_sep")]
            to_sep = [sum(a[i, j] for j in range(n) if kinds[j] == SEP) for i in rows]
            per_segment.append(sum(to_sep) / len(rows) if rows and SEP in kinds else None)
        expected, count = mean_over_segments(per_segment)
        assert row.count == count
        assert row.value == pytest.approx(expected, rel=1e-5, nan_ok=True)


def test_kinds_share_out_all_attention():
    for one in SEGMENTS:
        study = TokenKinds()
        study.start(HeadShape((3,)))
        batch = batch_of([one])
        study.see(0, LayerMap(random_maps(batch)[0], batch, None))
        study.end_batch(batch)
        parts = table_of(study).query("kind in ['cls', 'sep', 'first', 'period_comma', 'other']")
        shares = parts.groupby("head")["value"].sum()
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
    assert table.loc[(1, "first"), "value"] == table.loc[(1, "resting"), "value"] > 0


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
        assert row.value == pytest.approx(mean_over_segments(values)[0], rel=1e-5)
        assert row.expected == pytest.approx(mean_over_segments(uniform)[0])
        assert row.count == mean_over_segments(values)[1]


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("study", [Positions, TokenKinds, Entropy, MaxAttention])
def test_what_uniform_attention_gives_is_what_the_study_says_of_uniform_maps(study, causal):
    """By a loop over rows; segments of other lengths and without [SEP] count as they do for the model's own maps."""
    segments = [segment([1, 0, 0, 3, 2, 0, 2], "a.0"), segment([1, 0, 2], "b.0"), segment([0, 3, 0, 0], "c.0")]
    batch = batch_of(segments)
    uniform = torch.zeros(3, 1, 7, 7)
    for number, one in enumerate(segments):
        for row in range(len(one)):
            reach = row + 1 if causal else len(one)
            uniform[number, 0, row, :reach] = 1 / reach
    made = study(causal=causal)
    made.start(HeadShape((1,)))
    made.see(0, LayerMap(uniform, batch, None))
    made.end_batch(batch)
    table = table_of(made)
    np.testing.assert_allclose(table["value"], table["expected"], rtol=1e-6, atol=1e-7)


def test_expected_shares_by_hand():
    """Five tokens, [SEP] third and last, a comma second, seen by all or by those after them."""
    shares = {}
    for causal in (False, True):
        study = TokenKinds(causal=causal)
        study.start(HeadShape((3,)))
        batch = batch_of([segment([1, 3, 2, 0, 2])])
        study.see(0, LayerMap(random_maps(batch)[0], batch, None))
        study.end_batch(batch)
        shares[causal] = table_of(study).query("head == 2").set_index("kind")["expected"]
    everyone = {"cls": 1 / 5, "sep": 2 / 5, "first": math.nan, "period_comma": 1 / 5, "other": 1 / 5, "resting": 3 / 5}
    everyone |= {"sep_to_sep": 2 / 5, "other_to_sep": 2 / 5}
    assert shares[False].to_dict() == pytest.approx(everyone, nan_ok=True)
    before = {
        "cls": (1 + 1 / 2 + 1 / 3 + 1 / 4 + 1 / 5) / 5,
        "sep": (1 / 3 + 1 / 4 + 2 / 5) / 5,
        "period_comma": (1 / 2 + 1 / 3 + 1 / 4 + 1 / 5) / 5,
        "other": (1 / 4 + 1 / 5) / 5,
        "first": math.nan,
        "sep_to_sep": (1 / 3 + 2 / 5) / 2,
        "other_to_sep": (1 / 4) / 3,
        "resting": (1 + 1 / 2 + 2 / 3 + 2 / 4 + 3 / 5) / 5,
    }
    assert shares[True].to_dict() == pytest.approx(before, nan_ok=True)


def test_max_attention(maps):
    for row in seen_table(MaxAttention()).itertuples():
        largest = [maps[one.id][row.head - 1].max(axis=1) for one in SEGMENTS]
        assert row.value == pytest.approx(np.mean([values.mean() for values in largest]), rel=1e-5)
        assert row.highest == pytest.approx(max(values.max() for values in largest), rel=1e-6)
