"""The crew that the options of a command ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headatlas.errors import SettingError

if TYPE_CHECKING:
    from headatlas.engine.workers import Workers


def crew_of(workers: int | None, engine: str, threads: int | None, gpus: float, address: str | None) -> Workers | None:
    """The crew, or None where no workers are wanted."""
    from headatlas.engine.workers import Workers

    if workers is None:
        if engine != "processes" or threads is not None or gpus or address is not None:
            raise SettingError("How many workers? Add --workers N, or leave out --engine and what belongs to it.")
        return None
    return Workers(workers, engine, threads, gpus, address)  # type: ignore[arg-type]
