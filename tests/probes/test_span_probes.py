"""Edge probes: many side by side equal each alone, and each equals a slow loop over targets, spans and layers."""

import math

import numpy as np
import pytest
import torch

from headatlas.probes.span_batches import labels_of
from headatlas.probes.span_probes import EdgeProbe, HeadMixProbe, mixing_weights, softmax_within
from headatlas.probes.span_scores import score_spans
from headatlas.probes.training import fit_updates
from headatlas.statistics.resampling import poisson_weights
from tests.probes.random_spans import HEADS, LAYERS, STATES, random_spans

WIDTH = 4


def make(targets, lasts=range(LAYERS + 1), seeds=(0, 1)):
    return EdgeProbe(lasts, STATES, targets.labels, spans=targets.spans, width=WIDTH, seeds=seeds)


def shaken(probe):
    """The probe with weights that leave nothing at its start."""
    rng = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in probe.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=rng))
    return probe


def slow_logits(probe, number, seen, numbers, place, target):
    """One probe on one target, span by span, token by token, layer by layer."""
    take = {name: value[number].double().numpy() for name, value in probe.state_dict().items()}
    raised = [math.exp(take["scores"][layer]) for layer in range(seen + 1)]
    mix = [one / sum(raised) * take["gamma"] for one in raised]
    joined = []
    for slot, (start, end) in enumerate(target.spans):
        tokens = []
        for token in range(start, end):
            mixed = sum(mix[layer] * numbers[place].states[layer, token].astype(float) for layer in range(seen + 1))
            tokens.append(mixed @ take["project"] + take["project_bias"][0])
        scores = np.array([math.exp(token @ take["attend"][:, slot]) for token in tokens])
        joined.append(sum(score / scores.sum() * token for score, token in zip(scores, tokens, strict=True)))
    hidden = np.maximum(0, np.concatenate(joined) @ take["join"] + take["join_bias"][0])
    return hidden @ take["classify"] + take["classify_bias"][0]


@pytest.mark.parametrize("spans", [1, 2])
def test_logits_equal_a_slow_loop(tmp_path, spans):
    targets, numbers = random_spans(tmp_path, np.random.default_rng(0), spans=spans)
    probe = shaken(make(targets))
    batch = targets.batch([3, 8, 5], "states")
    found = probe.logits(batch).detach().numpy()
    rows = [(place, target) for place in (3, 8, 5) for target in targets.targets[place]]
    for number in range(probe.side_by_side):
        for row, (place, target) in enumerate(rows):
            wanted = slow_logits(probe, number, number % (LAYERS + 1), numbers, place, target)
            np.testing.assert_allclose(found[number, row], wanted, atol=1e-4)


def test_probes_side_by_side_train_as_if_alone(tmp_path):
    targets, _ = random_spans(tmp_path, np.random.default_rng(1), spans=2)
    weights = np.random.default_rng(2).integers(0, 3, size=(2, len(targets))).astype(np.float32)
    together = fit_updates(lambda: make(targets), targets, 18, 16, 0, weights=weights)
    scores = score_spans(together, targets, range(len(targets)))
    for number in (0, 2, 4):
        last, seed = number % (LAYERS + 1), number // (LAYERS + 1)
        alone = fit_updates(
            lambda: make(targets, [last], [seed]),  # noqa: B023
            targets,
            18,
            16,
            0,
            weights=weights[seed : seed + 1],
        )
        torch.testing.assert_close(alone.weights[0], together.weights[number, : last + 1], atol=1e-4, rtol=1e-3)
        own = score_spans(alone, targets, range(len(targets)))
        np.testing.assert_allclose(own.bits[0], scores.bits[number], rtol=1e-2)


def test_softmax_within_groups_equals_one_group_at_a_time():
    rng = torch.Generator().manual_seed(0)
    scores = 200 * torch.randn(3, 12, generator=rng)
    group = torch.tensor([2, 0, 1, 2, 2, 0, 1, 1, 3, 2, 0, 1])
    found = softmax_within(scores, group, 4)
    for one in range(4):
        torch.testing.assert_close(found[:, group == one], scores[:, group == one].softmax(1))


def test_a_mix_of_nothing_is_nothing():
    visible = torch.tensor([[True, True], [True, False], [False, False]])
    found = mixing_weights(torch.tensor([[0.0, math.log(3)]] * 3, requires_grad=True), visible)
    torch.testing.assert_close(found, torch.tensor([[0.25, 0.75], [1, 0], [0, 0]]))
    found.sum().backward()


def test_head_mix_equals_a_slow_loop(tmp_path):
    rng = np.random.default_rng(2)
    targets, numbers = random_spans(tmp_path, rng, spans=2, names=("joined", "none"), negative="none")
    probe = shaken(HeadMixProbe(range(LAYERS + 1), targets.store.shape, targets.labels))
    batch = targets.batch([6, 1], "maps")
    found = probe.logits(batch).detach().numpy()
    assert not found[..., targets.labels.negative].any()
    rows = [(place, target) for place in (6, 1) for target in targets.targets[place]]
    for seen in range(LAYERS + 1):
        raised = probe.scores[seen].exp().tolist()
        heads = [way * LAYERS * HEADS + head for way in range(2) for head in range(seen * HEADS)]
        for row in range(len(rows)):
            mixed = sum(raised[k] * batch.pairs[row, k].item() for k in heads) / (sum(raised[k] for k in heads) or 1)
            wanted = probe.gamma[seen].item() * mixed + probe.bias[seen].item()
            assert found[seen, row, 0] == pytest.approx(wanted, abs=1e-4)
    assert numbers


@pytest.mark.parametrize(("several", "negative"), [(False, None), (False, "y"), (True, None)])
def test_scores_equal_a_slow_count(tmp_path, several, negative):
    targets, _ = random_spans(tmp_path, np.random.default_rng(3), several=several, negative=negative)
    train = [target for some in targets.targets[:4] for target in some if "z" not in target.labels]
    labels = labels_of(train, negative, counted=False)  # z is unseen
    targets = type(targets)(targets.store, targets.numbers, targets.targets, labels, targets.device)
    if several != labels.several:
        pytest.skip("the targets drawn have one label each")
    probe = shaken(make(targets))
    counts = score_spans(probe, targets, range(len(targets)))
    weights = poisson_weights(counts.ids, 3, 0).astype(float)
    for number in range(probe.side_by_side):
        slow = np.zeros((len(targets), 4))
        for place in range(len(targets)):
            logits = probe.logits(targets.batch([place], "states"))[number].detach().numpy()
            for row, target in zip(logits, targets.targets[place], strict=True):
                said = {labels.names[k] for k in np.flatnonzero(row > 0)} if several else {labels.names[row.argmax()]}
                given = set(target.labels)
                counted = lambda names: {name for name in names if name != negative}  # noqa: E731
                slow[place] += [
                    said == given,
                    len(counted(said & given)),
                    len(counted(said)),
                    len(counted(given)),
                ]
        right, found, said, given = slow.T
        assert counts.accuracy()[number] == pytest.approx(right.sum() / counts.targets.sum())
        assert counts.micro_f1()[number] == pytest.approx(2 * found.sum() / (said.sum() + given.sum()))
        drawn = 2 * found @ weights / ((said + given) @ weights)
        np.testing.assert_allclose(counts.micro_f1(weights)[number], drawn)
    unseen = [any("z" in target.labels for target in some) for some in targets.targets]
    assert np.isnan(counts.bits[0]).tolist() == unseen
