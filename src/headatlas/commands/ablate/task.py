"""A task: batches of examples, a score for each example, and a loss that can be differentiated.

Removing heads needs nothing but this interface. A new task is one new file, with a method `read` that makes it from
files, and an entry in `READERS` (see run.py).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from torch import Tensor

from headatlas.encoding.unknown import UnknownCounts, add_up, count_in_rows
from headatlas.models.gates import Gates
from headatlas.models.model import Model
from headatlas.models.stacks import Stack


@dataclass(frozen=True)
class ExampleBatch:
    """E examples as R rows of network input. An example has one row, or several (a minimal pair)."""

    ids: tuple[str, ...]  # E, unique within the task
    inputs: dict[str, Any]  # of the network; tensors are [R, ...]
    rows: Tensor  # [R], which example a row belongs to
    targets: dict[str, Tensor]  # what is to be predicted, [R, ...] or [E, ...]

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def size(self) -> int:
        """Tokens, padding included."""
        return int(self.inputs["input_ids"].numel())

    def to(self, device: torch.device) -> ExampleBatch:
        """The same batch on another device."""
        return self._with(lambda tensor: tensor.to(device, non_blocking=True))

    def repeated(self, copies: int) -> ExampleBatch:
        """Copies of the batch, one after the other, as one batch."""
        if copies == 1:
            return self
        larger = self._with(lambda tensor: torch.cat([tensor] * copies))
        shift = torch.arange(copies, device=self.rows.device).repeat_interleave(len(self.rows)) * len(self)
        return replace(larger, ids=self.ids * copies, rows=larger.rows + shift)

    def _with(self, change: Any) -> ExampleBatch:
        def changed(parts: dict[str, Any]) -> dict[str, Any]:
            return {name: change(part) if isinstance(part, Tensor) else part for name, part in parts.items()}

        return replace(self, inputs=changed(self.inputs), rows=change(self.rows), targets=changed(self.targets))


class Task(ABC):
    """Something a model does, more or less well, on examples."""

    name: ClassVar[str]
    measures: ClassVar[tuple[str, ...]]  # names of the scores, higher is better; the first one decides orders
    like_loss: ClassVar[str]  # the one of them that falls as the loss rises, with which importance is compared
    replayable: ClassVar[bool] = True  # whether its scores come from one pass of the network over its inputs
    why_not_replayable: ClassVar[str] = "its scores come from many passes, not from one"

    def __init__(self, model: Model, batches: Sequence[ExampleBatch]) -> None:
        self.model = model
        self.batches = batches
        self.about: dict[str, Any] = {"examples": len(self.ids), "unknown": self._unknown()}  # for the manifest
        self.left_out: dict[str, int] = {}  # reason -> how many

    @property
    def ids(self) -> list[str]:
        """All examples, batch after batch."""
        return [name for batch in self.batches for name in batch.ids]

    def _unknown(self) -> UnknownCounts:
        """What of the inputs the tokenizer does not know."""
        inputs = ((batch.inputs["input_ids"], batch.inputs["attention_mask"]) for batch in self.batches)
        tokenizer = self.model.tokenizer
        return add_up(count_in_rows(ids.cpu().numpy(), mask.cpu().numpy() > 0, tokenizer) for ids, mask in inputs)

    @contextmanager
    def removing(self, gates: Gates, stack: Stack) -> Iterator[None]:
        """Within this context the heads of one stack are gated."""
        with self.model.changing_outputs(gates, stack):
            yield

    @abstractmethod
    def losses(self, examples: ExampleBatch) -> Tensor:
        """Each example's own loss, differentiable: [E]."""

    @abstractmethod
    def scores(self, examples: ExampleBatch) -> Tensor:
        """Each example's scores, higher is better: [E, measures]."""
