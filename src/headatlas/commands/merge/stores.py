"""The shards of an extraction, combined into one store with the examples in the order of a single run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from headatlas.commands.extract.run import PLACES
from headatlas.commands.extract.storing import Advance, fill_store
from headatlas.errors import AtlasError
from headatlas.store.examples import Tensors
from headatlas.store.index import Index
from headatlas.store.reading import Store


def merge_stores(stores: Sequence[Store], out: Path, progress: bool) -> Store:
    """Copy the numbers of every shard into one store; an unfinished merge resumes."""
    for store in stores:
        store.verify()
    order = _order(stores)
    first = stores[0].index
    whole = replace(
        first,
        settings=first.settings | {"shard": None},
        corpora={corpus: _without_places(about) for corpus, about in first.corpora.items()},
        examples=[stores[place].examples[number] for place, number in order],
        shards=[],
        complete=False,
    )

    def produce(places: range, advance: Advance) -> Iterator[Tensors]:
        for place, number in order[places.start : places.stop]:
            yield _tensors(stores[place], number, whole)
            advance(len(stores[place].examples[number]))

    return fill_store(out, whole, produce, progress=progress)


def _order(stores: Sequence[Store]) -> list[tuple[int, int]]:
    """Return, for each example of the whole, the number of its store and its number within the store."""
    order: dict[int, tuple[int, int]] = {}
    for store_number, store in enumerate(stores):
        places = [place for about in store.index.corpora.values() for place in _places(about)]
        if len(places) != len(store) or not all(type(place) is int for place in places):
            raise AtlasError(f"{store.folder}: the places of its examples are missing. Extract this shard again.")
        order |= {place: (store_number, number) for number, place in enumerate(places)}
    if sorted(order) != list(range(sum(map(len, stores)))):
        raise AtlasError("The shards hold the same examples, or not all of them. Extract them again.")
    return [order[place] for place in range(len(order))]


def _places(about: dict[str, Any]) -> list[Any]:
    places = about.get(PLACES)
    return places if isinstance(places, list) else []


def _without_places(about: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in about.items() if key != PLACES}


def _tensors(store: Store, number: int, whole: Index) -> Tensors:
    maps = store.maps_of(number) if whole.maps else None
    return Tensors(maps, store.states_of(number) if whole.states else None)
