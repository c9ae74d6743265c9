"""Declare what a study accumulates. How to start, merge, save and restore it follows from the declaration.

    class MaxAttention(SegmentMeans):
        highest = State("layers", "heads", reduce="max")

An axis is named, and its length follows from the model and the study, or it is a fixed number. What is more than one
array (`statistics.tally.Tally`) is kept as a part, which merges, saves and restores itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from headatlas.errors import PluginError

Arrays = dict[str, NDArray[Any]]
Reduction = Literal["sum", "max", "min"]
REDUCE = {"sum": np.add, "max": np.maximum, "min": np.minimum}


class State:
    """An array that a study accumulates, declared as a class attribute and changed in place."""

    def __init__(self, *axes: str | int, reduce: Reduction = "sum", dtype: DTypeLike = np.float64) -> None:
        """Declare the array.

        Args:
            *axes: The name or length of each axis; none for a single number.
            reduce: How to combine the arrays of two parts of a corpus.
            dtype: The type of its numbers.
        """
        self.axes, self.reduce, self.dtype = axes, reduce, dtype

    @property
    def initial(self) -> float:
        """What changes nothing: 0, or the smallest or largest number that the type has."""
        integer = np.issubdtype(self.dtype, np.integer)
        lowest, highest = (np.iinfo(self.dtype).min, np.iinfo(self.dtype).max) if integer else (-np.inf, np.inf)
        return {"sum": 0, "max": lowest, "min": highest}[self.reduce]

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, study: Stateful, owner: type | None = None) -> NDArray[Any]:
        array: NDArray[Any] = study.arrays[self.name]
        return array

    def __set__(self, study: Stateful, array: NDArray[Any]) -> None:
        declared = study.arrays[self.name]
        if np.shape(array) != declared.shape:
            raise PluginError(f"the state '{self.name}' has shape {list(declared.shape)}, not {list(np.shape(array))}")
        if array is not declared:
            np.copyto(declared, array, casting="same_kind")


class Part(Protocol):
    """Something within a study that merges, saves and restores itself."""

    def merge(self, other: Any, /) -> None:
        """Add another part's sums to these."""

    def state(self) -> Arrays:
        """Return the sums, to be saved."""

    def restore(self, state: Arrays, /) -> None:
        """Take over saved sums."""


PartT = TypeVar("PartT", bound=Part)


class Stateful:
    """Base class of everything that declares states."""

    arrays: Arrays
    parts: dict[str, Part]

    def reset(self, sizes: Mapping[str, int]) -> None:
        """Give every state its initial value, and forget all parts.

        Args:
            sizes: The length of every named axis.
        """
        self.parts = {}
        self.arrays = {}
        for state in self.declared():
            if unknown := [axis for axis in state.axes if not isinstance(axis, int) and axis not in sizes]:
                raise PluginError(f"the state '{state.name}' names an axis '{unknown[0]}'; known: {', '.join(sizes)}")
            shape = [axis if isinstance(axis, int) else sizes[axis] for axis in state.axes]
            self.arrays[state.name] = np.zeros(shape, dtype=state.dtype)  # untouched, it takes no memory
            if state.reduce != "sum":
                self.arrays[state.name][...] = state.initial

    def keep(self, name: str, part: PartT) -> PartT:
        """Add a part that merges, saves and restores itself, and return it."""
        self.parts[name] = part
        return part

    def merge(self, other: Self) -> None:
        """Combine the states with those of another part of the corpus, which do not change."""
        for state in self.declared():
            array = self.arrays[state.name]
            REDUCE[state.reduce](array, other.arrays[state.name], out=array)
        for name, part in self.parts.items():
            part.merge(other.parts[name])

    def state(self) -> Arrays:
        """Return everything accumulated, ready to save."""
        of_parts = {f"{name}.{key}": array for name, part in self.parts.items() for key, array in part.state().items()}
        return self.arrays | of_parts

    def restore(self, saved: Mapping[str, NDArray[Any]]) -> None:
        """Take over what `state` returned. Raises KeyError if something is missing."""
        for name, array in self.arrays.items():
            array[...] = saved[name]
        for name, part in self.parts.items():
            start = f"{name}."
            part.restore({key.removeprefix(start): saved[key] for key in saved if key.startswith(start)})

    @classmethod
    def declared(cls) -> Iterator[State]:
        """The states of the class and of its bases."""
        for base in reversed(cls.__mro__):
            yield from (attribute for attribute in vars(base).values() if isinstance(attribute, State))
