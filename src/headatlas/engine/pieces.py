"""What a run has finished lies on disk piece by piece, so that one which was stopped goes on with the next.

A piece is a few arrays with a name, in a safetensors file of its own with a checksum, written in one step. The settings
that decide them are in the folder's manifest: other settings are refused before a piece is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from headatlas.checksums import pack_tensors, unpack_tensors
from headatlas.engine.stopping import KEPT
from headatlas.errors import AtlasError, SurveyInterruptedError
from headatlas.files import make_folder, write_atomically
from headatlas.limits import LARGEST_STATE, read_within

Floats = NDArray[np.float64]
Arrays = dict[str, Floats]


class Pieces:
    """The finished pieces of a folder; calling it gives a piece, made only where it is not there yet."""

    def __init__(self, folder: Path, stopped: Callable[[], bool] = lambda: False) -> None:
        self._folder, self._stopped = folder, stopped

    def of(self, part: str) -> Pieces:
        """Those of a part of the run, in a folder of their own."""
        return Pieces(self._folder / part, self._stopped)

    def __call__(self, name: str, make: Callable[[], Arrays]) -> Arrays:
        """The piece of this name. Where the run is to stop, it stops once the piece is kept."""
        path = self._folder / f"{name}.safetensors"
        if path.exists():
            return _read(path)
        made = make()
        make_folder(self._folder)
        content = pack_tensors(made, {})
        write_atomically(path, lambda temporary: temporary.write_bytes(content))
        if self._stopped():
            raise SurveyInterruptedError(f"Stopped. {KEPT}")
        return made


class _Piece(Arrays):
    """A piece that was read; what it should hold and does not is an AtlasError."""

    def __init__(self, arrays: Arrays, path: Path) -> None:
        super().__init__(arrays)
        self._path = path

    def __missing__(self, name: str) -> Floats:
        raise AtlasError(f"{self._path}: holds no {name}. Delete it and run the same command again.")


def _read(path: Path) -> Arrays:
    try:
        return _Piece(unpack_tensors(read_within(path, LARGEST_STATE)), path)
    except (OSError, ValueError) as error:
        raise AtlasError(f"{path}: cannot be read ({error}). Delete it and run the same command again.") from error
