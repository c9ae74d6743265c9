"""The inputs that a survey saves with all their maps: short ones of every corpus, sampled without regard to any head.

Text segments are cut to the length of a picture. Sentences of a treebank stay whole; those that add a new relation come
first. Stretches of a coreference corpus are cut after a sentence where possible, and hold at least one mention with an
antecedent. Documents with keyphrases are cut likewise, and hold a word of a keyphrase.

`relation_examples` adds clear examples of what the best heads do (figure 5): short sentences on which a head is right
about every word of its relation, with the largest weights. They are chosen to be clear, not typical: the table says how
often the head is right.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from headatlas.corpora.keyphrases.key_words import OUTSIDE
from headatlas.corpora.treebanks.sentence import ROOT
from headatlas.encoding.batches import iterate_batches, plan_batches
from headatlas.encoding.keyphrase_segments import KeyphraseSegment
from headatlas.encoding.kinds import KindTable
from headatlas.encoding.mention_segments import MentionSegment
from headatlas.encoding.segments import Segment
from headatlas.encoding.template import SPECIAL
from headatlas.encoding.word_segments import ParsedSegment, WordSegment
from headatlas.models.model import Model, Observable
from headatlas.models.stacks import Stack
from headatlas.results.example import Example, RelationExample, Tree
from headatlas.statistics.classifier import predictions
from headatlas.statistics.words import FromTokens, WordIndex, word_attention, word_index
from headatlas.studies.coreference_baselines import antecedents
from headatlas.views.figures.sentence import all_maps

FITTING_TOKENS = 28  # as many as a picture shows well
DOCUMENT_TOKENS = 60  # a title and a sentence or two
MENTION_TOKENS = 36  # room for a mention and its antecedent
FEWEST_WORDS = 4  # of a treebank's sentence
SENTENCE_ENDS = frozenset(".?!")
SHORTEST, LONGEST = 4, 14  # words of a sentence that a picture shows well
POOL = 40  # sentences looked at for each relation
KEPT = 2  # examples of each relation


def choose_examples(corpora: Mapping[str, Sequence[Segment]], count: int, seed: int) -> list[tuple[str, Segment]]:
    """Return up to `count` short segments with their corpora: the one that figure 1 shows, then equal shares."""
    first = next(iter(corpora))
    shown = choose_example(corpora[first])
    pools = {name: _candidates(segments, seed) for name, segments in corpora.items()}
    pools[first] = [segment for segment in pools[first] if segment.id != shown.id]
    chosen: dict[str, list[Segment]] = {name: [shown] if name == first else [] for name in corpora}
    left = count - 1
    while left and any(pools.values()):
        name = min((name for name in pools if pools[name]), key=lambda name: len(chosen[name]))
        chosen[name].append(pools[name].pop())
        left -= 1
    return [(name, segment) for name, segments in chosen.items() for segment in segments]


def choose_example(segments: Sequence[Segment]) -> Segment:
    """Return the segment nearest to the length of a picture, cut if it is longer."""
    nearest = min(segments, key=lambda segment: (abs(len(segment) - FITTING_TOKENS), segment.id))
    if isinstance(nearest, KeyphraseSegment):
        return shorten_document(nearest, DOCUMENT_TOKENS)
    return shorten(nearest, FITTING_TOKENS)


def shorten(segment: Segment, most_tokens: int) -> Segment:
    """Keep the special tokens and the beginning of each span between them. The result has no tree or mentions."""
    if len(segment) <= most_tokens:
        return segment
    special = segment.words == SPECIAL
    spans = np.cumsum(special) * ~special  # the span a text token belongs to, by the specials before it
    names = sorted(set(spans[~special].tolist()))
    room = (most_tokens - int(special.sum())) // max(1, len(names))
    keep = special.copy()
    for span in names:
        keep[np.flatnonzero((spans == span) & ~special)[:room]] = True
    return Segment(segment.id, segment.ids[keep], segment.type_ids[keep], segment.words[keep])


def shorten_mentions(segment: MentionSegment, most_tokens: int) -> MentionSegment:
    """Keep the first words that fit, up to the end of a sentence if one ends among them, and the mentions within."""
    size = _whole_sentences(segment, most_tokens)
    if size == segment.size:
        return segment
    return replace(
        segment,
        **_first_words(segment, size),
        tags=segment.tags[:size],
        mentions=tuple(mention for mention in segment.mentions if mention.end <= size),
    )


def shorten_document(segment: KeyphraseSegment, most_tokens: int) -> KeyphraseSegment:
    """Keep the first words that fit, up to the end of a sentence if one ends among them, with their tags."""
    size = _whole_sentences(segment, most_tokens)
    return replace(segment, **_first_words(segment, size), tags=segment.tags[:size], counted=segment.counted[:size])


def _whole_sentences(segment: WordSegment, most_tokens: int) -> int:
    """Count the first words that fit into `most_tokens`, up to the end of a sentence if one ends among them."""
    special = segment.words == SPECIAL
    tokens = np.bincount(segment.words[~special], minlength=segment.size)
    size = int(np.searchsorted(np.cumsum(tokens), most_tokens - int(special.sum()), side="right"))
    if size == segment.size:
        return size
    ends = [word + 1 for word in range(size) if segment.text[word] in SENTENCE_ENDS]
    return ends[-1] if ends else size


def _first_words(segment: WordSegment, size: int) -> dict[str, Any]:
    """Return the fields of a segment of words, restricted to its special tokens and first words."""
    keep = segment.words < size  # special tokens have lower numbers
    tokens = {name: getattr(segment, name)[keep] for name in ("ids", "type_ids", "words")}
    return tokens | {"text": segment.text[:size]}


def make_examples(
    model: Model, chosen: Sequence[tuple[str, Segment]], relations: Sequence[str], *, kinds: KindTable, stack: Stack
) -> list[Example]:
    """Run the chosen segments, one at a time so that nothing is padded, with all their maps."""
    segments = [segment for _, segment in chosen]
    plan = plan_batches(segments, batch_tokens=1)
    examples: dict[int, Example] = {}
    for (place,), batch in zip(plan, iterate_batches(segments, plan, kinds, model.pad_id), strict=True):
        corpus, segment = chosen[place]
        examples[place] = _example(model, corpus, segment, relations, all_maps(model, batch.to(model.device), stack))
    return [examples[place] for place in range(len(chosen))]


def _candidates(segments: Sequence[Segment], seed: int) -> list[Segment]:
    """Return what may become an example, in reverse order of preference."""
    order = list(segments)
    random.Random(seed).shuffle(order)
    parsed = [segment for segment in order if isinstance(segment, ParsedSegment)]
    mentions = [segment for segment in order if isinstance(segment, MentionSegment)]
    if parsed:
        fitting = [segment for segment in parsed if len(segment) <= FITTING_TOKENS and segment.size >= FEWEST_WORDS]
        return _new_relations_first(fitting)[::-1]
    documents = [segment for segment in order if isinstance(segment, KeyphraseSegment)]
    if documents:
        beginnings = (shorten_document(segment, DOCUMENT_TOKENS) for segment in documents if segment.first == 0)
        return [segment for segment in beginnings if segment.tags.any()]
    if mentions:
        stretches = (shorten_mentions(segment, MENTION_TOKENS) for segment in mentions)
        return [stretch for stretch in stretches if any(antecedents(stretch.mentions))]
    return [shorten(segment, FITTING_TOKENS) for segment in order]


def _new_relations_first(sentences: Iterable[ParsedSegment]) -> list[Segment]:
    seen: set[int] = set()
    adding: list[Segment] = []
    rest: list[Segment] = []
    for sentence in sentences:
        relations = set(sentence.relations.tolist())
        (rest if relations <= seen else adding).append(sentence)
        seen |= relations
    return adding + rest


def _example(
    model: Model, corpus: str, segment: Segment, relations: Sequence[str], maps: NDArray[np.float32]
) -> Example:
    tokens = list(model.tokenizer.convert_ids_to_tokens(segment.ids.tolist()))
    if not isinstance(segment, WordSegment):
        word_of, words = _words(model, tokens, segment.words)
        return Example(tokens, word_of, maps, words, corpus)
    tree = None
    if isinstance(segment, ParsedSegment):
        names = tuple(relations[number] for number in segment.relations.tolist())
        tree = Tree(tuple(segment.heads.tolist()), names, tuple(segment.counts_as.tolist()))
    mentions = segment.mentions if isinstance(segment, MentionSegment) else ()
    key = tuple((segment.tags != OUTSIDE).tolist()) if isinstance(segment, KeyphraseSegment) else ()
    return Example(tokens, segment.words.tolist(), maps, segment.text, corpus, tree, mentions, key)


def _words(model: Model, tokens: Sequence[str], index: NDArray[np.int32]) -> tuple[list[int], tuple[str, ...]]:
    """Return the words of plain text, numbered from 0 and spelled out of their tokens."""
    numbers = np.unique(index[index != SPECIAL])
    word_of = np.where(index == SPECIAL, SPECIAL, np.searchsorted(numbers, index))
    texts = []
    for word in range(len(numbers)):
        pieces = [token for token, owner in zip(tokens, word_of, strict=True) if owner == word]
        texts.append(model.tokenizer.convert_tokens_to_string(pieces).strip() or "".join(pieces))
    return word_of.tolist(), tuple(texts)


class BestHead(NamedTuple):
    """The columns of the table of best heads that are needed here."""

    relation: str
    layer: int
    head: int
    direction: str
    accuracy: float


def relation_examples(
    model: Observable,
    segments: Sequence[ParsedSegment],
    relations: Sequence[str],
    best: pd.DataFrame,
    *,
    kinds: KindTable,
    how: FromTokens,
    stack: Stack,
    batch_tokens: int,
) -> list[RelationExample]:
    """Return up to two examples of each relation in the table of best heads. relations: names by number."""
    number = {relation: index for index, relation in enumerate(relations)}
    rows = [BestHead(*values) for values in best[list(BestHead._fields)].itertuples(index=False, name=None)]
    rows = [row for row in rows if row.relation in number]
    pools = {row.relation: _pool(segments, number[row.relation]) for row in rows}
    chosen = sorted({place for pool in pools.values() for place in pool})
    maps = _head_maps(model, [segments[place] for place in chosen], kinds, how, stack, batch_tokens)
    maps_of = dict(zip(chosen, maps, strict=True))
    examples = []
    for row in rows:
        candidates = []
        for place in pools[row.relation]:
            weights, pairs = maps_of[place][row.layer][row.head - 1], _pairs(segments[place], number[row.relation])
            clarity = _clarity(weights, pairs, row.direction)
            if clarity is not None:
                candidates.append((clarity, _relation_example(row, segments[place], weights, pairs)))
        candidates.sort(key=lambda candidate: -candidate[0])
        examples += [example for _, example in candidates[:KEPT]]
    return examples


def _pool(segments: Sequence[ParsedSegment], relation: int) -> list[int]:
    """Return the places of the first short sentences that have the relation."""
    fitting = (
        place
        for place, segment in enumerate(segments)
        if SHORTEST <= segment.size <= LONGEST and ((segment.relations == relation) & (segment.heads != ROOT)).any()
    )
    return [place for place, _ in zip(fitting, range(POOL), strict=False)]


def _pairs(segment: ParsedSegment, relation: int) -> list[tuple[int, int]]:
    """Return the pairs of the relation: the word that predicts, for some possessors their clitic, and the true head."""
    words = np.flatnonzero((segment.relations == relation) & (segment.heads != ROOT))
    return [(int(segment.counts_as[word]), int(segment.heads[word])) for word in words]


def _clarity(weights: NDArray[np.float32], pairs: Sequence[tuple[int, int]], direction: str) -> float | None:
    """Return the smallest weight on a true pair, or None if the head is wrong about one."""
    towards = weights if direction == "dependent_to_head" else weights.T
    every = torch.ones(1, len(weights), dtype=torch.bool)
    predicted, _ = predictions(torch.from_numpy(np.ascontiguousarray(towards))[None, None], every)
    if any(int(predicted[0, 0, dependent]) != head for dependent, head in pairs):
        return None
    return min(float(towards[dependent, head]) for dependent, head in pairs)


def _relation_example(
    row: BestHead, segment: ParsedSegment, weights: NDArray[np.float32], pairs: list[tuple[int, int]]
) -> RelationExample:
    return RelationExample(words=segment.text, weights=weights, pairs=tuple(pairs), **row._asdict())


def _head_maps(
    model: Observable,
    segments: Sequence[ParsedSegment],
    kinds: KindTable,
    how: FromTokens,
    stack: Stack,
    batch_tokens: int,
) -> list[dict[int, NDArray[np.float32]]]:
    """Return the word maps of every layer (from 1) for each segment, without special tokens: [H, words, words]."""
    maps_of: list[dict[int, NDArray[np.float32]]] = [{} for _ in segments]
    plan = plan_batches(segments, batch_tokens)
    for places, batch in zip(plan, iterate_batches(segments, plan, kinds, model.pad_id), strict=True):
        moved = batch.to(model.device)
        layers: dict[int, Tensor] = {}
        model.observe(moved, partial(_keep, layers, word_index(moved), how), stack)
        for row, place in enumerate(places):
            size = segments[place].size
            maps_of[place] = {layer: maps[row, :, :size, :size].numpy().copy() for layer, maps in layers.items()}
    return maps_of


def _keep(
    layers: dict[int, Tensor], index: WordIndex, how: FromTokens, layer: int, weights: Tensor, _mask: Tensor | None
) -> None:
    layers[layer + 1] = word_attention(weights, index.index, index.size, how).to("cpu", torch.float32)
