"""What a probe is: a small network with its losses, what it reads of its examples, and what gives it those."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from headatlas.probes.batches import Need

B = TypeVar("B")
Given = TypeVar("Given", covariant=True)

Answers = Sequence[NDArray[Any]]
"""What a probe is to learn of every example: heads of words, labels of spans."""


class Examples(Protocol[Given]):
    """Examples by their places, in batches."""

    @property
    def device(self) -> torch.device: ...
    def plan(
        self, places: Sequence[int], need: Need, most: int, dice: np.random.Generator | None = None, /
    ) -> list[list[int]]: ...
    def batch(self, places: Sequence[int], need: Need, answers: Answers | None = None, /) -> Given: ...


class Probe(nn.Module, ABC, Generic[B]):
    """A network that a training can teach; it may hold several probes side by side, first in every parameter."""

    reads: ClassVar[Need]
    learning_rate: ClassVar[float]

    @property
    def side_by_side(self) -> int:
        """How many probes it holds."""
        return 1

    def parameter_groups(self) -> list[dict[str, Any]]:
        """Parameters with the rates they learn at."""
        return [{"params": list(self.parameters()), "lr": self.learning_rate}]

    @abstractmethod
    def losses(self, batch: B) -> tuple[Tensor, Tensor]:
        """The summed loss of each probe and what it is a sum over: [side_by_side] each."""
