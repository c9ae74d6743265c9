"""A store of random states and maps between tokens, with random targets on spans."""

from pathlib import Path

import numpy as np
import torch

from headatlas.encoding.span_segments import TokenTarget
from headatlas.probes.span_batches import SpanTargets, labels_of
from headatlas.store.examples import StoredExample, Tensors
from headatlas.store.index import Index
from headatlas.store.reading import open_store
from headatlas.store.writing import write_store

LAYERS, HEADS, STATES = 2, 3, 5
MODEL = {"name": "m", "attention": "encoder", "heads": [HEADS] * LAYERS}


def random_targets(rng, tokens, spans, names, count, several=False):
    found = []
    for _ in range(count):
        ends = [sorted(rng.choice(tokens + 1, size=2, replace=False).tolist()) for _ in range(spans)]
        size = int(rng.integers(0, 3)) if several else 1
        labels = tuple(rng.choice(names, size=size, replace=False).tolist())
        places = tuple((start, end) for start, end in ends)
        found.append(TokenTarget(places, labels, places, Path("a"), 1))
    return tuple(found)


def random_spans(folder, rng, *, texts=30, spans=1, names=("x", "y", "z"), several=False, negative=None, maps=True):
    """Texts of 4 to 9 tokens with 1 to 5 targets; the store is written to the folder."""
    sizes = [int(rng.integers(4, 10)) for _ in range(texts)]
    examples = [
        StoredExample(
            f"0.{number}.0",
            f"0.{number}",
            ("t",) * size,
            np.zeros(size, np.uint8),
            np.arange(size, dtype=np.int32),
            None,
            None,
            None,
        )
        for number, size in enumerate(sizes)
    ]
    index = Index("tokens", "float32", STATES, 4000, MODEL, {}, {}, {}, examples, maps=maps)
    numbers = []
    for size in sizes:
        attention = rng.dirichlet(np.ones(size), size=(LAYERS * HEADS, size)).astype(np.float32)
        states = rng.normal(size=(LAYERS + 1, size, STATES)).astype(np.float32)
        numbers.append(Tensors(attention if maps else None, states))
    write_store(folder, index, lambda places: iter(numbers[places.start : places.stop]))
    targets = [random_targets(rng, size, spans, names, int(rng.integers(1, 6)), several) for size in sizes]
    labels = labels_of((target for some in targets for target in some), negative)
    return SpanTargets(open_store(folder), range(texts), targets, labels, torch.device("cpu")), numbers
