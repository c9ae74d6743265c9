"""Training probes: what `probe` and `layers` share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from headatlas.commands.shared.options import UNRECORDED, Options, Positive

NetworkWeights = Literal["pretrained", "random"]  # of the network whose maps or states are probed


@dataclass(frozen=True, kw_only=True)
class TrainingOptions(Options, panel="Training"):
    """How to train probes."""

    memory_megabytes: Annotated[Positive, UNRECORDED] = 2000
    """Maps and hidden states to keep in memory between passes, in megabytes. The rest is read again."""
