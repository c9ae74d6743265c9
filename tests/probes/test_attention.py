"""Attention probes and baselines against the formulas written out as loops."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from headatlas.corpora.treebanks.sentence import ROOT
from headatlas.probes.arcs import read_arcs
from headatlas.probes.attention import AttentionProbe, AttentionWordsProbe, pair_scores_torch
from headatlas.probes.baselines import DistanceProbe, branching
from headatlas.statistics.kernels.pair_scores import PairScores
from tests.probes.random_stores import data, random_store

SIZES = [4, 1, 6, 2]


@pytest.fixture(scope="module")
def sentences(tmp_path_factory):
    return data(random_store(tmp_path_factory.mktemp("store"), SIZES))


def trained(make):
    """A probe with weights large enough to matter."""
    torch.manual_seed(0)
    probe = make()
    with torch.no_grad():
        for parameter in probe.parameters():
            parameter.normal_()
    return probe


def root_score(probe, record, j):
    table = probe.root.detach().double().numpy()  # to CLS, to SEP, from CLS, from SEP
    total = 0.0
    for k in range(probe.heads):
        total += table[0, k] * record.to_special[k, j, 0] + table[1, k] * record.to_special[k, j, 1]
        total += table[2, k] * record.from_special[k, 0, j] + table[3, k] * record.from_special[k, 1, j]
    return total


def pair_score(probe, record, sentences, place, i, j):
    """i as the head of j, head by head."""
    total = 0.0
    for k in range(probe.heads):
        if isinstance(probe, AttentionProbe):
            u, w = probe.weight.detach()[[k, probe.heads + k]].tolist()
        else:
            table, rows = sentences.vectors.table, sentences.vectors.rows(record.words)
            v_i, v_j = table[rows[i]].astype(float), table[rows[j]].astype(float)
            both = [
                np.concatenate([probe.candidate[:, n].detach().numpy(), probe.dependent[:, n].detach().numpy()])
                for n in (k, probe.heads + k)
            ]
            u, w = (float(part @ np.concatenate([v_i, v_j])) for part in both)
        total += w * record.maps[k, i, j] + u * record.maps[k, j, i]
    return total


MAKERS = [
    lambda sentences: AttentionProbe(3),
    lambda sentences: AttentionWordsProbe(3, torch.from_numpy(sentences.vectors.table)),
]


@pytest.mark.parametrize("make", MAKERS)
def test_probabilities_are_those_of_the_formula(sentences, make):
    probe = trained(lambda: make(sentences))
    batch = sentences.batch([0, 1, 2, 3], "maps")
    found = probe.log_probabilities(batch).detach().double().numpy()
    loss = 0.0
    for place, size in enumerate(SIZES):
        record = sentences.store[place]
        for j in range(size):
            scores = {i: pair_score(probe, record, sentences, place, i, j) for i in range(size) if i != j}
            scores[ROOT] = root_score(probe, record, j)
            total = math.log(sum(map(math.exp, scores.values())))
            for i, score in scores.items():
                assert found[place, j, 6 if i == ROOT else i] == pytest.approx(score - total, abs=1e-4)
            assert found[place, j, j] == -math.inf
            assert np.isneginf(found[place, j, size:6]).all()
            loss -= scores[int(record.heads[j])] - total
    given, words = probe.losses(batch)
    assert float(given.detach()) == pytest.approx(loss, rel=1e-4)
    assert int(words) == sum(SIZES)


def test_the_kernel_and_tensor_operations_agree_with_their_gradients(sentences):
    batch = sentences.batch([0, 1, 2, 3], "maps")
    torch.manual_seed(1)
    parts = [torch.randn(4, 6, 6, requires_grad=True) for _ in range(2)]
    outward = torch.randn(4, 6, 6) * (batch.mask[:, :, None] & batch.mask[:, None])
    found = []
    for scores in (
        PairScores.apply(batch.maps, batch.sizes, *parts),
        pair_scores_torch(batch.maps, *parts),
        pair_scores_torch(batch.maps.double(), *(part.double() for part in parts)),
    ):
        gradients = torch.autograd.grad((scores * outward).sum(), parts)
        found.append([scores.detach() * (outward != 0), *(part * batch.mask[..., None] for part in gradients)])
    for kernel, plain, exact in zip(*found, strict=True):
        torch.testing.assert_close(kernel, exact.float(), rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(plain, exact.float(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("make", MAKERS)
def test_the_use_of_heads_is_that_of_the_arcs(sentences, make):
    probe = trained(lambda: make(sentences))
    found = read_arcs(probe, sentences, range(4), most=3)
    weight, contribution, arcs = np.zeros((2, 3)), np.zeros((2, 3)), 0
    for place, size in enumerate(SIZES):
        record = sentences.store[place]
        batch = sentences.batch([place], "maps")
        table = probe.coefficients(batch).expand(1, size, size, 6)[0].detach().double().numpy()
        for j, head in enumerate(record.heads.tolist()):
            if head == ROOT:
                continue
            arcs += 1
            for way in range(2):
                for k in range(3):
                    added = {
                        i: table[j, i, way * 3 + k] * (record.maps[k, j, i] if way == 0 else record.maps[k, i, j])
                        for i in range(size)
                        if i != j
                    }
                    rest = [value for i, value in added.items() if i != head]
                    weight[way, k] += table[j, head, way * 3 + k]
                    contribution[way, k] += added[head] - np.mean(rest) if rest else 0
    assert len(found) == arcs
    means = (found.weight.mean(0).reshape(2, 3), found.contribution.mean(0).reshape(2, 3))
    np.testing.assert_allclose(means[0], weight / arcs, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(means[1], contribution / arcs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("words", [False, True])
def test_distances_are_those_of_the_formula(sentences, words):
    table = torch.from_numpy(sentences.vectors.table) if words else None
    probe = trained(lambda: DistanceProbe(table))
    found = probe.scores(sentences.batch([0, 2], "words")).detach().numpy()
    weights = {name: parameter.detach().numpy() for name, parameter in probe.named_parameters()}
    for row, place in enumerate([0, 2]):
        size = SIZES[place]
        rows = sentences.vectors.rows(sentences.words[place])
        for j in range(size):
            for i in [*range(size), 6]:
                offset = i - j
                features = [max(0, offset) / 10, max(0, -offset) / 10, *(float(offset == n) for n in (-2, -1, 1, 2)), 0]
                if i == 6:
                    features = [0, 0, 0, 0, 0, 0, 1]
                hidden = weights["distances.weight"] @ np.array(features) + weights["distances.bias"]
                if words:
                    hidden = hidden + weights["dependent.weight"] @ sentences.vectors.table[rows[j]]
                    if i != 6:
                        hidden = hidden + weights["candidate.weight"] @ sentences.vectors.table[rows[i]]
                expected = weights["score.weight"][0] @ np.tanh(hidden)
                assert found[row, j, i] == pytest.approx(expected, rel=1e-3, abs=1e-2)


def test_chains():
    assert branching(3, "right").tolist() == [1, 2, ROOT]
    assert branching(3, "left").tolist() == [ROOT, 0, 1]
    assert branching(1, "right").tolist() == branching(1, "left").tolist() == [ROOT]
