"""What words receive, against whole maps taken one document at a time."""

from __future__ import annotations

from collections import Counter
from itertools import islice

import numpy as np
import pytest
from scipy.stats import spearmanr

from headatlas.commands.keyphrases.candidates import between_stop_words, find_candidates, score_candidates
from headatlas.commands.keyphrases.choosing import shipped
from headatlas.commands.keyphrases.methods import combined
from headatlas.commands.keyphrases.phrases import is_sign
from headatlas.commands.keyphrases.segments import text_windows
from headatlas.commands.keyphrases.word_weights import encode_documents, uniform_weights, word_weights
from headatlas.corpora.sample import sample_text
from headatlas.corpora.text import read_text
from headatlas.encoding.batches import make_batch
from headatlas.errors import CorpusError
from tests.commands.keyphrases.made_up import TEXTS, document

DOCUMENTS = [document(text, name=f"0.{number}") for number, (text, _) in enumerate(TEXTS)]


def weights_of(model, documents, **options):
    usual = {"pooling": "mean", "rows": "all", "batch_tokens": 60}
    segments = encode_documents(
        documents, model.tokenizer, options.pop("max_tokens", 64), options.pop("left_out", Counter())
    )
    return word_weights(model, documents, segments, stack=model.default_stack, **usual | options)


def by_hand(model, one, pooling, rows):
    """[words, heads] of one document, from its whole maps."""
    (segment,) = text_windows([one.id], [one.words], model.tokenizer, 64, Counter())
    maps = []
    batch = make_batch([segment], model.kinds, model.pad_id)
    model.observe(batch, lambda _layer, weights, _mask: maps.append(weights[0].double().numpy()))
    maps = np.concatenate(maps)  # [heads, n, n]
    text = segment.words >= 0
    causal = model.default_stack == "decoder"
    found = np.zeros((len(one.words), len(maps)))
    for token, word in enumerate(segment.words):
        if word < 0:
            continue
        attending = [
            row for row in range(len(segment)) if (rows == "all" or text[row]) and (row >= token or not causal)
        ]
        column = maps[:, attending, token]
        if pooling == "mean":
            found[word] += column.sum(1)  # the mean times the rows
        else:
            found[word] = np.maximum(found[word], column.max(1))
    return found


@pytest.mark.parametrize("rows", ["all", "text"])
@pytest.mark.parametrize("pooling", ["mean", "max"])
@pytest.mark.parametrize("family", ["bert", "gpt2"])
def test_words_receive_what_their_tokens_do(family, pooling, rows, load_tiny):
    model = load_tiny(family)
    for one, found in zip(DOCUMENTS, weights_of(model, DOCUMENTS, pooling=pooling, rows=rows), strict=True):
        np.testing.assert_allclose(found, by_hand(model, one, pooling, rows), atol=1e-5)


@pytest.mark.parametrize("rows", ["all", "text"])
@pytest.mark.parametrize("pooling", ["mean", "max"])
@pytest.mark.parametrize("family", ["bert", "gpt2"])
def test_uniform_attention_is_that_of_an_even_map(family, pooling, rows, load_tiny):
    model = load_tiny(family)
    causal = model.default_stack == "decoder"
    options = {"pooling": pooling, "rows": rows, "stack": model.default_stack}
    segments = encode_documents(DOCUMENTS, model.tokenizer, 64, Counter())
    even = uniform_weights(DOCUMENTS, segments, **options)
    for one, segment, found in zip(DOCUMENTS, segments, even, strict=True):
        size = len(segment)
        expected = np.zeros(len(one.words))
        for token, word in enumerate(segment.words):
            if word < 0:
                continue
            column = [
                1 / (row + 1 if causal else size)
                for row in range(size)
                if (rows == "all" or segment.words[row] >= 0) and (row >= token or not causal)
            ]
            expected[word] = expected[word] + sum(column) if pooling == "mean" else max(expected[word], *column, 0)
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_in_windows_every_word_has_a_weight(load_tiny):
    left_out = Counter()
    found = weights_of(load_tiny("bert"), DOCUMENTS, max_tokens=12, left_out=left_out)
    assert left_out["document_in_windows"] == len(DOCUMENTS)
    assert all((weights > 0).all() for weights in found)


def test_a_word_of_a_long_document_has_the_weight_that_its_window_gives_it(load_tiny):
    model = load_tiny("bert")
    long = document(" ".join(text for text, _ in TEXTS))
    (found,) = weights_of(model, [long], max_tokens=20)
    windows = list(text_windows(["0"], [long.words], model.tokenizer, 20, Counter()))
    assert len(windows) > 2
    for window in windows:
        (alone,) = weights_of(model, [document(" ".join(window.text))])
        counted = np.flatnonzero(window.counted)
        np.testing.assert_allclose(found[window.first + counted], alone[counted], atol=1e-5)


def test_windows_find_about_what_a_single_window_does(load_embedded):
    model = load_embedded("embedded")
    text = " ".join(line.text for line in islice(read_text([sample_text()]), 4))
    long = document(text)
    (whole,), (cut,) = (weights_of(model, [long], max_tokens=size) for size in (512, 128))
    words = [place for place, word in enumerate(long.words.words) if not is_sign(word)]
    heads = shipped(model).heads
    single, windows = (combined(weights, heads) for weights in (whole, cut))
    assert spearmanr(single[words], windows[words]).statistic > 0.9
    candidates = find_candidates(long.words, between_stop_words)
    best = [{one.candidate.stems for one in score_candidates(candidates, own)[:10]} for own in (single, windows)]
    assert len(best[0] & best[1]) >= 6


def test_a_text_without_tokens_is_refused(load_tiny):
    model = load_tiny("bert")
    with pytest.raises(CorpusError, match="no tokens"):
        weights_of(model, [document("\x7f")])


def test_a_candidate_is_scored_where_it_receives_most():
    one = document("graph kernels and a graph kernel of trees")
    candidates = find_candidates(one.words, between_stop_words)
    weights = combined(np.array([[1, 0], [2, 0], [9, 9], [9, 9], [4, 2], [1, 1], [9, 9], [3, 0]], np.float32), [0, 1])
    scored = score_candidates(candidates, weights)
    assert [(one.candidate.stems, one.score) for one in scored] == [(("graph", "kernel"), 4.0), (("tree",), 1.5)]
