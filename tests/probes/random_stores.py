"""Small stores of random maps over random trees, and probes' data over them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from headatlas.corpora.treebanks.sentence import ROOT
from headatlas.probes.batches import Sentences
from headatlas.probes.vectors import WordVectors
from headatlas.store.examples import SPECIAL_UNITS, StoredExample, Tensors
from headatlas.store.index import Index
from headatlas.store.reading import Store, open_store
from headatlas.store.writing import write_store

WORDS = ("dogs", "Dogs", "cats", "bark", "the", "a", "old", "river", ".")
CPU = torch.device("cpu")


def random_tree(size: int, rng: np.random.Generator) -> np.ndarray:
    """Heads of a random tree: each word hangs on one before it in a random order."""
    order = rng.permutation(size)
    heads = np.full(size, ROOT)
    for place in range(1, size):
        heads[order[place]] = order[rng.integers(place)]
    return heads


def random_store(
    folder: Path,
    sizes: list[int],
    *,
    heads: tuple[int, ...] = (2, 1),
    states: int = 0,
    seed: int = 0,
    telling: bool = False,
    file_bytes: int = 4000,
    trees: list[np.ndarray] | None = None,
) -> Store:
    """A store in several shards. telling: the first head of the model attends from each word to its head."""
    rng = np.random.default_rng(seed)
    examples, numbers = [], []
    for place, size in enumerate(sizes):
        tree = trees[place] if trees is not None else random_tree(size, rng)
        words = tuple(str(word) for word in rng.choice(WORDS, size))
        named = ["punct" if word == "." else "nsubj" for word in words]
        relations = tuple("root" if head == ROOT else name for name, head in zip(named, tree.tolist(), strict=True))
        maps = rng.dirichlet(np.ones(size + SPECIAL_UNITS), (sum(heads), size + SPECIAL_UNITS)).astype(np.float32)
        if telling:
            maps[0] = 0
            maps[0, np.arange(size), np.where(tree == ROOT, size, tree)] = 1
        tokens = ("[CLS]", *words, "[SEP]")
        kinds = np.zeros(len(tokens), np.uint8)
        word_of = np.array([-1, *range(size), -1], np.int32)
        examples.append(StoredExample(f"0.0.{place}", "0.0", tokens, kinds, word_of, words, tree, relations))
        layers = rng.normal(size=(len(heads) + 1, size, states)).astype(np.float32) if states else None
        numbers.append(Tensors(maps, layers))
    index = Index(
        level="words",
        dtype="float32",
        states=states,
        file_bytes=file_bytes,
        model={"name": "random", "attention": "encoder", "heads": list(heads), "layers": len(heads)},
        settings={"model": "random"},
        corpora={"treebank": {"files": [], "left_out": {}}},
        versions={},
        examples=examples,
    )
    write_store(folder, index, lambda places: (numbers[place] for place in places))
    return open_store(folder)


def word_vectors(width: int = 4, seed: int = 1) -> WordVectors:
    """A vector for most WORDS."""
    rng = np.random.default_rng(seed)
    known = {word: row for row, word in enumerate(("dogs", "cats", "bark", "the", "old"))}
    table = rng.normal(size=(len(known) + 1, width)).astype(np.float32)
    return WordVectors(table, known, {"name": "test", "sha256": "0", "width": width, "found": 5, "given_twice": 0})


def data(store: Store, memory_bytes: int = 1 << 20) -> Sentences:
    """Sentences of a store with word vectors, on the CPU."""
    return Sentences(store, word_vectors(), CPU, memory_bytes)
