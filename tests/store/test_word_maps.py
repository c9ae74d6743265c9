"""Maps straight from a model, against loops over tokens."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from headatlas.errors import ModelError, SettingError
from headatlas.store import word_maps as observing
from headatlas.store.word_maps import observe_maps, observe_words, windows
from store.word_maps_by_hand import merged, token_maps, units_by_hand


@pytest.mark.parametrize("family", ["bert", "roberta", "gpt2", "t5", "deberta-v2"])
def test_word_maps_and_states_equal_slow_loops(load_tiny, sample_for, family):
    model = load_tiny(family)
    sample = sample_for(model)
    seen = list(observe_words(model, sample.segments, sample.relations, batch_tokens=60, states=True))
    assert [one.id for one in seen] == [segment.id for segment in sample.segments]
    for segment, found in list(zip(sample.segments, seen, strict=True))[:5]:
        maps, states = token_maps(model, segment)
        groups = units_by_hand(segment, model.kinds(segment.ids))
        expected = merged(maps, groups)
        size = segment.size
        np.testing.assert_allclose(found.maps, expected[:, :size, :size], atol=1e-5)
        np.testing.assert_allclose(found.to_special, expected[:, :size, size:], atol=1e-5)
        np.testing.assert_allclose(found.from_special, expected[:, size:, :size], atol=1e-5)
        means = [states[:, group].mean(1) if group else np.zeros_like(states[:, 0]) for group in groups[:size]]
        np.testing.assert_allclose(found.states, np.stack(means, 1), atol=1e-4)
        assert found.words == segment.text
        assert found.heads.tolist() == segment.heads.tolist()
        assert found.relations == tuple(sample.relations[number] for number in segment.relations)


def test_rows_of_words_with_tokens_sum_to_one(load_tiny, sample_for):
    sample = sample_for(model := load_tiny("bert"))
    for segment, found in zip(sample.segments, observe_words(model, sample.segments, sample.relations), strict=True):
        sums = found.maps.sum(-1) + found.to_special.sum(-1)
        present = np.isin(np.arange(segment.size), segment.words)
        np.testing.assert_allclose(sums, np.broadcast_to(present, sums.shape), atol=1e-5)
    assert not present.all() or any("\u200b" in segment.text for segment in sample.segments)


def test_token_maps_are_the_models_own(load_tiny, sample_for):
    sample = sample_for(model := load_tiny("bert"))
    options = {"batch_tokens": 60, "dtype": "float32", "states": True}
    for segment, found in zip(sample.segments, observe_maps(model, sample.segments, "tokens", **options), strict=True):
        maps, states = token_maps(model, segment)
        np.testing.assert_allclose(found.maps, maps, atol=1e-6)
        np.testing.assert_allclose(found.states, states, atol=1e-5)


def test_the_decoder_of_an_encoder_decoder(load_tiny, sample_for):
    sample = sample_for(model := load_tiny("bart"))
    [first, *_] = observe_words(model, sample.segments, sample.relations, stack="decoder", states=True)
    assert first.maps.shape[0] == 3 * 4
    assert first.states.shape[0] == 4
    assert not np.triu(first.maps, 1).any()


def test_windows_do_not_change_the_order(load_tiny, sample_for, monkeypatch):
    sample = sample_for(model := load_tiny("bert"))
    whole = list(observe_words(model, sample.segments, sample.relations))
    monkeypatch.setattr(observing, "WINDOW_BYTES", 4000)
    told = []
    pieces = list(observe_words(model, sample.segments, sample.relations, advance=told.append))
    assert len(told) > 3
    assert sum(told) == sum(map(len, sample.segments))
    for one, other in zip(whole, pieces, strict=True):
        assert one.id == other.id
        np.testing.assert_allclose(one.maps, other.maps, atol=1e-5)


def test_numbers_that_are_not_finite_are_refused(load_tiny, sample_for, monkeypatch):
    sample = sample_for(model := load_tiny("bert"))
    observe = type(model).observe

    def huge(self, batch, see, stack=None, see_states=None):
        states = see_states and (lambda layers: see_states([layer * 1e6 for layer in layers]))
        observe(self, batch, see, stack, states)

    monkeypatch.setattr(type(model), "observe", huge)
    with pytest.raises(ModelError, match=r"hidden states of example 0\.0\.\d.*--dtype-stored float32"):
        list(observe_words(model, sample.segments, sample.relations, states=True, dtype="float16"))
    list(observe_words(model, sample.segments, sample.relations, states=True, dtype="float32"))

    def damaged(self, batch, see, stack=None, _see_states=None):
        observe(self, batch, lambda layer, weights, mask: see(layer, weights * torch.nan, mask), stack)

    monkeypatch.setattr(type(model), "observe", damaged)
    with pytest.raises(ModelError, match="attention of example"):
        list(observe_maps(model, sample.segments, "tokens", batch_tokens=60))


def test_text_has_no_words(load_tiny, segments_for):
    model = load_tiny("bert")
    with pytest.raises(SettingError, match="need a treebank"):
        list(observe_maps(model, segments_for(model.tokenizer), "words", batch_tokens=60))


@given(st.lists(st.integers(1, 9)), st.integers(1, 20))
def test_windows_cover_all_in_order_within_the_budget(sizes, budget):
    found = list(windows(sizes, budget))
    assert [place for window in found for place in window] == list(range(len(sizes)))
    assert all(len(window) == 1 or sum(sizes[place] for place in window) <= budget for window in found)
    for window, after in pairwise(found):
        assert sum(sizes[place] for place in window) + sizes[after.start] > budget
