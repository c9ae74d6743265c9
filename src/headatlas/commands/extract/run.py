"""The work of `extract`: the maps of a model on a treebank or a text, or maps that others made, kept in a store."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import Any

from headatlas.choices import Level
from headatlas.commands.extract.options import ExtractOptions, StoredType, StoreOptions
from headatlas.corpora.files import Files, describe_files, find_files
from headatlas.encoding.segments import Segment
from headatlas.encoding.shards import Shard
from headatlas.engine.corpora import KINDS
from headatlas.engine.guards import ctrl_c, output_folder
from headatlas.engine.settings import refuse_other
from headatlas.errors import AtlasError, SurveyInterruptedError
from headatlas.manifest import versions
from headatlas.models.facts import check_length, describe_model, model_identity
from headatlas.models.loading import choose_device
from headatlas.models.model import Model
from headatlas.models.stacks import Stack
from headatlas.progress import showing, stage
from headatlas.store.examples import Tensors, example_of
from headatlas.store.importing import read_maps
from headatlas.store.index import INDEX, Index, check_index, read_index
from headatlas.store.reading import Store, open_store
from headatlas.store.word_maps import observe_maps
from headatlas.store.writing import bytes_to_write, refuse_without_room, write_store
from headatlas.wording import counted, megabytes

PLACES = "places"  # in the index of a shard: the place of each example in the whole
Advance = Callable[[int], None]
"""Reports how many more tokens are done."""


def run_extract(options: ExtractOptions) -> Store:
    """Extract maps, or resume an extraction; open it if it has finished."""
    with output_folder(options.out, "extract") as folder:
        return _extract(options, folder)


def _extract(options: ExtractOptions, folder: Path) -> Store:
    choose_device(options.placed_on)
    corpus = "treebank" if options.text is None else "text"
    files = find_files(getattr(options, corpus), corpus)
    described = describe_files(files)
    model = options.load(options.model or "", seed=options.seed, random_weights=options.random_weights)
    stack = model.choose_stack(options.attention)
    check_length(options.max_tokens, model.network, model.tokenizer, model.name)
    read = KINDS[corpus]().read(files, model.tokenizer, options.reading)
    inputs, relations = read.segments, read.about.get("relations", ())
    about: dict[str, Any] = {"files": described, "left_out": read.left_out}
    if options.shard is not None:
        place_of = {segment.id: place for place, segment in enumerate(inputs)}
        inputs = Shard.parse(options.shard).of_segments(inputs)
        about[PLACES] = [place_of[segment.id] for segment in inputs]
    return keep_inputs(
        model,
        inputs,
        relations,
        corpora={corpus: about},
        settings={"corpus": {corpus: [record["sha256"] for record in described]}} | options.settings(),
        out=folder,
        level=options.chosen_level,
        hidden_states=options.hidden_states,
        dtype_stored=options.dtype_stored,
        shard_megabytes=options.shard_megabytes,
        batch_tokens=options.batch_tokens,
        stack=stack,
    )


def check_maps(folder: Path) -> Store:
    """Open a store and compare every file with its checksum."""
    store = open_store(folder)
    store.verify()
    return store


def import_maps(
    files: Files,
    *,
    out: str | Path = "maps",
    dtype_stored: StoredType = "float16",
    shard_megabytes: int = StoreOptions.shard_megabytes,
    progress: bool = True,
) -> Store:
    """Store attention maps that others made, to survey or probe them.

    >>> store = import_maps("unlabeled_attn.pkl", out="maps")   # doctest: +SKIP

    Args:
        files: The released pickles of Clark et al. (2019), or .npz files; `store.importing` says what they hold.
        out: Folder to write to. An unfinished import resumes.
        dtype_stored: float16 or float32.
        shard_megabytes: Approximate size of each file in megabytes.
        progress: Show progress.

    Returns:
        The store, opened.
    """
    with output_folder(out, "extract --import") as folder, showing(progress):
        return _import(files, folder, dtype_stored, shard_megabytes)


def _import(files: Files, folder: Path, dtype_stored: StoredType, shard_megabytes: int) -> Store:
    settings = StoreOptions(dtype_stored=dtype_stored, shard_megabytes=shard_megabytes).settings()
    paths = find_files(files, "import")
    described = describe_files(paths)
    with stage(f"Reading {', '.join(path.name for path in paths)}"):
        imported = read_maps(paths)
    layers, heads = imported.examples[0].maps.shape[:2]
    index = Index(
        level=imported.level,
        dtype=dtype_stored,
        states=0,
        file_bytes=shard_megabytes * 10**6,
        model={
            "name": paths[0].stem + (f" and {len(paths) - 1} more" if len(paths) > 1 else ""),
            "kind": "imported maps",
            "class": "unknown network",
            "attention": "decoder" if imported.causal else "encoder",
            "layers": layers,
            "heads": [heads] * layers,
            "special_tokens": {"cls": "[CLS]", "sep": "[SEP]"},
        },
        settings={"imported": [record["sha256"] for record in described]} | settings,
        corpora={"imported": {"files": described, "left_out": imported.left_out}},
        versions=versions(),
        examples=[maps.example for maps in imported.examples],
    )

    def produce(places: range, advance: Advance) -> Iterator[Tensors]:
        for maps in imported.examples[places.start : places.stop]:
            advance(len(maps.example))
            yield maps.tensors(dtype_stored)

    return fill_store(folder, index, produce)


def keep_inputs(
    model: Model,
    inputs: Sequence[Segment],
    relations: Sequence[str],
    *,
    corpora: dict[str, Any],
    settings: dict[str, Any],
    out: Path,
    level: Level,
    maps: bool = True,
    hidden_states: bool,
    dtype_stored: str = "float16",
    shard_megabytes: int = StoreOptions.shard_megabytes,
    batch_tokens: int,
    stack: Stack,
) -> Store:
    """Store the maps or hidden states of a model on some inputs.

    Args:
        model: The model to run.
        inputs: What it reads.
        relations: The names of the relations that parsed inputs number.
        corpora: What the index says about the corpora.
        settings: What determines the numbers, besides the model.
        out: Folder to write to.
        level: Whether maps are between words or between tokens.
        maps: Store attention maps.
        hidden_states: Store the hidden states of all layers.
        dtype_stored: Floating-point type of the stored numbers.
        shard_megabytes: Approximate size of each file.
        batch_tokens: Tokens per batch, including padding.
        stack: The attention to store in an encoder-decoder model.

    Returns:
        The store, opened.
    """
    names = model.tokenizer.convert_ids_to_tokens
    index = Index(
        level=level,
        dtype=dtype_stored,
        states=model.width if hidden_states else 0,
        maps=maps,
        file_bytes=shard_megabytes * 10**6,
        model=describe_model(model, stack),
        settings=model_identity(model, stack) | settings,
        corpora=corpora,
        versions=versions(),
        examples=[
            example_of(segment, names(segment.ids.tolist()), model.kinds(segment.ids), relations) for segment in inputs
        ],
    )
    reading: dict[str, Any] = {"batch_tokens": batch_tokens, "stack": stack, "maps": maps, "states": hidden_states}

    def produce(places: range, advance: Advance) -> Iterator[Tensors]:
        segments = inputs[places.start : places.stop]
        return observe_maps(model, segments, level, **reading, dtype=dtype_stored, advance=advance)

    return fill_store(out, index, produce)


def fill_store(folder: Path, index: Index, produce: Callable[[range, Advance], Iterator[Tensors]]) -> Store:
    """Write what is not written yet and open the store. produce: gives the numbers of some examples in turn.

    Ctrl-C stops after the current batch; the files that are written stay, and the same call resumes.
    """
    try:
        check_index(index)
    except ValueError as error:
        raise AtlasError(f"{folder}: nothing is written: {error}.") from error
    index = _continued(folder, index)
    if index.complete:
        return open_store(folder)
    needed = bytes_to_write(index)
    refuse_without_room(folder, needed)
    plan = index.plan()
    tokens = [sum(len(index.examples[place]) for place in places) for places in plan]
    done = sum(tokens[: len(index.files)])
    numbers = "maps" if index.maps else "hidden states"
    description = f"Storing {numbers} of {counted(len(index.examples), 'example')}, {megabytes(needed)}"
    with ctrl_c() as stop, stage(description, sum(tokens), done) as bar:
        written = len(index.files)

        def advance(number: int) -> None:
            bar.advance(number)
            if stop.is_set():
                raise SurveyInterruptedError(
                    f"Stopped after {written} of {len(plan)} files; the same command resumes at the next."
                )

        def produced(places: range) -> Iterator[Tensors]:
            nonlocal written
            written = plan.index(places)
            return produce(places, advance)

        write_store(folder, index, produced)
    return open_store(folder)


def _continued(folder: Path, index: Index) -> Index:
    """Return the index with the files that the folder already has. Raises AtlasError if they are of another store."""
    if not (folder / INDEX).exists():
        return index
    before = read_index(folder)
    refuse_other(folder, "other maps", before.settings, index.settings)
    files = list(takewhile(lambda file: _size(folder / file.file) == file.bytes, before.files))
    return replace(index, files=files, complete=before.complete and len(files) == len(before.files))


def _size(path: Path) -> int | None:
    return path.stat().st_size if path.is_file() else None
