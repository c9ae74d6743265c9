"""The index of a store: what its files hold, from which model and corpus, and how to tell that they are whole.

DIR/index.json              everything but the numbers: see `Index`; one example a line
DIR/maps-00000.safetensors  a file of maps: for each of its examples, by its number there, ``NUMBER.maps`` and
                            ``NUMBER.states``, those that are kept, shaped as `examples.Tensors` says
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import numpy as np

from headatlas.choices import Level
from headatlas.corpora.treebanks.sentence import tree_defect
from headatlas.encoding.kinds import TokenKind
from headatlas.encoding.template import SPECIAL
from headatlas.errors import AtlasError
from headatlas.files import json_text, parse_json, write_text
from headatlas.limits import LARGEST_JSON, LARGEST_MAPS, RAISE, read_within
from headatlas.models.stacks import HeadShape, Stack, parse_shape
from headatlas.store.examples import StoredExample, units_of
from headatlas.store.word_maps import STORED_TYPES, tensor_bytes, windows

FORMAT = "headatlas-maps-1"
INDEX = "index.json"


@dataclass(frozen=True)
class MapFile:
    """One file of maps, as it was when it was written."""

    file: str
    examples: int
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Index:
    """A store's index.json."""

    level: Level  # whether the maps are between words or between tokens
    dtype: str  # of the numbers: float16 or float32
    states: int  # numbers in a hidden state; 0 where none are kept
    file_bytes: int  # a file of maps takes examples up to this size
    model: dict[str, Any]  # as in the manifest of an atlas
    settings: dict[str, Any]  # what decides the numbers
    corpora: dict[str, Any]  # as in the manifest of an atlas
    versions: dict[str, str]
    examples: list[StoredExample] = field(repr=False)
    files: list[MapFile] = field(default_factory=list)  # those that are written
    complete: bool = False
    maps: bool = True  # whether maps are kept, or hidden states alone

    @property
    def shape(self) -> HeadShape:
        """The heads of each layer."""
        return HeadShape(tuple(self.model["heads"]))

    def example_bytes(self) -> list[int]:
        """What the numbers of each example take."""
        level, shape = self.level, self.shape
        return [
            tensor_bytes(shape, level, units_of(example, level), self.states, self.dtype, self.maps)
            for example in self.examples
        ]

    def plan(self) -> list[range]:
        """The examples of each file."""
        return list(windows(self.example_bytes(), self.file_bytes))

    def places(self) -> list[tuple[int, int]]:
        """The file of each example, and its number there."""
        return [(file, number) for file, places in enumerate(self.plan()) for number in range(len(places))]


def map_file_name(number: int) -> str:
    """The name of the file of maps of this number."""
    return f"maps-{number:05}.safetensors"


def write_index(folder: Path, index: Index) -> None:
    """Write index.json, with an example a line so that people and line tools can read it."""
    about = {"format": FORMAT} | {key: value for key, value in vars(index).items() if key != "examples"}
    about["files"] = [vars(file) for file in index.files]
    lines = [
        json_text(_record(example) | {"file": file, "number": number})
        for example, (file, number) in zip(index.examples, index.places(), strict=True)
    ]
    head = json_text(about, indent=1).removesuffix("\n}")
    write_text(folder / INDEX, f'{head},\n "examples": [\n' + ",\n".join(lines) + "\n ]\n}\n")


