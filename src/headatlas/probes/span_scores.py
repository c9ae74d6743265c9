"""How often span probes are right, text by text, so that intervals can resample texts.

Micro F1 counts labels over all targets, but for one that says there is nothing (`Other` of relations); of a question
with yes and no both count, so that always saying yes gains nothing. Accuracy is the share of targets with all labels
right. A label that no training target has is never predicted, so it is missed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headatlas.encoding.span_segments import TokenTarget
from headatlas.probes.span_batches import UNSEEN, Labels, SpanBatch, SpanTargets
from headatlas.probes.span_probes import SpanProbe, of_probes, target_nats

Floats = NDArray[np.float64]
MOST_SCORED = 512  # targets of a batch that is scored


@dataclass(frozen=True)
class SpanCounts:
    """Sums over the targets of each of S texts, for P probes."""

    ids: list[str]
    targets: Floats  # [S]
    given: Floats  # [S], labels that count; [P, S] where trainings have answers of their own
    right: Floats  # [P, S], targets with all labels right
    found: Floats  # [P, S], labels predicted that are given
    said: Floats  # [P, S], labels predicted
    bits: Floats  # [P, S], -log2 of the probability of the answers; NaN where a label is unseen

    def accuracy(self, weights: Floats | None = None) -> Floats:
        """Of each probe, [P]; with weights [S, R] of each resampling, [P, R]."""
        return _share(_sum(self.right, weights), _sum(self.targets, weights))

    def micro_f1(self, weights: Floats | None = None) -> Floats:
        """Of each probe, [P]; with weights [S, R] of each resampling, [P, R]; NaN where there is no label."""
        return _share(2 * _sum(self.found, weights), _sum(self.said, weights) + _sum(self.given, weights))


def score_spans(
    probe: SpanProbe,
    targets: SpanTargets,
    places: Sequence[int],
    *,
    answers: Sequence[NDArray[np.int64]] | None = None,
    see: Callable[[SpanBatch, Tensor], None] = lambda _batch, _log_probabilities: None,
    tick: Callable[[], None] = lambda: None,
) -> SpanCounts:
    """Score probes on these texts.

    answers: of every text [T, n] or [T, n, C], what counts as right for each training in place of the targets' own.
    see: gets each batch and the log probabilities of its labels [P, B, C].
    """
    labels, row_of = targets.labels, {place: row for row, place in enumerate(places)}
    sums = {name: np.zeros((probe.side_by_side, len(places))) for name in ("right", "found", "said", "bits")}
    for batch in targets.batches(places, probe.reads, MOST_SCORED, answers):
        with torch.no_grad():
            logits = probe.logits(batch)
            said = predicted(logits, labels)
            wanted = of_probes(given_labels(batch.answers, labels), probe.side_by_side)
            counted = _counted(labels, logits.device)
            known = batch.known
            nats = target_nats(logits, batch.answers.clamp_min(0), labels.several).masked_fill(~known, torch.nan)
            values = {
                "right": (said == wanted).all(-1) & known,
                "found": (said & wanted & counted).sum(-1),
                "said": (said & counted).sum(-1),
                "bits": nats / np.log(2),
            }
            see(batch, logits.sigmoid().log() if labels.several else logits.log_softmax(-1))
        rows = [row_of[place] for place in batch.places]
        for name, value in values.items():
            by_text = torch.zeros(len(value), len(batch.places), dtype=torch.float64)
            sums[name][:, rows] = by_text.index_add(1, torch.from_numpy(batch.text), value.cpu().double()).numpy()
        tick()
    if answers is None:
        given = np.array([_given(targets.targets[place], labels) for place in places])
    else:
        of_trainings = np.stack([_counted_answers(answers[place], labels) for place in places], 1)
        given = np.repeat(of_trainings, probe.side_by_side // len(of_trainings), 0)
    return SpanCounts(
        [targets.ids[place] for place in places], targets.counts[list(places)].astype(float), given, **sums
    )


def predicted(logits: Tensor, labels: Labels) -> Tensor:
    """Which labels are said of each target: [P, B, C] bool. The likeliest one, or all that are likelier than not."""
    if labels.several:
        return logits > 0
    return torch.nn.functional.one_hot(logits.argmax(-1), logits.shape[-1]).bool()


def given_labels(answers: Tensor, labels: Labels) -> Tensor:
    """Which labels each target has: [T, B, C] bool, none where its label is unseen."""
    if labels.several:
        return answers.bool()
    shown = torch.nn.functional.one_hot(answers.clamp_min(0), len(labels.names)).bool()
    return shown & (answers != UNSEEN)[..., None]


def _counted(labels: Labels, device: torch.device) -> Tensor:
    """The labels that F1 counts: [C] bool."""
    counted = torch.ones(len(labels.names), dtype=torch.bool, device=device)
    if labels.uncounted is not None:
        counted[labels.uncounted] = False
    return counted


def _counted_answers(answers: NDArray[np.int64], labels: Labels) -> Floats:
    """How many answers of a text count, for each training: [T]. answers: [T, n] or [T, n, C]."""
    counted = answers.sum((1, 2)) if labels.several else (answers != labels.uncounted).sum(1)
    return np.asarray(counted, dtype=np.float64)


def _given(targets: Sequence[TokenTarget], labels: Labels) -> float:
    """Labels of a text's targets but for the negative one, unseen ones among them."""
    uncounted = None if labels.uncounted is None else labels.names[labels.uncounted]
    return float(sum(label != uncounted for target in targets for label in target.labels))


def _sum(counts: Floats, weights: Floats | None) -> Floats:
    return counts.sum(-1) if weights is None else counts @ weights


def _share(part: Floats, whole: Floats) -> Floats:
    return part / np.where(whole > 0, whole, np.nan)
