"""The simulations of `benchmarks/calibration.py`, a few runs of each: what is stated holds, and a defect is seen."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from benchmarks import calibration_halves
from benchmarks.calibration import _accuracies, _best_heads, _comparisons, _layers, _means
from benchmarks.calibration_commands import _attachment, _bleu, _leads, _orders
from benchmarks.calibration_row import GOAL, Row, markdown
from headatlas.corpora.sample import sample_text
from headatlas.engine.corpora import KINDS, Reading

RUNS = 200


@pytest.mark.parametrize("skewed", [False, True])
def test_means_over_documents_hold(skewed):
    assert _means(np.random.default_rng(0), 20, 0.25, skewed, RUNS).holds


def test_means_over_segments_do_not(monkeypatch):
    """If segments were resampled as if they were independent, the simulation would say so."""
    monkeypatch.setattr("headatlas.studies.study.document_of", lambda segment: segment.id)
    row = _means(np.random.default_rng(0), 60, 0.25, False, RUNS)
    assert row.measured < GOAL
    assert not row.holds


@pytest.mark.parametrize("share", [0.03, 0.3, 0.97])
def test_accuracies_hold(share):
    assert _accuracies(np.random.default_rng(1), 20, share, 0.1, RUNS).holds


def test_best_heads_pass_by_chance_as_often_as_stated():
    rng = np.random.default_rng(2)
    rows = list(_best_heads(rng, 12, "document", 60))
    assert all(row.holds for row in rows)
    assert rows[-2].measured < GOAL, "the best of many heads was lucky, which its interval does not know"
    assert rows[-1].measured < 0.7, "held out, it is not"
    by_sentence, _ = _best_heads(rng, 12, "sentence", 60)
    assert by_sentence.warned
    assert by_sentence.measured > 0.1


@pytest.mark.parametrize("paired", [True, False])
def test_comparisons_hold(paired):
    assert all(row.holds for row in _comparisons(np.random.default_rng(3), paired, 40))


def test_layers_hold():
    assert all(row.holds for row in _layers(np.random.default_rng(4), 60))


def test_commands_hold():
    rng = np.random.default_rng(5)
    rows = [_attachment(rng, 20, 100), *_orders(rng, 5, 60), *_leads(rng, 30, 30), *_bleu(rng, 32, 6)]
    assert [row for row in rows if not row.holds] == []


def test_attachment_scores_over_sentences_do_not(monkeypatch):
    monkeypatch.setattr("headatlas.probes.attachment.bootstrap_units", list)
    assert not _attachment(np.random.default_rng(5), 20, 100).holds


def test_means_of_halves_are_added_up_as_shards_are_merged(monkeypatch, load_tiny):
    """The sums of documents, weighted here, give the differences that merging their studies gives."""
    monkeypatch.setattr(calibration_halves, "MEANS", ("entropy",))
    monkeypatch.setattr(calibration_halves, "MERGED", ("entropy",))
    monkeypatch.setattr(calibration_halves, "REPLICATES", calibration_halves.REPLICATES_MERGED)
    model = load_tiny("bert")
    corpus = KINDS["text"]().read([sample_text()], model.tokenizer, Reading(max_tokens=32, segments=12))
    documents = [[replace(segment, id=f"0.{number}.0")] for number, segment in enumerate(corpus.segments)]
    (added,) = calibration_halves.mean_differences(model, corpus, documents, 1)
    (merged,) = calibration_halves.merged_differences(model, corpus, documents, "text", 1)
    pd.testing.assert_frame_equal(added, merged)


def test_the_table_has_a_line_for_each_row():
    lines = markdown([Row("an interval", "20 documents", 0.95, 0.9412, 1000)]).splitlines()
    assert lines[-1] == "| an interval | 20 documents | 0.95 | 0.941 | 1,000 | yes |"
