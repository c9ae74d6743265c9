"""Options for dividing a run among workers and machines. The results do not depend on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from headatlas.commands.shared.options import Options, Positive
from headatlas.errors import SettingError

if TYPE_CHECKING:
    from headatlas.engine.workers import Workers


@dataclass(frozen=True, kw_only=True)
class ShardOptions(Options, panel="Parallel runs"):
    """Which part of the inputs to process."""

    shard: Annotated[str | None, Parameter(metavar="I/N")] = None
    """Process only shard I of N. Combine the shards with `headatlas merge`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.shard is not None:
            from headatlas.encoding.shards import Shard

            Shard.parse(self.shard)


@dataclass(frozen=True, kw_only=True)
class WorkerOptions(Options, panel="Parallel runs", recorded=False):
    """How many workers share the batches."""

    workers: Positive | None = None
    """Number of workers, each with its own copy of the model. Default: run in this process."""
    ray: Annotated[str | None, Parameter(metavar="ADDRESS")] = None
    """Run the workers on Ray: the address of a cluster, auto to find a running one, or local to start one here."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ray is not None and self.workers is None:
            raise SettingError("--ray needs to know how many workers to start. Add --workers N.")

    def pool(self, device: str) -> Workers | None:
        """Return the workers that share the batches, or None to run in this process. On the CPU they use no GPUs."""
        from headatlas.engine.workers import Workers

        return None if self.workers is None else Workers(self.workers, self.ray, use_gpus=device != "cpu")
