"""The work of `merge`: check that the shards are those of one run, and combine them.

Survey: counts equal those of a single run; sums of floats differ only by the order in which they are added. The
sentences on which the best heads are right (figure 5) are missing: which heads are best is known after the merge, and
their maps are not in the sums.

Extraction: one store, with the examples in the order of a single run.

Ablation: the scores of all batches in one folder, in which `ablate` resumes. The order of heads for the removal curves
is known when every head has been tried on every example, so one more run does what needs all scores.
"""

from __future__ import annotations

import shutil
import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

from headatlas.commands.ablate.run import STATE
from headatlas.commands.extract.run import PLACES, Advance, fill_store
from headatlas.commands.merge.options import MergeOptions
from headatlas.commands.survey.reopen import blank_studies, check_states, read_states, start_studies
from headatlas.commands.survey.run import STATES, begin_manifest
from headatlas.commands.survey.studies import all_tables
from headatlas.encoding.shards import Shard
from headatlas.engine.checkpoint import Checkpoint
from headatlas.engine.settings import differences
from headatlas.errors import AtlasError
from headatlas.files import make_folder, write_atomically
from headatlas.models.stacks import HeadShape
from headatlas.remote import fetch_folder, is_url, local_folder, send
from headatlas.results.atlas import EXAMPLES, SHARD, Atlas, already_done, read_manifest, write_manifest, write_tables
from headatlas.store.examples import Tensors
from headatlas.store.index import INDEX, Index
from headatlas.store.reading import Store, open_store
from headatlas.studies.dependencies import Dependencies
from headatlas.studies.state import Arrays
from headatlas.studies.study import Study
from headatlas.versions import moment

READERS = 2  # threads that read states ahead of the merge
NO_SENTENCES = "the sentences of figure 5 need the model, and shards are merged without it."


def run_merge(options: MergeOptions) -> Atlas | Store | Path:
    """Combine the shards; open the result if it has been merged before."""
    folders = [fetch_folder(shard) if is_url(shard) else Path(shard) for shard in options.shards]
    merged = _merge(folders, local_folder(options.out), options.progress)
    send(merged if isinstance(merged, Path) else merged.folder, options.out)
    return merged


def _merge(folders: Sequence[Path], folder: Path, progress: bool) -> Atlas | Store | Path:
    if (folders[0] / INDEX).exists():
        stores = [open_store(shard) for shard in folders]
        _check_shards(
            folders, [{"complete": store.index.complete, "settings": store.index.settings} for store in stores]
        )
        return _merge_stores(stores, folder, progress)
    manifests = [read_manifest(shard, SHARD) for shard in folders]
    _check_shards(folders, manifests)
    if "tasks" in manifests[0]["settings"]:
        return _merge_ablations(folders, manifests, folder)
    return _merge_surveys(folders, manifests, folder)


def _check_shards(folders: Sequence[Path], manifests: Sequence[dict[str, Any]]) -> None:
    """Refuse shards that are unfinished, of another run, missing, or given twice."""
    places: dict[Shard, Path] = {}
    first = manifests[0]["settings"]
    for folder, manifest in zip(folders, manifests, strict=True):
        settings = manifest["settings"]
        if not isinstance(settings.get("shard"), str):
            raise AtlasError(f"{folder}: is not a shard. Make shards with --shard 1/2 and so on.")
        if not manifest.get("complete"):
            raise AtlasError(f"{folder}: this shard has not finished. Run its command again to resume it.")
        if differing := differences(first, settings | {"shard": first["shard"]}):
            raise AtlasError(f"{folder}: is a shard of another run than {folders[0]} ({'; '.join(differing)}).")
        shard = Shard.parse(settings["shard"])
        if shard in places:
            raise AtlasError(f"{folder}: is shard {shard}, and so is {places[shard]}. Name each shard once.")
        places[shard] = folder
    totals = {shard.of for shard in places}
    if len(totals) > 1:
        raise AtlasError(f"Shards of {' and of '.join(map(str, sorted(totals)))} cannot be combined.")
    if missing := sorted(set(range(1, totals.pop() + 1)) - {shard.number for shard in places}):
        shown = ", ".join(map(str, missing[:20])) + (", ..." if len(missing) > 20 else "")
        raise AtlasError(f"Of the shards, {len(missing)} are missing: {shown}. Run them, or name their folders too.")


