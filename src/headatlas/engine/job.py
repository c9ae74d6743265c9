"""What a run has to do, apart from who does it: a model, studies without sums, and batches for them to see."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from headatlas.choices import Stack
from headatlas.encoding.batches import Batch, make_batch
from headatlas.encoding.kinds import KindTable
from headatlas.encoding.masking import Masker
from headatlas.encoding.segments import Segment
from headatlas.errors import ModelError, PluginError, first_line, is_out_of_memory, out_of_memory
from headatlas.models.model import Model, Observable, OpenLayer, SeeMap
from headatlas.progress import moved
from headatlas.studies.reductions import ReducedLayer, Reduction
from headatlas.studies.state import Arrays
from headatlas.studies.study import LayerMap, Study, refuse_non_finite

MOST_WHOLE = 50_000_000  # attention weights of all layers that gradients keep at a time: a few times 200 MB
PASS_COSTS: dict[str, int] = {"attention": 1, "gradients": 4}  # gradients: 2 for 128 tokens, 10 for 8,192
Sums = dict[str, Arrays]
Failures = dict[str, str]
"""Studies of other packages that failed, and how. The others go on without them."""


def is_own(study: Study) -> bool:
    """Whether a study is one of headatlas, whose failure ends a run."""
    return type(study).__module__.partition(".")[0] == "headatlas"


def how_computed(model: Observable, studies: Mapping[str, Study]) -> str:
    """Say in a phrase how the attention that some studies see is computed, and who needs whole maps."""
    if not isinstance(model, Model):
        return "stored maps"
    needing = [name for name, study in studies.items() if study.watches == "attention" and study.reductions() is None]
    return f"whole maps, for {', '.join(needing)}" if needing and model.in_tiles else model.computed_in


def describe_failure(error: Exception) -> str:
    """Say in a phrase how a study of another package failed."""
    return first_line(error) if isinstance(error, PluginError) else f"{type(error).__name__}: {first_line(error)}"


def attempt(name: str, study: Study, failures: Failures, call: Callable[[], object]) -> None:
    """Let a study do something. If it is of another package and fails, note how."""
    try:
        call()
    except Exception as error:
        if is_own(study) or is_out_of_memory(error):
            raise
        failures[name] = describe_failure(error)


class Observer:
    """Runs the model on batches and lets the studies see its maps: attention in one pass, gradients in another.

    Attributes:
        failures: The studies of other packages that failed; they see nothing more.
    """

    def __init__(
        self, model: Observable, studies: Mapping[str, Study], stack: Stack | None = None, seed: int = 0
    ) -> None:
        self._model, self._stack = model, stack
        self._studies = dict(studies)
        self.failures: Failures = {}
        gradients = any(study.watches == "gradients" for study in studies.values())
        self._differentiated = model if gradients and isinstance(model, Model) else None
        if gradients and self._differentiated is None:
            raise ModelError(f"{model.name}: stored maps have no loss to differentiate.")
        masked = self._differentiated is not None and self._differentiated.language_model == "masked"
        costs = {study.watches: PASS_COSTS[study.watches] for study in studies.values()}
        whole = sum(costs.values()) * model.shapes[stack or model.default_stack].layers
        self._layer_shares: dict[str, float] = {watches: cost / whole for watches, cost in costs.items()}
        self._masker = Masker(self._differentiated.tokenizer, seed) if self._differentiated and masked else None

    def observe(self, batch: Batch) -> None:
        """Run one batch: every study sees all layers, then ends the batch."""
        try:
            if any(study.watches == "attention" for study in self._studies.values()):
                model = self._model
                if isinstance(model, Model) and model.in_tiles and self._reductions("attention") is not None:
                    model.observe_tiles(batch, self._opened_by(batch, "attention"), self._stack)
                else:
                    self._model.observe(batch, self._seen_by(batch, "attention"), self._stack)
            if self._differentiated and any(study.watches == "gradients" for study in self._studies.values()):
                too_large = self._too_large_for_gradients(batch, self._differentiated)
                if too_large and self._reductions("gradients") is not None:
                    open_layer = self._opened_by(batch, "gradients")
                    self._differentiated.observe_gradient_tiles(batch, open_layer, self._masker)
                else:
                    self._differentiated.observe_gradients(batch, self._seen_by(batch, "gradients"), self._masker)
            for name, study in list(self._studies.items()):
                self._attempt(name, study, partial(self._end, study, batch))
                moved()
        except (MemoryError, RuntimeError) as error:
            if not is_out_of_memory(error):
                raise
            inputs, tokens = batch.input_ids.shape
            device = self._model.device
            raise out_of_memory(
                f"in a batch of {inputs} x {tokens} tokens of {self._model.name} on {device}"
            ) from error

    def _too_large_for_gradients(self, batch: Batch, model: Model) -> bool:
        """Whether the maps of all layers, which gradients need at a time, would take too much memory as a whole."""
        numbers = model.shapes[model.default_stack].total * batch.mask.numel() * batch.mask.shape[1]
        return model.in_tiles and numbers > MOST_WHOLE

    def _reductions(self, watching: str) -> list[Reduction] | None:
        """What the studies need of each layer; None if one needs whole maps."""
        needed: dict[Reduction, None] = {}
        for study in self._studies.values():
            if study.watches == watching:
                reductions = study.reductions()
                if reductions is None:
                    return None
                needed |= dict.fromkeys(reductions)
        return list(needed)

    def _fail(self, watching: str, reduction: Reduction, error: Exception) -> None:
        """Let the studies fail that need a reduction which failed."""

        def fail() -> None:
            raise error

        for name, study in list(self._studies.items()):
            if study.watches == watching and reduction in (study.reductions() or ()):
                self._attempt(name, study, fail)

    def _opened_by(self, batch: Batch, watching: str) -> OpenLayer:
        copies = _Copies(batch)

        def open_layer(layer: int, query: Tensor) -> ReducedLayer:
            here = copies.on(query.device)

            def done(results: dict[Reduction, Any]) -> None:
                self._show(layer, LayerMap.reduced(results, here, query), watching)

            still_needed = self._reductions(watching) or []
            return ReducedLayer(layer, here, query, still_needed, done, partial(self._fail, watching))

        return open_layer

    def _seen_by(self, batch: Batch, watching: str) -> SeeMap:
        copies = _Copies(batch)

        def see(layer: int, weights: Tensor, mask: Tensor | None) -> None:
            self._show(layer, LayerMap(weights, copies.on(weights.device), mask), watching)

        return see

    def _show(self, layer: int, layer_map: LayerMap, watching: str) -> None:
        for name, study in list(self._studies.items()):
            if study.watches == watching:
                self._attempt(name, study, partial(study.see, layer, layer_map))
        moved(self._layer_shares[watching])

    def _end(self, study: Study, batch: Batch) -> None:
        """Let a study end its batch. Numbers of another package's study that are not finite may be the model's."""
        try:
            study.end_batch(batch)
        except ModelError as error:
            if is_own(study):
                raise
            self._check_model(batch, study.watches)
            raise PluginError(f"its values are not finite, though the model's attention is ({error})") from error

    def _check_model(self, batch: Batch, watching: str) -> None:
        """Raise ModelError if what the model shows of a batch is not finite."""

        def see(layer: int, weights: Tensor, mask: Tensor | None) -> None:
            sums = LayerMap(weights, batch.to(weights.device), mask).surface
            refuse_non_finite(layer, sums.sum(0).cpu().double().numpy())

        if watching == "gradients" and self._differentiated:
            self._differentiated.observe_gradients(batch, see, self._masker)
        else:
            self._model.observe(batch, see, self._stack)

    def _attempt(self, name: str, study: Study, call: Callable[[], None]) -> None:
        """Let a study do something. If it is of another package and fails, it sees nothing more."""
        attempt(name, study, self.failures, call)
        if name in self.failures:
            del self._studies[name]


class _Copies:
    """A batch on every device that a layer is on: those of a large model may be on several."""

    def __init__(self, batch: Batch) -> None:
        self._batch, self._copies = batch, {batch.mask.device: batch}

    def on(self, device: torch.device) -> Batch:
        if device not in self._copies:
            self._copies[device] = self._batch.to(device)
        return self._copies[device]


@dataclass(frozen=True)
class Work:
    """Which segments make which batch, and which batches are left to observe."""

    segments: Sequence[Segment]
    plan: Sequence[Sequence[int]]
    left: Sequence[int]  # numbers of batches
    sizes: Sequence[int]  # tokens of every batch of the plan


@dataclass(frozen=True)
class Job:
    """All that a process needs to turn batches into sums; it can be sent to another process."""

    model: Observable
    studies: Mapping[str, Study]  # without sums
    kinds: KindTable
    stack: Stack
    seed: int = 0

    def observer(self, studies: Mapping[str, Study]) -> Observer:
        """An observer for these studies."""
        return Observer(self.model, studies, self.stack, self.seed)

    def blank(self) -> dict[str, Study]:
        """The studies, started, before they have seen anything."""
        studies = deepcopy(dict(self.studies))
        for study in studies.values():
            study.start(self.model.shapes[self.stack])
        return studies

    def sums(self, batches: Sequence[Sequence[Segment]]) -> tuple[Sums, Failures]:
        """The studies' sums over some batches, without those of studies that failed."""
        studies = self.blank()
        observer = self.observer(studies)
        for segments in batches:
            observer.observe(make_batch(segments, self.kinds, self.model.pad_id).to(self.model.device))
        sums = {name: study.state() for name, study in studies.items() if name not in observer.failures}
        return sums, observer.failures
