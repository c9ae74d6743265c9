"""What a run has to do, apart from who does it: a model, studies without sums, and batches for them to see."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import partial

from torch import Tensor

from headatlas.choices import Stack
from headatlas.encoding.batches import Batch, make_batch
from headatlas.encoding.kinds import KindTable
from headatlas.encoding.masking import Masker
from headatlas.encoding.segments import Segment
from headatlas.engine.memory import is_out_of_memory, out_of_memory
from headatlas.errors import ModelError, PluginError, first_line
from headatlas.models.model import Model, Observable, SeeMap
from headatlas.progress import moved
from headatlas.studies.state import Arrays
from headatlas.studies.study import LayerMap, Study, refuse_non_finite

Sums = dict[str, Arrays]
Failures = dict[str, str]
"""Studies of other packages that failed, and how. The others go on without them."""


def is_own(study: Study) -> bool:
    """Whether a study is one of headatlas, whose failure ends a run."""
    return type(study).__module__.partition(".")[0] == "headatlas"


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
        passes = len({study.watches for study in studies.values()})
        self._layer_share = 1 / (max(passes, 1) * model.shapes[stack or model.default_stack].layers)
        self._masker = Masker(self._differentiated.tokenizer, seed) if self._differentiated and masked else None

    def observe(self, batch: Batch) -> None:
        """Run one batch: every study sees all layers, then ends the batch."""
        try:
            if any(study.watches == "attention" for study in self._studies.values()):
                self._model.observe(batch, self._seen_by(batch, "attention"), self._stack)
            if self._differentiated and any(study.watches == "gradients" for study in self._studies.values()):
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

    def _seen_by(self, batch: Batch, watching: str) -> SeeMap:
        copies = {batch.mask.device: batch}  # the layers of a large model may be on several devices

        def see(layer: int, weights: Tensor, mask: Tensor | None) -> None:
            if weights.device not in copies:
                copies[weights.device] = batch.to(weights.device)
            layer_map = LayerMap(weights, copies[weights.device], mask)
            for name, study in list(self._studies.items()):
                if study.watches == watching:
                    self._attempt(name, study, partial(study.see, layer, layer_map))
            moved(self._layer_share)

        return see

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
