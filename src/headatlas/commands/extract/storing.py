"""Fill a store: resume or refuse its folder, check the free space, show progress, stop on Ctrl-C."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import takewhile
from pathlib import Path

from headatlas.engine.progress import TokenProgress
from headatlas.engine.settings import differences
from headatlas.engine.stopping import ctrl_c
from headatlas.errors import AtlasError, SurveyInterruptedError
from headatlas.store.examples import Tensors
from headatlas.store.index import INDEX, Index, check_index, read_index
from headatlas.store.reading import Store, open_store
from headatlas.store.writing import bytes_to_write, refuse_without_room, write_store
from headatlas.wording import counted, megabytes

Advance = Callable[[int], None]
"""Reports how many more tokens are done."""

SHARD_MEGABYTES = 256


def fill_store(
    folder: Path, index: Index, produce: Callable[[range, Advance], Iterator[Tensors]], *, progress: bool
) -> Store:
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
    free = refuse_without_room(folder, needed)
    plan = index.plan()
    if progress:
        size = f"about {megabytes(needed)} in {counted(len(plan) - len(index.files), 'file')}"
        numbers = "maps between" if index.maps else "hidden states of"
        what = f"{counted(len(index.examples), 'example')}, {numbers} {index.level}"
        print(f"{folder}: {what}: {size}; {megabytes(free)} are free", file=sys.stderr)
    tokens = [sum(len(index.examples[place]) for place in places) for places in plan]
    done = sum(tokens[: len(index.files)])
    name = Path(index.model["name"]).name
    with ctrl_c() as stop, TokenProgress(f"{name}: maps", sum(tokens), done, progress) as bar:
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
    if differing := differences(before.settings, index.settings):
        raise AtlasError(
            f"{folder}: holds other maps ({'; '.join(differing)}). Choose another --out folder, or delete this one."
        )
    files = list(takewhile(lambda file: _size(folder / file.file) == file.bytes, before.files))
    return replace(index, files=files, complete=before.complete and len(files) == len(before.files))


def _size(path: Path) -> int | None:
    return path.stat().st_size if path.is_file() else None
