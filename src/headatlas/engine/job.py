"""What a run has to do, apart from who does it: a model, studies without sums, and batches for them to see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass

from torch import Tensor

from headatlas.choices import Stack
from headatlas.encoding.batches import Batch, make_batch
from headatlas.encoding.kinds import KindTable
from headatlas.encoding.masking import Masker
from headatlas.encoding.segments import Segment
from headatlas.engine.memory import is_out_of_memory, out_of_memory
from headatlas.errors import ModelError
from headatlas.models.model import Model, Observable, SeeMap
from headatlas.studies import Study
from headatlas.studies.study import LayerMap, State


class Observer:
    """Runs the model on batches and lets the studies see its maps: attention in one pass, gradients in another."""

    def __init__(
        self,
        model: Observable,
        studies: Mapping[str, Study],
        stack: Stack | None = None,
        smoothing: float = 0.0,
        seed: int = 0,
    ) -> None:
        self._model, self._stack, self._smoothing = model, stack, smoothing
        self._attention = [study for study in studies.values() if study.watches == "attention"]
        self._gradients = [study for study in studies.values() if study.watches == "gradients"]
        self._differentiated = model if self._gradients and isinstance(model, Model) else None
        if self._gradients and self._differentiated is None:
            raise ModelError(f"{model.name}: stored maps have no loss to differentiate.")
        masked = self._differentiated is not None and self._differentiated.language_model == "masked"
        self._masker = Masker(self._differentiated.tokenizer, seed) if self._differentiated and masked else None

    def observe(self, batch: Batch) -> None:
        """Run one batch: every study sees all layers, then ends the batch."""
        try:
            if self._attention:
                self._model.observe(batch, self._seen_by(batch, self._attention), self._stack)
            if self._differentiated:
                self._differentiated.observe_gradients(batch, self._seen_by(batch, self._gradients), self._masker)
            for study in (*self._attention, *self._gradients):
                study.end_batch(batch)
        except (MemoryError, RuntimeError) as error:
            if not is_out_of_memory(error):
                raise
            inputs, tokens = batch.input_ids.shape
            device = self._model.device
            raise out_of_memory(
                f"in a batch of {inputs} x {tokens} tokens of {self._model.name} on {device}"
            ) from error

    def _seen_by(self, batch: Batch, studies: Sequence[Study]) -> SeeMap:
        copies = {batch.mask.device: batch}  # the layers of a large model may be on several devices

        def see(layer: int, weights: Tensor, mask: Tensor | None) -> None:
            if weights.device not in copies:
                copies[weights.device] = batch.to(weights.device)
            layer_map = LayerMap(weights, copies[weights.device], mask, self._smoothing)
            for study in studies:
                study.see(layer, layer_map)

        return see


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
    smoothing: float = 0.0
    seed: int = 0

    def observer(self, studies: Mapping[str, Study]) -> Observer:
        """An observer for these studies."""
        return Observer(self.model, studies, self.stack, self.smoothing, self.seed)

    def blank(self) -> dict[str, Study]:
        """The studies, started, before they have seen anything."""
        studies = deepcopy(dict(self.studies))
        for study in studies.values():
            study.start(self.model.shapes[self.stack])
        return studies

    def sums(self, batches: Sequence[Sequence[Segment]]) -> dict[str, State]:
        """The studies' sums over some batches."""
        studies = self.blank()
        observer = self.observer(studies)
        for segments in batches:
            observer.observe(make_batch(segments, self.kinds, self.model.pad_id).to(self.model.device))
        return {name: study.state() for name, study in studies.items()}
