"""The keyphrase study against a slow reading of its definition, and its sums when merged, saved and halved."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.metrics import average_precision_score

from headatlas.commands.keyphrases.segments import KeyphraseSegment
from headatlas.commands.keyphrases.study import Keyphrases, best_head_finding
from headatlas.models.stacks import HeadShape
from headatlas.statistics.resampling import fold_of
from headatlas.studies.study import LayerMap
from random_maps import batch_of, random_maps, table_of

LAYERS, HEADS = 2, 3


def make_segment(name, document, seed, size=9):
    rng = np.random.default_rng(seed)
    ids = np.array([1, *[0] * size, 2], dtype=np.int32)
    words = np.array([-1, *range(size), -1], dtype=np.int32)
    tags = rng.choice([0, 1, 2], size=size)
    tags[:2] = 0, 1
    counted = np.ones(size, dtype=np.bool_)
    counted[size - 2 :] = False
    text = tuple("abcdefghi"[:size])
    lengths = rng.integers(0, 4, size=size)
    return KeyphraseSegment(name, ids, np.zeros_like(ids), words, text, document, 0, tags, counted, lengths)


SEGMENTS = [make_segment(f"0.{n}.0", f"0.{n // 2}", n, 9 - n % 3) for n in range(8)]


def seen(segments, sizes=(8,), resampled_by="input", **options):
    study = Keyphrases(replicates=50, **options)
    study.resampled_by = resampled_by
    study.start(HeadShape((HEADS,) * LAYERS))
    rest = list(segments)
    for size in sizes:
        batch = batch_of(rest[:size])
        rest = rest[size:]
        for layer, weights in enumerate(random_maps(batch, LAYERS, HEADS)):
            study.see(layer, LayerMap(weights, batch, None))
        study.end_batch(batch)
    return study


def oracle(layer, head, pooling, rows):
    """Relative attention and average precision of each segment, in double."""
    found = []
    for segment in SEGMENTS:
        batch = batch_of([segment])
        weights = random_maps(batch, LAYERS, HEADS)[layer][0, head].double().numpy()
        kept = weights[1:-1] if rows == "text" else weights
        column = (kept.mean(0) if pooling == "mean" else kept.max(0))[1:-1]
        key = (segment.tags > 0)[segment.counted]
        scores = column[segment.counted]
        relative = scores[key].mean() - scores[~key].mean()
        surprise = -np.log(scores[key] / scores.sum()).mean()
        found.append((relative, average_precision_score(key, scores), surprise))
    return np.array(found)


@pytest.mark.parametrize("rows", ["all", "text"])
@pytest.mark.parametrize("pooling", ["mean", "max"])
def test_the_table_is_that_of_a_loop(pooling, rows):
    table = table_of(seen(SEGMENTS)).query("pooling == @pooling and rows == @rows").set_index(["layer", "head"])
    halves = np.array([fold_of(segment.document, 0) for segment in SEGMENTS])
    for layer in range(LAYERS):
        for head in range(HEADS):
            expected = oracle(layer, head, pooling, rows)
            row = table.loc[(layer + 1, head + 1)]
            columns = ["relative_attention", "average_precision", "cross_entropy"]
            np.testing.assert_allclose(row[columns].astype(float), expected.mean(0), rtol=1e-5)
            assert row["first_half"] == pytest.approx(expected[halves == 0, 1].mean(), rel=1e-5)
            assert row["second_half"] == pytest.approx(expected[halves == 1, 1].mean(), rel=1e-5)
            assert row["low"] <= row["average_precision"] <= row["high"]
    assert (table["count"] == len(SEGMENTS)).all()


def test_length_and_shuffled_labels_stand_beside():
    study = seen(SEGMENTS)
    table = table_of(study)
    lengths = [
        average_precision_score((segment.tags > 0)[segment.counted], segment.lengths[segment.counted])
        for segment in SEGMENTS
    ]
    np.testing.assert_allclose(table["length"], np.mean(lengths), rtol=1e-5)
    assert not np.allclose(table["shuffled"], table["average_precision"])


def test_the_best_head_of_a_half_is_scored_on_the_other():
    frames = seen(SEGMENTS).frames()
    heads, best = frames["keyphrase_heads"], frames["keyphrase_best"].set_index("chosen_on")
    halves = np.array([fold_of(segment.document, 0) for segment in SEGMENTS])
    lengths = np.array(
        [
            average_precision_score((segment.tags > 0)[segment.counted], segment.lengths[segment.counted])
            for segment in SEGMENTS
        ]
    )
    for half, other, fold in (("first", "second", 1), ("second", "first", 0)):
        chosen = heads.loc[heads[f"{half}_half"].idxmax()]
        row = best.loc[half]
        assert (
            row[["layer", "head", "pooling", "rows"]].tolist() == chosen[["layer", "head", "pooling", "rows"]].tolist()
        )
        assert row["held_out"] == pytest.approx(chosen[f"{other}_half"])
        assert row["lead"] == pytest.approx(chosen[f"{other}_half"] - lengths[halves == fold].mean(), rel=1e-4)
        assert row["lead_low"] <= row["lead"] <= row["lead_high"]
        assert row["shuffled"] == heads["shuffled"].max()


def best_rows(**values):
    usual = {"layer": 5, "head": 4, "held_out": 0.5, "low": 0.45, "high": 0.55, "lead": 0.1, "shuffled": 0.3}
    return pd.DataFrame([{"chosen_on": half, **usual, **values} for half in ("first", "second")])


@pytest.mark.parametrize(
    ("values", "named"),
    [({"lead_low": 0.05}, True), ({"lead_low": -0.01}, False), ({"lead_low": 0.05, "shuffled": 0.46}, False)],
)
def test_a_head_is_named_only_beyond_length_and_shuffled_labels(values, named):
    heads = pd.DataFrame({"length": [0.4], "key_share": [0.2]})
    finding = best_head_finding(best_rows(**values), heads)
    sentence = str(finding)
    assert ("head 5-4" in sentence) == named
    assert finding.heads == (((5, 4),) if named else ())
    assert sentence.startswith("Ranked by" if named else "No head surely ranks")
    for said in ("0.50 (95 % CI 0.45 to 0.55;", "length of the phrase between stop words 0.40", "chance 0.20"):
        assert said in sentence


def test_parts_merge_to_the_whole_and_states_come_back():
    whole = seen(SEGMENTS)
    one, other = seen(SEGMENTS[:3], (2, 1)), seen(SEGMENTS[3:], (5,))
    one.merge(other)
    for name, array in whole.state().items():
        np.testing.assert_allclose(one.state()[name], array, rtol=1e-9)
    restored = seen([], ())
    restored.restore(whole.state())
    assert table_of(restored).equals(table_of(whole))


def test_windows_of_one_document_are_drawn_together():
    study = seen(SEGMENTS, resampled_by="document")
    counts = study.state()["drawn_count"][:, 0]
    assert (counts % 2 == 0).all()
    assert len(set(counts)) > 1


def test_replicates_are_of_the_average_precision_in_the_rows_order():
    study = seen(SEGMENTS)
    table, drawn = table_of(study), study.replicates()["keyphrase_heads"]
    assert drawn.shape == (50, len(table))
    middle = np.nanmean(drawn, axis=0)
    assert np.corrcoef(middle, table["average_precision"])[0, 1] > 0.99


def test_a_segment_without_key_tokens_counts_nowhere():
    bare = make_segment("1.0.0", "1.0", 0)
    bare.tags[:] = 0
    batch = batch_of([bare])
    study = Keyphrases(replicates=5)
    assert not study.counted(batch).any()
    assert torch.isfinite(study.segment_means(LayerMap(random_maps(batch)[0], batch, None))).all()


def test_segments_of_another_corpus_are_refused():
    from random_maps import random_segments

    with pytest.raises(TypeError, match="not of the kind KeyphraseSegment"):
        Keyphrases().counted(batch_of(random_segments([4])))
