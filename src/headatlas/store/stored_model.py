"""Stored maps in place of the model they came from: studies look at them as at a model's, and no weights are loaded.

The segments made here stand for stored examples. Their token ids are the tokens' kinds, which is all that studies of
attention ask about tokens; `OWN_KINDS` reads them back. Where maps are between words, each word counts as one token.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from headatlas.choices import Level
from headatlas.corpora.treebanks.sentence import Sentence
from headatlas.encoding.batches import Batch
from headatlas.encoding.kinds import KindTable, TokenKind
from headatlas.encoding.segments import Segment
from headatlas.encoding.template import SPECIAL
from headatlas.encoding.unknown import UnknownCounts, add_up, count_in_input
from headatlas.encoding.word_segments import ParsedSegment
from headatlas.errors import AtlasError
from headatlas.models.model import SeeMap
from headatlas.models.stacks import HeadShape, Stack
from headatlas.store.examples import SPECIAL_UNITS, StoredExample, units_of
from headatlas.store.index import INDEX
from headatlas.store.reading import Store

OWN_KINDS = KindTable(np.arange(max(TokenKind) + 1, dtype=np.uint8))


class StoredMaps:
    """A store that can be observed."""

    def __init__(self, store: Store, device: torch.device) -> None:
        self.name: str = store.model["name"]
        self.device = device
        self.default_stack: Stack = store.model["attention"]
        self.shapes: dict[Stack, HeadShape] = {self.default_stack: store.shape}
        self.pad_id = int(TokenKind.OTHER)
        self._store = store

    def observe(self, batch: Batch, see: SeeMap, _stack: Stack | None = None) -> None:
        """Show the stored maps of a batch of segments that stand for examples, a layer at a time."""
        numbers = [self._store.numbers[segment.id] for segment in batch.segments]
        rows = [shown_units(self._store.examples[number], self._store.level) for number in numbers]
        size = batch.mask.shape[1]
        for layer, heads in enumerate(self._store.shape.heads):
            weights = torch.zeros((len(numbers), heads, size, size))
            for target, number, units in zip(weights, numbers, rows, strict=True):
                maps = self._store.layer(number, layer)
                if len(units) < maps.shape[-1]:
                    maps = maps[:, units][:, :, units]
                target[:, : len(units), : len(units)] = torch.from_numpy(maps)
            see(layer, weights.to(self.device), None)


def shown_units(example: StoredExample, level: Level) -> NDArray[np.int64]:
    """The rows of an example's maps that stand for something: all but words without tokens."""
    every = np.arange(units_of(example, level))
    if level == "tokens" or example.words is None:
        return every
    return np.concatenate([_words_with_tokens(example), every[-SPECIAL_UNITS:]])


def text_segment(example: StoredExample) -> Segment:
    """An example with token-level maps as the studies of tokens see it."""
    return Segment(example.id, example.kinds.astype(np.int32), np.zeros(len(example), np.uint8), example.word_of)


def parsed_segment(
    example: StoredExample, level: Level, relations: Mapping[str, int], counts_as: Sequence[int]
) -> ParsedSegment:
    """An example with a tree. relations: the number of each; counts_as: see `encoding.word_segments`."""
    if example.words is None or example.heads is None or example.relations is None:
        raise AtlasError(f"Example {example.id} has no dependency tree.")
    kinds, words = example.kinds.astype(np.int32), example.word_of
    if level == "words":
        present = _words_with_tokens(example)
        kinds = np.array([TokenKind.OTHER] * len(present) + [TokenKind.CLS, TokenKind.SEP], dtype=np.int32)
        words = np.concatenate([present, [SPECIAL] * SPECIAL_UNITS]).astype(np.int32)
    return ParsedSegment(
        id=example.id,
        ids=kinds,
        type_ids=np.zeros(len(kinds), np.uint8),
        words=words,
        text=example.words,
        document=example.document,
        heads=example.heads.astype(np.int32),
        relations=np.array([relations[relation] for relation in example.relations], dtype=np.int32),
        counts_as=np.asarray(counts_as, dtype=np.int32),
    )


def stored_sentences(store: Store) -> list[Sentence]:
    """The trees of a store's examples, as sentences of a treebank without parts of speech."""
    return [
        Sentence(
            id=example.id,
            path=store.folder / INDEX,
            line=0,
            words=example.words or (),
            heads=tuple(example.heads.tolist()) if example.heads is not None else (),
            relations=example.relations or (),
            tags=("",) * len(example.words or ()),
        )
        for example in store.examples
    ]


def stored_unknown(store: Store) -> UnknownCounts:
    """Count the stored tokens that the tokenizer did not know, by the name of its unknown token."""
    special = store.model.get("special_tokens")
    name = special.get("unk") if isinstance(special, dict) else None
    return add_up(
        count_in_input(
            example.word_of,
            np.array([token == name for token in example.tokens], dtype=np.bool_),
            None if example.words is None else len(example.words),
        )
        for example in store.examples
    )


def _words_with_tokens(example: StoredExample) -> NDArray[np.int64]:
    return np.unique(example.word_of[example.word_of != SPECIAL]).astype(np.int64)
