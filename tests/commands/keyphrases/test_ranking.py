"""The ranking of heads against a slow reading of its definition, and which heads its controls keep from a name."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.metrics import average_precision_score

from headatlas.commands.keyphrases.ranking import SHUFFLES, HeadRanking
from headatlas.commands.keyphrases.study import KeyTokens
from headatlas.models.stacks import HeadShape
from headatlas.statistics.received import received
from random_maps import batch_of, random_maps
from tests.commands.keyphrases.test_study import make_segment

SEGMENTS = [make_segment(f"0.{n}.{n % 2}", f"0.{n // 2}", n, 9 - n % 3) for n in range(8)]


def table_of(segments, scores=None, rows="all", resamplings=50):
    """The table of random maps, or of made-up received attention."""
    ranking = HeadRanking(rows, seed=3)
    for part in (segments[:3], segments[3:]):
        batch = batch_of(part)
        text = KeyTokens(batch).text
        layers = [received(weights, batch.mask, text, False) for weights in random_maps(batch, 2, 3)]
        arrays = ranking.measure(batch, layers if scores is None else scores(batch))
        ranking.add([segment.document for segment in part], arrays)
    return ranking.table(HeadShape((3, 3)), seed=0, resamplings=resamplings)


@pytest.mark.parametrize("pooling", ["mean", "max"])
def test_values_and_length_are_those_of_a_loop(pooling):
    table = table_of(SEGMENTS).query("pooling == @pooling").set_index(["list", "layer", "head"])
    for layer, head in ((0, 0), (1, 2)):
        of_head, of_length = [], []
        for segment in SEGMENTS:
            weights = random_maps(batch_of([segment]), 2, 3)[layer][0, head].double().numpy()
            column = (weights.mean(0) if pooling == "mean" else weights.max(0))[1:-1][segment.counted]
            lengths = (segment.lengths + 1) / (segment.lengths + 1).sum()
            key = (segment.tags > 0)[segment.counted]
            for scores, found in ((column, of_head), (lengths[segment.counted], of_length)):
                surprise = -np.log(scores[key] / scores.sum()).mean()
                found.append((scores[key].mean() - scores[~key].mean(), average_precision_score(key, scores), surprise))
        for place, name in enumerate(("relative_attention", "average_precision", "cross_entropy")):
            row = table.loc[(name, layer + 1, head + 1)]
            value, length = (np.mean([one[place] for one in part]) for part in (of_head, of_length))
            assert (row["value"], row["length"]) == pytest.approx((value, length), rel=1e-4)
            sign = -1 if name == "cross_entropy" else 1
            assert row["lead"] == pytest.approx(sign * (value - length), rel=1e-3)
            assert row["p_value"] == 1, "four documents are too few to test"
            assert row["low"] <= row["value"] <= row["high"]
    assert table["count"].eq(4).all()


def test_lists_begin_with_the_best_and_names_say_layer_head_and_pooling():
    table = table_of(SEGMENTS)
    assert len(table) == 3 * 2 * 6
    for (name, _), rows in table.groupby(["list", "pooling"]):
        assert rows["rank"].tolist() == list(range(1, 7))
        values = rows["value"].to_numpy()
        assert (np.diff(values) >= 0).all() if name == "cross_entropy" else (np.diff(values) <= 0).all()
    row = table.iloc[0]
    assert row["name"] == f"l_{row['layer']}_h_{row['head']}_{row['pooling']}"


def test_shuffled_labels_are_shifts_of_the_words_that_count():
    batch = batch_of(SEGMENTS[:1])
    (segment,), tokens = SEGMENTS[:1], KeyTokens(batch)
    labels = (segment.tags > 0)[segment.counted]
    shifts = [np.roll(labels, shift).tolist() for shift in range(1, len(labels))]
    counted = 1 + np.flatnonzero(segment.counted)
    for draw in range(SHUFFLES):
        key, other = tokens.shuffled(str(draw))
        assert key[0, counted].tolist() in shifts
        assert (key[0, counted] ^ other[0, counted]).all()
        assert key.sum() == tokens.key.sum()


def test_a_head_is_named_if_it_knows_and_not_if_it_goes_by_length_or_by_chance():
    many = [make_segment(f"1.{n}.0", f"1.{n}", n) for n in range(40)]

    def scores(batch):
        tokens = KeyTokens(batch)
        chance = torch.rand(tokens.key.shape, generator=torch.Generator().manual_seed(1))
        forms = [tokens.key + 0.1 * chance, tokens.lengths, chance, *[chance.flip(1)] * 3]
        layer = torch.stack([form.float() for form in forms], 1)[:, :, None].expand(-1, -1, 4, -1)
        return [layer[:, :3], layer[:, 3:]]

    table = table_of(many, scores, resamplings=200)
    assert set(table[table["named"]]["name"]) == {"l_1_h_1_mean", "l_1_h_1_max"}
    precision = table.query("list == 'average_precision' and pooling == 'mean'").set_index("name")
    assert precision.loc["l_1_h_1_mean", "value"] == pytest.approx(1)
    assert precision.loc["l_1_h_2_mean", "lead"] == pytest.approx(0, abs=1e-6)
    assert precision["shuffled"].iloc[0] < 0.9


def test_documents_without_key_words_make_no_table():
    bare = [make_segment(f"0.{n}.0", f"0.{n}", n) for n in range(4)]
    for segment in bare:
        segment.tags[:] = 0
    assert table_of(bare) is None
