"""The simulations of `benchmarks/calibration.py`, a few runs of each: what is stated holds, and a defect is seen."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.calibration import GOAL, Row, _accuracies, _best_heads, _comparisons, _layers, _means, markdown

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
    assert all(row.holds for row in _best_heads(rng, 12, "document", 60))
    by_sentence, _ = _best_heads(rng, 12, "sentence", 60)
    assert by_sentence.warned
    assert by_sentence.measured > 0.1


@pytest.mark.parametrize("paired", [True, False])
def test_comparisons_hold(paired):
    assert all(row.holds for row in _comparisons(np.random.default_rng(3), paired, 40))


def test_layers_hold():
    assert all(row.holds for row in _layers(np.random.default_rng(4), 60))


def test_the_table_has_a_line_for_each_row():
    lines = markdown([Row("an interval", "20 documents", 0.95, 0.9412, 1000)]).splitlines()
    assert lines[-1] == "| an interval | 20 documents | 0.95 | 0.941 | 1,000 | yes |"
