"""Heads that follow a dependency relation, each on a sentence of the treebank: the data of figure 5."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas.results.example import load_described, save_described


@dataclass(frozen=True)
class RelationExample:
    """One head (layer and head from 1) on one sentence, with the pairs of words that stand in the relation."""

    relation: str
    layer: int
    head: int
    direction: str  # dependent_to_head or head_to_dependent: which of the two attends
    words: tuple[str, ...]
    weights: NDArray[np.floating]  # [words, words], row = from
    pairs: tuple[tuple[int, int], ...]  # (dependent, head) in the sentence, words from 0
    accuracy: float | None = None  # share of dependents that the head gets right, 0 to 1


def save_relation_examples(examples: Sequence[RelationExample], path: Path) -> None:
    """Write all examples into one file."""
    described = [{name: value for name, value in vars(example).items() if name != "weights"} for example in examples]
    save_described(path, described, [example.weights for example in examples])


def load_relation_examples(path: Path) -> list[RelationExample]:
    """Read the examples of `save_relation_examples`."""
    return load_described(path, _example)


def _example(about: dict[str, Any], weights: NDArray[np.float32]) -> RelationExample:
    pairs = tuple((int(dependent), int(head)) for dependent, head in about["pairs"])
    words = tuple(map(str, about["words"]))
    if weights.shape != (len(words), len(words)) or any(not 0 <= end < len(words) for pair in pairs for end in pair):
        raise ValueError("words, pairs and maps do not fit together")
    if not all(type(about[name]) is int for name in ("layer", "head")):
        raise ValueError("layer and head are not numbers")
    return RelationExample(**about | {"words": words, "pairs": pairs, "weights": weights})
