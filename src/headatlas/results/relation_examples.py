"""Heads that follow a dependency relation, each on a sentence of the treebank: what figure 5 is drawn from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors import numpy as safetensors_numpy

from headatlas.errors import AtlasError
from headatlas.files import json_text, parse_json, safetensors_metadata, write_atomically
from headatlas.limits import LARGEST_EXAMPLES, read_within


@dataclass(frozen=True)
class RelationExample:
    """One head (layer and head from 1) on one sentence, and where the relation truly holds in it."""

    relation: str
    layer: int
    head: int
    direction: str  # dependent_to_head or head_to_dependent: which of the two attends
    words: tuple[str, ...]
    weights: NDArray[np.floating]  # [words, words], row = from
    pairs: tuple[tuple[int, int], ...]  # (dependent, head) in the sentence, words from 0
    accuracy: float | None = None  # share of dependents that the head gets right, 0 to 1


def save_relation_examples(examples: Sequence[RelationExample], path: Path) -> None:
    """Write words, pairs and maps (float16) into one safetensors file."""
    about = [{key: value for key, value in vars(example).items() if key != "weights"} for example in examples]
    maps = {str(number): example.weights.astype(np.float16) for number, example in enumerate(examples)}
    content = safetensors_numpy.save(maps, metadata={"examples": json_text(about)})
    write_atomically(path, lambda temporary: temporary.write_bytes(content))


def load_relation_examples(path: Path) -> list[RelationExample]:
    """Read examples back."""
    try:
        content = read_within(path, LARGEST_EXAMPLES)
        maps = safetensors_numpy.load(content)
        about = parse_json(safetensors_metadata(content)["examples"])
        return [_example(one, maps[str(number)]) for number, one in enumerate(about)]
    except (OSError, SafetensorError, AttributeError, KeyError, ValueError, TypeError, OverflowError) as error:
        raise AtlasError(f"{path}: damaged ({error}). Run the survey again.") from error


def _example(about: dict[str, object], weights: NDArray[np.float16]) -> RelationExample:
    pairs = tuple((int(dependent), int(head)) for dependent, head in about.pop("pairs"))  # type: ignore[attr-defined]
    words = tuple(map(str, about.pop("words")))  # type: ignore[call-overload]
    if weights.shape != (len(words), len(words)) or any(not 0 <= end < len(words) for pair in pairs for end in pair):
        raise ValueError("words, pairs and maps do not belong together")
    if not all(type(about[name]) is int for name in ("layer", "head")):
        raise ValueError("layer and head are no numbers")
    return RelationExample(words=words, pairs=pairs, weights=weights.astype(np.float32), **about)  # type: ignore[arg-type]
