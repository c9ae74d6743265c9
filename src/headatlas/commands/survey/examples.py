"""The inputs that a survey saves with all their maps: short ones of every corpus, sampled without regard to any head.

Text segments are cut to the length of a picture. Sentences of a treebank stay whole; those that add a new relation come
first. Stretches of a coreference corpus are cut after a sentence where possible, and hold at least one mention with an
antecedent. Documents with keyphrases are cut likewise, and hold a word of a keyphrase.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headatlas.corpora.keyphrases.key_words import OUTSIDE
from headatlas.encoding.batches import iterate_batches, plan_batches
from headatlas.encoding.keyphrase_segments import KeyphraseSegment
from headatlas.encoding.kinds import KindTable
from headatlas.encoding.mention_segments import MentionSegment
from headatlas.encoding.segments import Segment
from headatlas.encoding.template import SPECIAL
from headatlas.encoding.word_segments import ParsedSegment, WordSegment
from headatlas.models.model import Model
from headatlas.models.stacks import Stack
from headatlas.results.example import Example, Tree
from headatlas.studies.coreference_baselines import antecedents

FITTING_TOKENS = 28  # as many as a picture shows well
DOCUMENT_TOKENS = 60  # a title and a sentence or two
MENTION_TOKENS = 36  # room for a mention and its antecedent
FEWEST_WORDS = 4  # of a treebank's sentence
SENTENCE_ENDS = frozenset(".?!")


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
    """Run the chosen segments, one at a time so that nothing is padded, and keep their maps."""
    segments = [segment for _, segment in chosen]
    shape = model.shapes[stack]
    plan = plan_batches(segments, batch_tokens=1)
    examples: dict[int, Example] = {}
    for (place,), batch in zip(plan, iterate_batches(segments, plan, kinds, model.pad_id), strict=True):
        corpus, segment = chosen[place]
        maps = np.zeros((shape.layers, shape.most_heads, len(segment), len(segment)), dtype=np.float32)

        def keep(layer: int, weights: Tensor, _mask: Tensor | None, maps: NDArray[np.float32] = maps) -> None:
            maps[layer, : weights.shape[1]] = weights[0].to("cpu", torch.float32).numpy()

        model.observe(batch.to(model.device), keep, stack)
        examples[place] = _example(model, corpus, segment, relations, maps)
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
