"""Writing a store file by file, each atomically, so that a stopped run resumes with the next one."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from headatlas.errors import AtlasError
from headatlas.files import make_folder, write_atomically
from headatlas.store.examples import Tensors
from headatlas.store.index import Index, MapFile, map_file_name, write_index
from headatlas.wording import megabytes

OVERHEAD_BYTES = 400  # of an example, beside its numbers: names in the file, a line in the index
ALIGNMENT = 8  # bytes, of a safetensors file's header and of its length


def write_store(folder: Path, index: Index, produce: Callable[[range], Iterator[Tensors]]) -> Index:
    """Write the files that `index` does not list yet, then the index as complete.

    produce: gives the numbers of a run of examples, in order.
    """
    make_folder(folder)
    write_index(folder, index)
    plan = index.plan()
    if not plan:  # a share in which no input falls
        index = replace(index, complete=True)
        write_index(folder, index)
    for number in range(len(index.files), len(plan)):
        file = _write_file(folder / map_file_name(number), produce(plan[number]))
        index = replace(index, files=[*index.files, file], complete=number + 1 == len(plan))
        write_index(folder, index)
    return index


def _write_file(path: Path, examples: Iterator[Tensors]) -> MapFile:
    tensors: dict[str, NDArray[np.floating]] = {}
    number = -1
    for number, example in enumerate(examples):
        if example.maps is not None:
            tensors[f"{number}.maps"] = example.maps
        if example.states is not None:
            tensors[f"{number}.states"] = example.states
    pieces: list[bytes | memoryview] = [_header(tensors)]
    pieces += [np.ascontiguousarray(tensor).data.cast("B") for tensor in tensors.values()]
    digest = hashlib.sha256()

    def write(temporary: Path) -> None:
        with temporary.open("wb") as file, ThreadPoolExecutor(1) as hashing:
            for piece in pieces:
                hashing.submit(digest.update, piece)
                file.write(piece)

    write_atomically(path, write)
    return MapFile(path.name, number + 1, sum(map(len, pieces)), digest.hexdigest())


def _header(tensors: Mapping[str, NDArray[np.floating]]) -> bytes:
    """What stands before the numbers in a safetensors file, which then follow in the order of `tensors`.

    The library's own writer first makes one copy of each tensor and another of all, for which extraction would wait.
    """
    ends = np.cumsum([0, *(tensor.nbytes for tensor in tensors.values())]).tolist()
    entries = {
        name: {"dtype": f"F{8 * tensor.itemsize}", "shape": tensor.shape, "data_offsets": ends[place : place + 2]}
        for place, (name, tensor) in enumerate(tensors.items())
    }
    text = json.dumps(entries, separators=(",", ":")).encode()
    text += b" " * (-len(text) % ALIGNMENT)
    return len(text).to_bytes(ALIGNMENT, "little") + text


def bytes_to_write(index: Index) -> int:
    """About how many bytes the missing files will take."""
    sizes = index.example_bytes()
    return sum(sizes[place] + OVERHEAD_BYTES for places in index.plan()[len(index.files) :] for place in places)


def refuse_without_room(folder: Path, needed: int) -> int:
    """The free bytes on the folder's disk; AtlasError if they do not suffice."""
    existing = next(parent for parent in (folder.absolute(), *folder.absolute().parents) if parent.exists())
    free = shutil.disk_usage(existing).free
    if needed > free:
        raise AtlasError(
            f"{folder}: the maps take about {megabytes(needed)}, but only {megabytes(free)} are free there. Free some "
            "space or choose another --out; or store less: --level words, fewer --segments, shorter --max-tokens, "
            "--dtype-stored float16, no --hidden-states."
        )
    return free