def _merge_surveys(folders: Sequence[Path], manifests: Sequence[dict[str, Any]], folder: Path) -> Atlas:
    """Combine all shards of a survey, which were checked."""
    started = time.monotonic()
    first = manifests[0]
    settings = first["settings"] | {"shard": None}
    if already_done(folder, settings):
        return Atlas(folder)
    make_folder(folder / STATES)
    manifest = begin_manifest(settings, first["model"]) | {"shards": [str(shard) for shard in folders]}
    write_manifest(folder, manifest)
    merged = {name: _merge_states(folders, name, first) for name in _state_names(first)}
    for name, studies in merged.items():
        Checkpoint(folder / STATES / f"{name}.safetensors", settings).save(studies, ())
    controls = merged.get("treebank-control", {}).values()
    control = next((cast(Dependencies, study) for study in controls), None)
    of_corpora = (study for name in first["corpora"] for study in merged[name].values())
    rows = write_tables(folder, all_tables(of_corpora, control))
    examples = folders[0] / EXAMPLES
    write_atomically(folder / EXAMPLES, lambda temporary: shutil.copyfile(examples, temporary))
    manifest |= {
        "complete": True,
        "finished": moment(),
        "seconds": round(time.monotonic() - started, 1),
        "corpora": first["corpora"],
        "studies_skipped": first["studies_skipped"]
        | ({"figure 5": NO_SENTENCES} if "treebank" in first["corpora"] else {}),
        "tables": rows,
    }
    write_manifest(folder, manifest)
    return Atlas(folder)


def _state_names(manifest: dict[str, Any]) -> list[str]:
    """Return the names of the state files: one per corpus, and one of the control with random weights."""
    control = ["treebank-control"] if manifest["settings"]["control"] and "treebank" in manifest["corpora"] else []
    return [*manifest["corpora"], *control]


def _merge_states(folders: Sequence[Path], name: str, manifest: dict[str, Any]) -> dict[str, Study]:
    """Return the studies of one state file with the sums of all shards."""
    corpus = name.removesuffix("-control")
    shape = HeadShape(tuple(manifest["model"]["heads"]))
    merged, shard = (blank_studies(manifest, folders[0])[corpus] for _ in range(2))
    start_studies((*merged.values(), *shard.values()), shape, folders[0])
    for path, content in _read_ahead([folder / STATES / f"{name}.safetensors" for folder in folders]):
        states = check_states(path, content, shard)
        for study_name, study in merged.items():
            shard[study_name].restore(states[study_name])
            study.merge(shard[study_name])
    return merged


def _read_ahead(paths: Sequence[Path]) -> Iterator[tuple[Path, dict[str, Arrays]]]:
    """Yield the states of each shard in order; while one is merged, the next are read and checked."""
    coming: deque[tuple[Path, Future[dict[str, Arrays]]]] = deque()
    with ThreadPoolExecutor(READERS) as readers:
        for path in paths:
            coming.append((path, readers.submit(read_states, path)))
            if len(coming) > READERS:
                first, states = coming.popleft()
                yield first, states.result()
        for path, states in coming:
            yield path, states.result()


def _merge_stores(stores: Sequence[Store], out: Path, progress: bool) -> Store:
    """Copy the numbers of every shard into one store; an unfinished merge resumes."""
    for store in stores:
        store.verify()
    order = _order_examples(stores)
    first = stores[0].index
    whole = replace(
        first,
        settings=first.settings | {"shard": None},
        corpora={corpus: _without_places(about) for corpus, about in first.corpora.items()},
        examples=[stores[place].examples[number] for place, number in order],
        files=[],
        complete=False,
    )

    def produce(places: range, advance: Advance) -> Iterator[Tensors]:
        for place, number in order[places.start : places.stop]:
            yield _tensors(stores[place], number, whole)
            advance(len(stores[place].examples[number]))

    return fill_store(out, whole, produce, progress=progress)


def _order_examples(stores: Sequence[Store]) -> list[tuple[int, int]]:
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


def _merge_ablations(folders: Sequence[Path], manifests: Sequence[dict[str, Any]], folder: Path) -> Path:
    """Copy the pieces of all shards, which were checked, into one folder, and return it."""
    settings = manifests[0]["settings"] | {"shard": None}
    if already_done(folder, settings):
        return folder
    for shard, manifest in zip(folders, manifests, strict=True):
        pieces = sorted((shard / STATE).rglob("*.safetensors"))
        if len(pieces) != manifest["pieces"]:
            raise AtlasError(
                f"{shard}: has {len(pieces)} of its {manifest['pieces']} pieces. Delete the folder and run it again."
            )
        for piece in pieces:
            target = folder / STATE / piece.relative_to(shard / STATE)
            make_folder(target.parent)
            write_atomically(target, partial(shutil.copyfile, piece))
    beginning = {key: manifests[0][key] for key in ("started", "model", "versions")}
    write_manifest(folder, {"complete": False, "settings": settings, **beginning})
    return folder
