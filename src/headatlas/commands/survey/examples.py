"""The inputs that a survey saves with all their maps: short ones of every corpus, sampled without regard to any head.

They are chosen before the model runs. Whole inputs are kept as they pass; those that had to be cut to the length of a
picture are inputs of their own.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from headatlas.encoding.segments import Segment
from headatlas.encoding.template import SPECIAL
from headatlas.encoding.token_texts import token_texts
from headatlas.encoding.word_segments import FITTING_TOKENS, WordSegment
from headatlas.engine.corpora import KINDS, Corpus, Gold, Tree
from headatlas.models.model import Model
from headatlas.results.example import Example
from headatlas.store.examples import TokenMaps
from headatlas.store.reading import Store

MOST_BYTES = 1 << 27  # of the maps of all examples, in float16


def choose_examples(corpora: Mapping[str, Corpus], count: int, seed: int, heads: int) -> dict[str, list[Segment]]:
    """Choose up to `count` short segments by corpus: the one that figure 1 shows, then equal shares.

    Of a model with thousands of heads fewer are chosen: as many as have at most MOST_BYTES of maps.
    """
    first = next(iter(corpora))
    shown = choose_example(first, corpora[first].segments)
    pools = {kind: _candidates(kind, corpus.segments, seed) for kind, corpus in corpora.items()}
    pools[first] = [segment for segment in pools[first] if segment.id != shown.id]
    chosen: dict[str, list[Segment]] = {kind: [shown] if kind == first else [] for kind in corpora}
    left, room = count - 1, MOST_BYTES // (2 * heads) - len(shown) ** 2
    while left and any(pools.values()):
        kind = min((kind for kind in pools if pools[kind]), key=lambda kind: len(chosen[kind]))
        segment = pools[kind].pop()
        room -= len(segment) ** 2
        if room < 0:
            break
        chosen[kind].append(segment)
        left -= 1
    return chosen


def choose_example(kind: str, segments: Sequence[Segment]) -> Segment:
    """Return the segment nearest to the length of a picture, cut if it is longer."""
    nearest = min(segments, key=lambda segment: (abs(len(segment) - FITTING_TOKENS), segment.id))
    return KINDS[kind]().picture(nearest)


def _candidates(kind: str, segments: Sequence[Segment], seed: int) -> list[Segment]:
    """Return what may become an example, in reverse order of preference."""
    order = list(segments)
    random.Random(seed).shuffle(order)
    return KINDS[kind]().examples(order)


def make_example(model: Model, kind: str, corpus: Corpus, segment: Segment, maps: NDArray[np.floating]) -> Example:
    """Return a segment with its maps, in words and with what the corpus says about them."""
    names = list(model.tokenizer.convert_ids_to_tokens(segment.ids.tolist()))
    tokens = token_texts(names, model.tokenizer)
    if not isinstance(segment, WordSegment):
        word_of, words = _words(model, names, segment.words)
        return _example(tokens, word_of, maps, words, kind, Gold())
    gold = KINDS[kind]().gold(segment, corpus.about)
    return _example(tokens, segment.words.tolist(), maps, segment.text, kind, gold)


def _example(
    tokens: list[str], word_of: list[int], maps: NDArray[np.floating], words: tuple[str, ...], kind: str, gold: Gold
) -> Example:
    return Example(tokens, word_of, maps.astype(np.float32), words, kind, gold.tree, gold.mentions, gold.key)


def _words(model: Model, tokens: Sequence[str], index: NDArray[np.int32]) -> tuple[list[int], tuple[str, ...]]:
    """Return the words of plain text, numbered from 0 and spelled out of their tokens."""
    word_of = _renumbered(index)
    texts = []
    for word in range(word_of.max(initial=SPECIAL) + 1):
        pieces = [token for token, owner in zip(tokens, word_of, strict=True) if owner == word]
        texts.append(model.tokenizer.convert_tokens_to_string(pieces).strip() or "".join(pieces))
    return word_of.tolist(), tuple(texts)


def _renumbered(index: NDArray[np.int32]) -> NDArray[np.int64]:
    """Number the words that occur from 0."""
    numbers = np.unique(index[index != SPECIAL])
    return np.where(index == SPECIAL, SPECIAL, np.searchsorted(numbers, index))


def stored_examples(store: Store, count: int) -> list[Example]:
    """Return the longest stored inputs that a picture shows whole. Maps between words have no tokens to show."""
    if store.level == "words":
        return []
    fitting = [number for number, example in enumerate(store.examples) if len(example) <= FITTING_TOKENS]
    longest = sorted(fitting, key=lambda number: (-len(store.examples[number]), number))[:count]
    return [_stored(stored) for stored in (store[number] for number in longest) if isinstance(stored, TokenMaps)]


def _stored(stored: TokenMaps) -> Example:
    """Return a stored input with its maps. Words that are stored without their text are spelled out of their tokens."""
    example = stored.example
    word_of = _renumbered(example.word_of) if example.words is None else example.word_of
    spelled = [
        "".join(token.removeprefix("##") for token, word in zip(example.tokens, word_of, strict=True) if word == number)
        for number in range(word_of.max(initial=SPECIAL) + 1)
    ]
    gold = Gold()
    if example.heads is not None and example.relations is not None:
        gold = Gold(Tree(tuple(example.heads.tolist()), example.relations, tuple(range(len(example.heads)))))
    kind = "text" if gold.tree is None else "treebank"
    return _example(list(example.tokens), word_of.tolist(), stored.maps, example.words or tuple(spelled), kind, gold)
