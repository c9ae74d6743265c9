"""One batch through the model, with every study looking on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from torch import Tensor

from headatlas.encoding.batches import Batch
from headatlas.encoding.masking import Masker
from headatlas.engine.memory import is_out_of_memory, out_of_memory
from headatlas.errors import ModelError
from headatlas.models.model import Model, Observable, SeeMap
from headatlas.models.stacks import Stack
from headatlas.studies import Study
from headatlas.studies.study import LayerMap


class Observer:
    """Shows a batch to the studies: attention in one pass, gradients in another."""

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
            raise ModelError(f"{model.name}: maps without their model have no loss to differentiate.")
        masked = self._differentiated is not None and self._differentiated.language_model == "masked"
        self._masker = Masker(self._differentiated.tokenizer, seed) if self._differentiated and masked else None

    def see(self, batch: Batch) -> None:
        """One batch: every study sees all layers, then ends the batch."""
        try:
            self._see(batch)
        except (MemoryError, RuntimeError) as error:
            if not is_out_of_memory(error):
                raise
            inputs, tokens = batch.input_ids.shape
            on = self._model.device
            raise out_of_memory(f"in a batch of {inputs} x {tokens} tokens of {self._model.name} on {on}") from error

    def _see(self, batch: Batch) -> None:
        if self._attention:
            self._model.observe(batch, self._shows(batch, self._attention), self._stack)
        if self._differentiated:
            self._differentiated.observe_gradients(batch, self._shows(batch, self._gradients), self._masker)
        for study in (*self._attention, *self._gradients):
            study.end_batch(batch)

    def _shows(self, batch: Batch, studies: Sequence[Study]) -> SeeMap:
        there = {batch.mask.device: batch}  # the layers of a large model may lie on several devices

        def show(layer: int, weights: Tensor, mask: Tensor | None) -> None:
            if weights.device not in there:
                there[weights.device] = batch.to(weights.device)
            layer_map = LayerMap(weights, there[weights.device], mask, self._smoothing)
            for study in studies:
                study.see(layer, layer_map)

        return show
