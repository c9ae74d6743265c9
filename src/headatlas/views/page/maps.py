"""Examples as the page holds them: maps in 8 bits, and what each head predicts, computed before rounding.

A weight is stored as the nearest of 0, 1/255, ..., 1, so it is off by at most 0.2 %. The maps of one example are
compressed together and unpacked when it is first shown. Rounding makes small weights equal, so the words that a head
predicts are computed here from the atlas's own maps.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headatlas.encoding.template import SPECIAL
from headatlas.progress import moved
from headatlas.results.atlas import Atlas
from headatlas.results.example import Example
from headatlas.statistics.words import NO_PREDICTION, FromTokens, predictions, word_attention
from headatlas.studies.coreference_baselines import antecedents, preceding
from headatlas.views.page.content import SMALL, pack, words_from

LEVELS = 255
NONE = 255  # in packed predictions: no word is predicted
MOST_EXAMPLES = 60
SEPARATOR_BYTES = 2  # between two examples in the page


def add_examples(content: dict[str, Any], atlas: Atlas, room: int) -> list[Example]:
    """Add as many examples to the content as fit into `room` bytes, at least one, taking the corpora in turn.

    Returns:
        The examples that were added, in their order.
    """
    heads = atlas.manifest["model"]["heads"]
    how = words_from(atlas.manifest)
    chosen: list[tuple[int, dict[str, Any]]] = []
    for place in _in_turn(atlas.examples)[:MOST_EXAMPLES]:
        packed = packed_example(atlas.examples[place], heads, how)
        moved()
        room -= sum(map(_size, packed.values())) + SEPARATOR_BYTES
        if room < 0 and chosen:
            break
        chosen.append((place, packed))
    chosen.sort(key=lambda pair: pair[0])
    content["examples"] = [packed for _, packed in chosen]
    content["examples_kept"] = len(atlas.examples)
    if any("key" in packed for packed in content["examples"]):
        content["views"].insert(-1, "weights")  # what marked words receive, before the tables
    return [atlas.examples[place] for place, _ in chosen]


def packed_example(
    example: Example, heads: Sequence[int], how: FromTokens = "mean", level: int = SMALL
) -> dict[str, Any]:
    """One example with its maps and predictions, heads of all layers in a row."""
    layers = [layer[:number] for layer, number in zip(example.maps, heads, strict=True)]
    quantised = b"".join(np.rint(np.clip(layer, 0, 1) * LEVELS).astype(np.uint8).tobytes() for layer in layers)
    packed: dict[str, Any] = {
        "corpus": example.corpus,
        "tokens": example.tokens,
        "word_of": example.word_of,
        "words": list(example.words),
        "maps": pack(quantised, level),
    }
    if example.tree is not None:
        packed["tree"] = {name: list(values) for name, values in vars(example.tree).items()}
        packed["predictions"] = pack(_bytes(tree_predictions(word_maps(example, np.concatenate(layers), how))))
    if example.key:
        packed["key"] = list(example.key)
    if example.mentions:
        packed["mentions"] = [vars(mention) for mention in example.mentions]
        packed["antecedents"] = antecedents(example.mentions)
        packed["predictions"] = pack(
            _bytes(mention_predictions(word_maps(example, np.concatenate(layers), how), example))
        )
    return packed


def tree_predictions(words: Tensor) -> NDArray[np.int64]:
    """The head predicted for every word, by row and by column: [heads, 2, words]. words: [heads, words, words]."""
    every = torch.ones(1, words.shape[-1], dtype=torch.bool)
    by_row, by_column = predictions(words[None], every)
    return torch.stack([by_row[0], by_column[0]], 1).numpy().astype(np.int64)


def mention_predictions(words: Tensor, example: Example) -> NDArray[np.int64]:
    """The word that each mention's head word attends to most among heads of mentions before it: [heads, mentions]."""
    chosen = np.full((len(words), len(example.mentions)), NO_PREDICTION)
    for number, (mention, before) in enumerate(zip(example.mentions, preceding(example.mentions), strict=True)):
        places = sorted({example.mentions[other].head for other in before} - {mention.head})
        if places:
            weights, which = words[:, mention.head, places].max(-1)
            chosen[:, number] = np.where(weights > 0, np.asarray(places)[which], NO_PREDICTION)
    return chosen


def word_maps(example: Example, maps: NDArray[np.float32], how: FromTokens) -> Tensor:
    """Attention between words, without special tokens: [heads, words, words]."""
    index = np.asarray(example.word_of)
    special = index == SPECIAL
    numbered = np.where(special, len(example.words) + np.cumsum(special) - 1, index)
    size = len(example.words) + int(special.sum())
    weights = word_attention(torch.from_numpy(maps)[None], torch.from_numpy(numbered)[None], size, how)[0]
    return weights[:, : len(example.words), : len(example.words)].contiguous()


def _bytes(predicted: NDArray[np.int64]) -> bytes:
    return np.where(predicted == NO_PREDICTION, NONE, predicted).astype(np.uint8).tobytes()


def _in_turn(examples: Sequence[Example]) -> list[int]:
    """Places of the examples, one of each corpus in turn."""
    corpora: dict[str, list[int]] = {}
    for place, example in enumerate(examples):
        corpora.setdefault(example.corpus, []).append(place)
    return [place for round_ in zip_longest(*corpora.values()) for place in round_ if place is not None]


def _size(value: object) -> int:
    """Roughly how many bytes a value takes in the page; exact for packed values, which are nearly all."""
    return len(value) + 20 if isinstance(value, str) else 2 * len(repr(value))
