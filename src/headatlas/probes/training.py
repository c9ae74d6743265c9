"""Training a probe: Adam over shuffled batches.

What one network holds may be several probes side by side (a structural probe for each layer). Their losses are added
and no parameter is shared. There are two ways to end:

- `fit` stops when the loss on held-out sentences no longer falls. Each probe keeps the weights of its own best pass,
  but the learning rate falls, and the training ends, for all of them together: while one still improves, all go on.
- `fit_updates` makes a fixed number of updates while the learning rate falls to 0 in a straight line. Nothing is held
  out, so every probe is trained exactly as if it were alone, and trainings of different tasks are equally long.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain, islice, repeat
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from headatlas.errors import ModelError, SettingError
from headatlas.probes.probe import Answers, Examples, Probe
from headatlas.probes.span_batches import SpanTargets
from headatlas.probes.span_probes import SpanProbe
from headatlas.progress import moved

HELD_OUT_SHARE = 0.1
FEWEST_SENTENCES = 20
_NOT_FINITE = "The probe's loss is no longer finite. Check the stored numbers: headatlas extract --check DIR"

Network = TypeVar("Network", bound=Probe[Any])
SpanNetwork = TypeVar("SpanNetwork", bound=SpanProbe)


@dataclass(frozen=True)
class TrainingSettings:
    """How probes are trained, by the names of the options."""

    epochs: int = 20  # at most
    patience: int = 2  # passes without a better held-out loss; then the rate falls, at last the training ends
    batch_size: int = 32  # sentences, or targets of span tasks


@dataclass(frozen=True)
class Fitted:
    """How a training went."""

    epochs: int  # passes made
    at_limit: bool  # whether the limit of passes ended it, while the held-out loss still fell
    held_out: NDArray[np.float64]  # [side_by_side], the best mean loss on held-out sentences


def hold_out(count: int, seed: int) -> tuple[list[int], list[int]]:
    """Split `count` sentences into places to train on and places that decide when to stop."""
    if count < FEWEST_SENTENCES:
        raise SettingError(
            f"Too few sentences to train a probe on ({count}). Give at least {FEWEST_SENTENCES} with --treebank."
        )
    order = np.random.default_rng([seed, 1]).permutation(count)
    held = max(2, round(HELD_OUT_SHARE * count))
    return sorted(order[held:].tolist()), sorted(order[:held].tolist())


def fit(
    make: Callable[[], Network],
    examples: Examples[Any],
    train: Sequence[int],
    held_out: Sequence[int],
    settings: TrainingSettings,
    seed: int,
    *,
    answers: Answers | None = None,
    tick: Callable[[], None] = lambda: None,
) -> tuple[Network, Fitted]:
    """Train a network that `make` creates, and keep the weights with the lowest loss on the held-out part.

    answers: to be learned in place of the examples' own. tick: called after every batch.
    """
    probe, optimizer, rng = _begin(make, examples, seed)
    best = _BestWeights(probe, probe.side_by_side)
    waited = passes = 0
    for _ in range(settings.epochs):
        probe.train()
        for places in examples.plan(train, probe.reads, settings.batch_size, rng):
            _update(optimizer, *probe.losses(examples.batch(places, probe.reads, answers)))
            tick()
        passes += 1
        probe.eval()
        if best.offer(_held_out(probe, examples, held_out, settings, answers)):
            waited = 0
            continue
        waited += 1
        if waited >= settings.patience:
            break
        for group in optimizer.param_groups:
            group["lr"] *= 0.3
    best.restore()
    return probe, Fitted(passes, waited < settings.patience, best.losses)


def fit_updates(
    make: Callable[[], SpanNetwork],
    targets: SpanTargets,
    updates: int,
    batch_size: int,
    seed: int,
    *,
    answers: Answers | None = None,
    weights: NDArray[np.float32] | None = None,
    tick: Callable[[], None] = lambda: None,
) -> SpanNetwork:
    """Train a network that `make` creates on all texts for a fixed number of updates.

    Args:
        make: Creates the network, with a series of probes for each of T trainings.
        targets: The texts with their targets.
        updates: How many batches to learn from, pass after pass.
        batch_size: Targets of a batch, at most.
        seed: Of the order of the texts, the same for all trainings.
        answers: What each training learns in place of the targets' own, as `SpanTargets.batch` takes them.
        weights: How often each training counts a text, [T, texts].
        tick: Called after every batch.
    """
    probe, optimizer, rng = _begin(make, targets, seed)
    rates = [group["lr"] for group in optimizer.param_groups]
    passes = (targets.plan(range(len(targets)), probe.reads, batch_size, rng) for _ in repeat(None))
    for update, places in enumerate(islice(chain.from_iterable(passes), updates)):
        for group, rate in zip(optimizer.param_groups, rates, strict=True):
            group["lr"] = rate * (1 - update / updates)
        _update(optimizer, *probe.losses(targets.batch(places, probe.reads, answers, weights)))
        tick()
    if not all(bool(parameter.isfinite().all()) for parameter in probe.parameters()):
        raise ModelError(_NOT_FINITE)
    return probe.eval()


def _begin(
    make: Callable[[], Network], examples: Examples[Any], seed: int
) -> tuple[Network, torch.optim.Optimizer, np.random.Generator]:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        probe = make().to(examples.device)
    optimizer = torch.optim.Adam(probe.parameter_groups(), fused=examples.device.type in ("cpu", "cuda"))
    return probe, optimizer, np.random.default_rng([seed, 2])


def _update(optimizer: torch.optim.Optimizer, losses: Tensor, counts: Tensor) -> None:
    """Learn from a batch. losses, counts: of each probe, as `Probe.losses` gives them."""
    optimizer.zero_grad()
    (losses / counts.clamp_min(1)).sum().backward()  # type: ignore[no-untyped-call]
    optimizer.step()


def _held_out(
    probe: Probe[Any],
    examples: Examples[Any],
    places: Sequence[int],
    settings: TrainingSettings,
    answers: Answers | None,
) -> NDArray[np.float64]:
    """Mean loss of each probe on these examples."""
    total = count = np.zeros(probe.side_by_side)
    with torch.no_grad():
        for batch in examples.batches(places, probe.reads, settings.batch_size, answers):
            losses, counts = probe.losses(batch)
            moved()
            total, count = total + losses.double().cpu().numpy(), count + counts.double().cpu().numpy()
    means: NDArray[np.float64] = total / np.maximum(count, 1)
    if not np.isfinite(means).all():
        raise ModelError(_NOT_FINITE)
    return means


class _BestWeights:
    """The best weights so far of each probe in a network: parameters have the probes in their first dimension."""

    def __init__(self, network: nn.Module, probes: int) -> None:
        self._parameters = [parameter.data.reshape(probes, -1) for parameter in network.parameters()]
        self._best = [parameter.clone() for parameter in self._parameters]
        self.losses = np.full(probes, np.inf)

    def offer(self, losses: NDArray[np.float64]) -> bool:
        """Keep what is better now; whether anything is."""
        better = losses < self.losses
        self.losses = np.where(better, losses, self.losses)
        chosen = torch.from_numpy(better)
        for best, parameter in zip(self._best, self._parameters, strict=True):
            best[chosen.to(best.device)] = parameter[chosen.to(best.device)]
        return bool(better.any())

    def restore(self) -> None:
        """Put the best weights back."""
        for best, parameter in zip(self._best, self._parameters, strict=True):
            parameter.copy_(best)
