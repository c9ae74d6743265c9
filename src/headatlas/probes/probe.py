"""What a probe is: a small network with its losses, and what it reads of a sentence."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from torch import Tensor, nn

from headatlas.probes.batches import Need, ProbeBatch


class Probe(nn.Module, ABC):
    """A network that a training can teach; it may hold several probes side by side, first in every parameter."""

    reads: ClassVar[Need]
    learning_rate: ClassVar[float]

    @property
    def side_by_side(self) -> int:
        """How many probes it holds."""
        return 1

    @abstractmethod
    def losses(self, batch: ProbeBatch) -> tuple[Tensor, Tensor]:
        """The summed loss of each probe and what it is a sum over: [side_by_side] each."""
