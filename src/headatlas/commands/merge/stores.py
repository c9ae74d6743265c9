"""Shards of `extract` put together: one store, with the examples in the order of the single run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from headatlas.commands.extract.run import PLACES
from headatlas.commands.extract.storing import Advance, fill_store
from headatlas.commands.merge.checks import check_shards
from headatlas.errors import AtlasError
from headatlas.store.examples import Tensors
from headatlas.store.index import Index
from headatlas.store.reading import Store, open_store


def merge_stores(folders: Sequence[Path], out: Path, progress: bool = True) -> Store:
    """Copy the numbers of every shard into one store; a merge that was stopped continues."""
    stores = [open_store(folder) for folder in folders]
    indices = [store.index for store in stores]
    check_shards(folders, [{"complete": index.complete, "settings": index.settings} for index in indices])
    for store in stores:
        store.verify()
    order = _order(stores)
    first = indices[0]
    whole = replace(
        first,
        settings=first.settings | {"shard": None},
        corpora={corpus: _without_places(about) for corpus, about in first.corpora.items()},
        examples=[stores[store].examples[number] for store, number in order],
        shards=[],
        complete=False,
    )

    def produce(places: range, advance: Advance) -> Iterator[Tensors]:
        for store, number in order[places.start : places.stop]:
            yield _tensors(stores[store], number, whole)
            advance(len(stores[store].examples[number]))

    return fill_store(out, whole, produce, progress=progress)


def _order(stores: Sequence[Store]) -> list[tuple[int, int]]:
    """For each example of the whole, which store has it and its number there."""
    found: dict[int, tuple[int, int]] = {}
    for store, opened in enumerate(stores):
        places = [place for about in opened.index.corpora.values() for place in _places(about)]
        if len(places) != len(opened) or not all(type(place) is int for place in places):
            raise AtlasError(f"{opened.folder}: the places of its examples are missing. Extract this shard again.")
        found |= {place: (store, number) for number, place in enumerate(places)}
    if sorted(found) != list(range(sum(map(len, stores)))):
        raise AtlasError("The shards hold the same examples, or not all of them. Extract them again.")
    return [found[place] for place in range(len(found))]


def _places(about: dict[str, Any]) -> list[Any]:
    told = about.get(PLACES)
    return told if isinstance(told, list) else []


def _without_places(about: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in about.items() if key != PLACES}


def _tensors(store: Store, number: int, whole: Index) -> Tensors:
    maps = store.maps_of(number) if whole.maps else None
    return Tensors(maps, store.states_of(number) if whole.states else None)
