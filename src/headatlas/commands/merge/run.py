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
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from headatlas.commands.extract.run import PLACES, Advance, fill_store
from headatlas.commands.merge.options import MergeOptions
from headatlas.commands.survey.reopen import blank_studies, check_states, not_installed, read_states, start_studies
from headatlas.commands.survey.run import Made, say_failed
from headatlas.encoding.shards import Shard
from headatlas.engine.guards import output_folder
from headatlas.engine.run_folder import STATE, RunFolder, read_manifest
from headatlas.engine.settings import differences
from headatlas.errors import AtlasError
from headatlas.files import make_folder, write_atomically
from headatlas.manifest import Manifest
from headatlas.models.stacks import HeadShape
from headatlas.progress import Stage, stage
from headatlas.remote import fetch_folder, is_url
from headatlas.results.atlas import Atlas
from headatlas.results.example import EXAMPLES
from headatlas.results.folder import write_tables
from headatlas.store.examples import Tensors
from headatlas.store.index import INDEX, Index
from headatlas.store.reading import Store, open_store
from headatlas.studies import STUDIES
from headatlas.studies.state import Arrays
from headatlas.studies.study import Study
from headatlas.wording import counted

READERS = 2  # threads that read states ahead of the merge
NO_SENTENCES = "the sentences of figure 5 need the model, and shards are merged without it."


def run_merge(options: MergeOptions) -> Atlas | Store | Path:
    """Combine the shards; open the result if it has been merged before."""
    with output_folder(options.out, "merge") as folder:
        folders = [fetch_folder(shard) if is_url(shard) else Path(shard) for shard in options.shards]
        if (folders[0] / INDEX).exists():
            stores = [open_store(shard) for shard in folders]
            _check_shards(folders, [(store.index.complete, store.index.settings) for store in stores])
            return _merge_stores(stores, folder)
        manifests = [read_manifest(shard) for shard in folders]
        _check_shards(folders, [(manifest.get("complete"), manifest["settings"]) for manifest in manifests])
        with RunFolder(folder, manifests[0]["command"]) as run:
            if run.finished(manifests[0]["settings"] | {"shard": None}):
                return folder if manifests[0]["command"] == "ablate" else Atlas(folder)
            combine = _merge_ablations if manifests[0]["command"] == "ablate" else _merge_surveys
            return combine(folders, manifests, run)


def _check_shards(folders: Sequence[Path], runs: Sequence[tuple[bool | None, dict[str, Any]]]) -> None:
    """Refuse shards that are unfinished, of another run, missing, or given twice. runs: complete, and settings."""
    places: dict[Shard, Path] = {}
    first = runs[0][1]
    for folder, (complete, settings) in zip(folders, runs, strict=True):
        if not isinstance(settings.get("shard"), str):
            raise AtlasError(f"{folder}: is not a shard. Make shards with --shard 1/2 and so on.")
        if not complete:
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
        raise AtlasError(f"{counted(len(missing), 'shard')} missing: {shown}. Run them, or name their folders too.")


def _merge_surveys(folders: Sequence[Path], manifests: Sequence[Manifest], run: RunFolder) -> Atlas:
    """Combine all shards of a survey, which were checked."""
    skipped = {name: why for manifest in manifests for name, why in manifest["studies_skipped"].items()}
    first: Manifest = {**manifests[0], "studies_skipped": skipped}
    if missing := not_installed(first):
        raise AtlasError(f"{folders[0]}: the study {missing[0]} is not installed here. Install its package first.")
    run.begin(model=first["model"], shards=[str(shard) for shard in folders])
    names = _state_names(first)
    with stage(f"Merging {counted(len(folders), 'shard')}", total=len(names) * len(folders)) as bar:
        merged = {name: _merge_states(folders, name, first, bar) for name in names}
    for name, of_corpus in merged.items():
        run.checkpoint(name).save(of_corpus, ())
    run.check_stop()
    studies = {name: study for corpus in first["corpora"] for name, study in merged[corpus].items()}
    for corpus in first["corpora"]:
        for name, control in merged.get(f"{corpus}-control", {}).items():
            studies[name].control = control
    made = Made()
    made.add(studies)
    rows = write_tables(run.folder, made.frames, made.declared)
    failures = {name: say_failed(studies[name], failure) for name, failure in made.failures.items()}
    examples = folders[0] / EXAMPLES
    write_atomically(run.folder / EXAMPLES, lambda temporary: shutil.copyfile(examples, temporary))
    run.check_stop()
    run.finish(
        corpora=first["corpora"],
        studies_skipped=skipped | failures | ({"figure 5": NO_SENTENCES} if "treebank" in first["corpora"] else {}),
        plugins=first.get("plugins", {}),
        findings=made.findings,
        tables=rows,
    )
    return Atlas(run.folder)


def _state_names(manifest: Manifest) -> list[str]:
    """Return the names of the state files: one per corpus, and of some corpora one with random weights."""
    settings = manifest["settings"]
    takers = {
        STUDIES[name].corpus for name in settings["studies"] if settings["control"] and STUDIES[name].takes_control
    }
    return [*manifest["corpora"], *(f"{corpus}-control" for corpus in manifest["corpora"] if corpus in takers)]


def _merge_states(folders: Sequence[Path], name: str, manifest: Manifest, bar: Stage) -> dict[str, Study]:
    """Return the studies of one state file with the sums of all shards."""
    corpus = name.removesuffix("-control")
    shape = HeadShape(tuple(manifest["model"]["heads"]))
    merged, shard = (_seen_by(name, blank_studies(manifest, folders[0])[corpus]) for _ in range(2))
    start_studies((*merged.values(), *shard.values()), shape, folders[0])
    for path, content in _read_ahead([folder / STATE / f"{name}.safetensors" for folder in folders]):
        states = check_states(path, content, shard)
        for study_name, study in merged.items():
            shard[study_name].restore(states[study_name])
            study.merge(shard[study_name])
        bar.advance()
    return merged


def _seen_by(name: str, studies: dict[str, Study]) -> dict[str, Study]:
    """The studies of a state file; with random weights, those that show them beside their own results."""
    if not name.endswith("-control"):
        return studies
    controls = {study.name: study for study in studies.values() if study.takes_control}
    for control in controls.values():
        control.omit_replicates()
    return controls


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


def _merge_stores(stores: Sequence[Store], out: Path) -> Store:
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

    return fill_store(out, whole, produce)


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


def _merge_ablations(folders: Sequence[Path], manifests: Sequence[Manifest], run: RunFolder) -> Path:
    """Copy the pieces of all shards, which were checked, into one folder, and return it."""
    for shard, manifest in zip(folders, manifests, strict=True):
        pieces = sorted((shard / STATE).rglob("*.safetensors"))
        if len(pieces) != manifest["pieces"]:
            raise AtlasError(
                f"{shard}: has {len(pieces)} of its {manifest['pieces']} pieces. Delete the folder and run it again."
            )
        for piece in pieces:
            target = run.state / piece.relative_to(shard / STATE)
            make_folder(target.parent)
            write_atomically(target, partial(shutil.copyfile, piece))
    run.begin(model=manifests[0]["model"])
    return run.folder
