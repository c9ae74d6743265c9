"""Finished pieces of any long computation on disk, so that a stopped run resumes with the next piece.

A piece is a few named arrays, in a safetensors file of its own with a checksum, written atomically. The settings that
determine its numbers are in the folder's manifest: commands refuse other settings before they ask for a piece.
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
    """The pieces of a folder. Calling it returns a piece, which is computed only if it is not there yet."""

    def __init__(self, folder: Path, stopped: Callable[[], bool] = lambda: False) -> None:
        self._folder, self._stopped = folder, stopped

    def of(self, part: str) -> Pieces:
        """The pieces of one part of the run, in a folder of their own."""
        return Pieces(self._folder / part, self._stopped)

    def __call__(self, name: str, make: Callable[[], Arrays]) -> Arrays:
        """Return the piece of this name. If a stop was requested, the run stops after the piece is written."""
        path = self._folder / f"{name}.safetensors"
        if path.exists():
            return _read(path)
        arrays = make()
        make_folder(self._folder)
        content = pack_tensors(arrays, {})
        write_atomically(path, lambda temporary: temporary.write_bytes(content))
        if self._stopped():
            raise SurveyInterruptedError(f"Stopped. {KEPT}")
        return arrays


class _Piece(Arrays):
    """A piece read from disk; a missing array is an AtlasError."""

    def __init__(self, arrays: Arrays, path: Path) -> None:
        super().__init__(arrays)
        self._path = path

    def __missing__(self, name: str) -> Floats:
        raise AtlasError(f"{self._path}: has no {name}. Delete it and run the same command again.")


def _read(path: Path) -> Arrays:
    try:
        return _Piece(unpack_tensors(read_within(path, LARGEST_STATE)), path)
    except (OSError, ValueError) as error:
        raise AtlasError(f"{path}: cannot be read ({error}). Delete it and run the same command again.") from error
