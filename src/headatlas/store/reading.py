"""Reading a store: its files are memory-mapped, and an example's numbers are read when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from headatlas.errors import AtlasError, SettingError
from headatlas.files import sha256
from headatlas.store.checking import Rows, find_defect, is_attention, is_finite, least_sums
from headatlas.store.examples import TokenMaps, WordMaps, units_of, word_maps
from headatlas.store.index import INDEX, Index, read_index

STORED_NAMES = {"float16": "F16", "float32": "F32"}  # as safetensors calls them


class Store:
    """A folder of maps, opened: a sequence of `WordMaps`, or of `TokenMaps` where the maps are between tokens.

    Attributes:
        level: Whether the maps are between words or between tokens.
        model: What is known of the model the maps come from, as in the manifest of an atlas.
        shape: The heads of each layer.
        examples: What is known of each example beside its maps, in order.
    """

    def __init__(self, folder: Path, index: Index) -> None:
        self.folder, self.index = folder, index
        self.level, self.model, self.shape, self.examples = index.level, index.model, index.shape, index.examples
        self._places = index.places()
        self._opened: dict[int, Any] = {}
        self._least: dict[int, Rows] = {}

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The place of each example by its id."""
        return {example.id: number for number, example in enumerate(self.examples)}

    @property
    def has_trees(self) -> bool:
        """Whether every example has a dependency tree."""
        return all(example.words is not None for example in self.examples)

    @property
    def left_out(self) -> dict[str, int]:
        """What was left out of the corpora that the maps come from: reason -> how many."""
        return {reason: count for about in self.index.corpora.values() for reason, count in about["left_out"].items()}

    def __len__(self) -> int:
        return len(self.examples)

    def __getitem__(self, which: int | str) -> WordMaps | TokenMaps:
        """An example by its number from 0, negative from the end, or by its id."""
        number = self._number(which)
        return self._word_maps(number) if self.level == "words" else self._token_maps(number)

    def __iter__(self) -> Iterator[WordMaps | TokenMaps]:
        return (self[number] for number in range(len(self)))

    def word_maps(self) -> Iterator[WordMaps]:
        """All examples, if the maps are between words."""
        if self.level != "words":
            raise SettingError(
                f"{self.folder}: the maps are between tokens. Extract others with: headatlas extract --level words"
            )
        return map(self._word_maps, range(len(self)))

    def layer(self, which: int | str, layer: int) -> NDArray[np.floating]:
        """One layer's maps (from 0) as they are stored, without reading the others: [H, n, n]."""
        first = sum(self.shape.heads[:layer])
        number = self._number(which)
        if not self.shape.heads[layer]:
            return self._part(number, slice(0, 1))[:0]  # safetensors refuses an empty slice
        return self._part(number, slice(first, first + self.shape.heads[layer]))

    def maps_of(self, which: int | str) -> NDArray[np.floating]:
        """An example's maps as they are stored, without its states: [A, n, n]."""
        return self._part(self._number(which), slice(None))

    def states_of(self, which: int | str, units: slice = slice(None)) -> NDArray[np.floating]:
        """An example's hidden states, without its maps, of all or some of its words or tokens: [L + 1, W or T, D]."""
        if not self.index.states:
            raise SettingError(
                f"{self.folder}: holds no hidden states. Extract them: headatlas extract --hidden-states"
            )
        return self._states(self._number(which), units)

    def verify(self) -> None:
        """Read every file and compare its SHA-256 with the index; AtlasError names those that were altered."""
        altered = [file.file for file in self.index.files if sha256(self.folder / file.file) != file.sha256]
        if altered:
            raise AtlasError(
                f"{self.folder}: altered since written: {', '.join(altered)}. Delete the folder and extract again."
            )

    def _number(self, which: int | str) -> int:
        if isinstance(which, str):
            if which not in self.numbers:
                raise KeyError(f"no example {which!r} in {self.folder}")
            return self.numbers[which]
        if not -len(self) <= which < len(self):
            raise IndexError(f"example {which} of a store of {len(self)}")
        return which % len(self)

    def _word_maps(self, number: int) -> WordMaps:
        example = self.examples[number]
        if example.words is None or example.heads is None or example.relations is None:
            raise AtlasError(f"{self.folder / INDEX}: example {example.id} has no words.")
        maps, states = self._part(number, slice(None)), self._states(number) if self.index.states else None
        return word_maps(maps, states, example.id, example.document, example.words, example.heads, example.relations)

    def _token_maps(self, number: int) -> TokenMaps:
        example, stored, shape = self.examples[number], self._part(number, slice(None)), self.shape
        states = self._states(number) if self.index.states else None
        size = len(example)
        if shape.total == shape.layers * shape.most_heads:
            return TokenMaps(example, stored.reshape(shape.layers, -1, size, size), states)
        maps = np.zeros((shape.layers, shape.most_heads, size, size), dtype=stored.dtype)
        for layer, (last, heads) in enumerate(zip(np.cumsum(shape.heads), shape.heads, strict=True)):
            maps[layer, :heads] = stored[last - heads : last]
        return TokenMaps(example, maps, states)

    def _states(self, number: int, units: slice = slice(None)) -> NDArray[np.floating]:
        states = self._read(number, "states", (self.shape.layers + 1, None, self.index.states), (slice(None), units))
        if not is_finite(states):
            raise self._unusable(number, "the hidden states hold NaN or infinite numbers")
        return states

    def _part(self, number: int, heads: slice) -> NDArray[np.floating]:
        """The maps of some heads, which must be attention weights."""
        if not self.index.maps:
            raise SettingError(f"{self.folder}: holds hidden states alone. Extract the maps: headatlas extract")
        example = self.examples[number]
        rows = units_of(example, self.level)
        maps = self._read(number, "maps", (self.shape.total, rows, rows), (heads,))
        if number not in self._least:
            self._least[number] = least_sums(example, self.level, self.model.get("learned_sink") is True)
        least = self._least[number]
        if not is_attention(maps, least) and (defect := find_defect(maps, least)):
            layer, head = self.shape.numbered[(heads.start or 0) + defect[0]]
            raise self._unusable(number, f"head {layer}-{head} (layer-head) {defect[1]}")
        return maps

    def _unusable(self, number: int, problem: str) -> AtlasError:
        path = self.folder / self.index.files[self._places[number][0]].file
        return AtlasError(
            f"{path}: example {self.examples[number].id}: {problem}. The store is damaged, or was not made by "
            "headatlas. Extract or import the maps again."
        )

    def _read(
        self, number: int, name: str, shape: tuple[int | None, ...], part: tuple[slice, ...]
    ) -> NDArray[np.floating]:
        file, within = self._places[number]
        path = self.folder / self.index.files[file].file
        try:
            if file not in self._opened:
                self._opened[file] = safe_open(path, framework="np")
            stored = self._opened[file].get_slice(f"{within}.{name}")
            if any(want not in (None, have) for want, have in zip(shape, stored.get_shape(), strict=True)):
                raise ValueError(f"example {self.examples[number].id} has the shape {stored.get_shape()}")
            if stored.get_dtype() != STORED_NAMES[self.index.dtype]:
                raise ValueError(f"its numbers are {stored.get_dtype()}, not {self.index.dtype}")
            return np.asarray(stored[part])
        except (OSError, SafetensorError, ValueError) as error:
            raise AtlasError(f"{path}: cannot be read ({error}). Delete the folder and extract again.") from error


def open_store(folder: str | Path) -> Store:
    """Open a folder of maps; its files must be there in their full size. `Store.verify` looks at every byte.

    >>> store = open_store("maps")                       # doctest: +SKIP
    >>> for sentence in store:                           # doctest: +SKIP
    ...     print(sentence.words, sentence.maps.shape)
    """
    folder = Path(folder)
    index = read_index(folder)
    if not index.complete:
        raise AtlasError(f"{folder}: these maps are not complete. Run the same extract command again to continue it.")
    for file in index.files:
        path = folder / file.file
        if not path.is_file():
            raise AtlasError(f"{path}: this file is missing. Bring it back, or delete the folder and extract again.")
        if (size := path.stat().st_size) != file.bytes:
            raise AtlasError(
                f"{path}: this file has {size:,} bytes, not the {file.bytes:,} that were written: it was cut short "
                "or altered. Bring it back, or delete the folder and extract again."
            )
    return Store(folder, index)