def read_index(folder: Path) -> Index:
    """The index of a folder; AtlasError where there is none or it is damaged."""
    path = folder / INDEX
    try:
        record = parse_json(read_within(path, LARGEST_JSON).decode("utf-8"))
        if not isinstance(record, dict) or record.pop("format", None) != FORMAT:
            raise AtlasError(f"{path}: not the index of a store of maps.")
        files = [MapFile(**file) for file in record.pop("files")]
        examples = [_example(example, number) for number, example in enumerate(record.pop("examples"))]
        index = Index(**record, files=files, examples=examples)
        check_index(index)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise AtlasError(f"{folder}: no store of maps here (no {INDEX}). Make one with: headatlas extract") from error
    except (OSError, KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise AtlasError(f"{path}: damaged ({error}). Extract the maps again.") from error
    return index


def _record(example: StoredExample) -> dict[str, Any]:
    """An example as JSON has it; arrays as lists."""
    return {key: value.tolist() if isinstance(value, np.ndarray) else value for key, value in vars(example).items()}


def _example(record: Mapping[str, Any], number: int) -> StoredExample:
    tree = record["words"] is not None
    example = StoredExample(
        id=str(record["id"]),
        document=str(record["document"]),
        tokens=tuple(map(str, record["tokens"])),
        kinds=np.array(record["kinds"], dtype=np.uint8),
        word_of=np.array(record["word_of"], dtype=np.int32),
        words=tuple(map(str, record["words"])) if tree else None,
        heads=np.array(record["heads"], dtype=np.int64) if tree else None,
        relations=tuple(map(str, record["relations"])) if tree else None,
    )
    fitting = example.kinds.shape == example.word_of.shape == (len(example),)
    if not fitting or example.kinds.max(initial=0) > max(TokenKind) or example.word_of.min(initial=SPECIAL) < SPECIAL:
        raise ValueError(f"the tokens of example {number} do not fit their kinds and words")
    if example.words is not None and example.heads is not None and example.relations is not None:
        fitting = example.heads.shape == (len(example.words),) == (len(example.relations),)
        if not fitting or tree_defect(example.heads.tolist()) or example.word_of.max(initial=-1) >= len(example.words):
            raise ValueError(f"the words of example {number} do not fit their tree and tokens")
    return example


def _check_types(index: Index) -> None:
    """What a survey of the maps will look up."""
    parse_shape(index.model["heads"])
    corpora = index.corpora.values()
    texts = [index.model["name"]]
    texts += [dict(file)[key] for corpus in corpora for file in corpus["files"] for key in ("file", "sha256")]
    sizes = [index.states, index.file_bytes]
    sizes += [size for file in index.files for size in (file.examples, file.bytes)]
    sizes += [count for corpus in corpora for count in corpus["left_out"].values()]
    if not all(type(size) is int and size >= 0 for size in sizes):
        raise ValueError("a size or a count is not a number")
    if not all(isinstance(text, str) for text in texts) or index.model["attention"] not in get_args(Stack):
        raise ValueError("the model or a file has no name, or the model's attention is unknown")
    if not (isinstance(index.settings, dict) and type(index.complete) is type(index.maps) is bool):
        raise ValueError("the settings, or whether the store is complete and has maps, are missing")


def _check_sizes(index: Index) -> None:
    """What is declared of each example must fit into the memory, a layer of it at a time."""
    for example in index.examples:
        rows = units_of(example, index.level)
        for what, numbers in (
            ("one layer's maps", index.maps * index.shape.most_heads * rows * rows),
            ("the hidden states", (index.shape.layers + 1) * rows * index.states),
        ):
            if 4 * numbers > LARGEST_MAPS:
                size = f"{4 * numbers / 1e9:,.1f} GB, more than {LARGEST_MAPS / 1e9:g} GB"
                raise ValueError(f"{what} of example {example.id}, {len(example):,} tokens, take {size}. {RAISE[:-1]}")


def check_index(index: Index) -> None:
    """ValueError if an index does not say what a store must, or declares more than fits into memory."""
    _check_types(index)
    if index.level not in ("words", "tokens") or index.dtype not in STORED_TYPES:
        raise ValueError(f"level {index.level!r} or dtype {index.dtype!r} is unknown")
    if index.level == "words" and any(example.words is None for example in index.examples):
        raise ValueError("the maps are between words, but some examples have none")
    _check_sizes(index)
    if len({example.id for example in index.examples}) < len(index.examples):
        raise ValueError("two examples have the same id")
    plan, sizes = index.plan(), index.example_bytes()
    planned, listed = [len(places) for places in plan], [file.examples for file in index.files]
    if listed != (planned if index.complete else planned[: len(listed)]):
        raise ValueError("the files listed do not hold the examples listed")
    if [file.file for file in index.files] != [map_file_name(number) for number in range(len(index.files))]:
        raise ValueError("the files are not in order")
    for file, places in zip(index.files, plan, strict=False):  # of a store that is not complete, the first ones
        if (declared := sum(sizes[place] for place in places)) > file.bytes:
            raise ValueError(f"its examples need {declared:,} bytes in {file.file}, which has {file.bytes:,}")
