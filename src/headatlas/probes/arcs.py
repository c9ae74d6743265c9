"""Which heads does an attention probe use, for which relation and for which two words (paper, section 5)?

Over the true arcs between words of some sentences, for every head in both directions:

- ``weight`` is the coefficient of the head's attention, in the attention-and-words probe ``W_k (v_i ++ v_j)``;
- ``contribution`` is what the head adds to the arc's score beyond what it adds, on average, to the dependent's other
  candidate words: heads with the same attention everywhere contribute nothing, however large their weight;
- ``right``: whether the head alone finds the arc, its largest attention among the other words.

Sentences of one word have no arcs.

A relation's head is the one that contributes most to its arcs. It is named only if two things hold. It contributes more
to this relation than to arcs at large: relations are permuted over the arcs, and the largest standardised excess of any
head is the null. And it finds the relation by itself, better than the best fixed offset: otherwise a probe of random
attention, which turns the vectors of the words into weights just as well, would name heads too. Both are corrected over
relations (Holm).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from headatlas.probes.attachment import bootstrap_weights
from headatlas.probes.attention import AttentionParser, both_directions
from headatlas.probes.batches import Sentences
from headatlas.statistics.layer_measures import over_texts, student
from headatlas.statistics.paired import holm
from headatlas.statistics.resampling import bootstrap_units, permutation_p_value

Floats = NDArray[np.float64]
FEWEST_ARCS = 20  # of a relation
PERMUTATIONS = 999
SIGNIFICANT = 0.05


@dataclass(frozen=True)
class Arcs:
    """N true arcs between words; A heads in both directions, dependent to head first."""

    sentence: NDArray[np.int64]  # [N], place among the sentences asked for
    relation: NDArray[np.str_]  # [N]
    offset: NDArray[np.int64]  # [N], from the dependent to its head
    weight: Floats  # [N, 2 A]
    contribution: Floats  # [N, 2 A]
    right: NDArray[np.bool_]  # [N, 2 A]
    ids: list[str]  # of the sentences

    def __len__(self) -> int:
        return len(self.relation)


def read_arcs(parser: AttentionParser, sentences: Sentences, places: Sequence[int], most: int = 16) -> Arcs:
    """See every true arc of these sentences with the eyes of a trained probe."""
    number = {place: row for row, place in enumerate(places)}
    found: dict[str, list[NDArray[Any]]] = {
        name: [] for name in ("sentence", "relation", "offset", "weight", "contribution", "right")
    }
    with torch.no_grad():
        for batch in sentences.batches(places, parser.reads, most):
            if batch.maps is None:
                raise ValueError("an attention probe needs maps")
            words = batch.mask.shape[1]
            row, dependent = torch.nonzero(batch.mask & (batch.targets < words), as_tuple=True)
            head = batch.targets[row, dependent]
            pairs = both_directions(batch.maps)
            coefficients = parser.coefficients(batch).expand_as(pairs)
            added = coefficients * pairs  # [B, W, W, 2A]
            true = added[row, dependent, head]  # [N, 2A]
            itself = added[row, dependent, dependent]
            others = (batch.sizes[row] - 2)[:, None]  # neither the word itself nor its head; padding adds 0
            rest = (added[row, dependent].sum(1) - true - itself) / others.clamp_min(1)
            candidate = torch.arange(words, device=head.device)
            closed = (candidate == dependent[:, None]) | (candidate >= batch.sizes[row][:, None])  # [N, W]
            chosen = pairs[row, dependent].masked_fill(closed[..., None], -1).argmax(1)  # [N, 2A]
            in_batch = [batch.places[place] for place in row.tolist()]
            relations = (sentences.examples[place].relations or () for place in in_batch)
            found["sentence"].append(np.array([number[place] for place in in_batch], dtype=np.int64))
            found["relation"].append(
                np.array([names[word] for names, word in zip(relations, dependent.tolist(), strict=True)], dtype=str)
            )
            found["offset"].append((head - dependent).cpu().numpy())
            found["weight"].append(coefficients[row, dependent, head].double().cpu().numpy())
            found["contribution"].append((true - torch.where(others > 0, rest, true)).double().cpu().numpy())
            found["right"].append((chosen == head[:, None]).cpu().numpy())
    joined = {name: np.concatenate(parts) for name, parts in found.items()}
    return Arcs(**joined, ids=[sentences.examples[place].id for place in places])


@dataclass(frozen=True)
class RelationHead:
    """The head that contributes most to a relation, by its place in 2 A, and what speaks for it."""

    relation: str
    count: int
    place: int
    p_value: float  # that it contributes as much to arcs at large, corrected over heads
    best: int  # the head that by itself finds most arcs of the relation
    offset: int  # the best fixed offset
    offset_accuracy: float
    lead: float  # accuracy of the head alone, less that of the offset
    low: float
    high: float
    lead_p: float  # two-sided, over documents or, if these are few, sentences
    p_holm: float = float("nan")
    lead_p_holm: float = float("nan")

    @property
    def named(self) -> bool:
        """Whether the head may be named as one for this relation."""
        return self.p_holm < SIGNIFICANT and self.lead_p_holm < SIGNIFICANT and self.lead > 0


def relation_heads(arcs: Arcs, replicates: int, seed: int) -> list[RelationHead]:
    """The head of every relation with enough arcs, by name."""
    names, codes, counts = np.unique(arcs.relation, return_inverse=True, return_counts=True)
    enough = np.flatnonzero(counts >= FEWEST_ARCS)
    if not len(enough):
        return []
    spread = arcs.contribution.std(0)
    usual = (arcs.contribution - arcs.contribution.mean(0)) / np.where(spread > 0, spread, 1)

    def excess(of_arcs: NDArray[np.int64]) -> Floats:
        """Standardised mean of each relation's arcs, for every head: [relations, 2 A]."""
        members = np.zeros((len(names), len(of_arcs)))
        members[of_arcs, np.arange(len(of_arcs))] = 1
        return np.asarray((members @ usual)[enough] / np.sqrt(counts[enough])[:, None])

    rng = np.random.default_rng([seed, 6])
    null = np.stack([excess(rng.permutation(codes)).max(1) for _ in range(PERMUTATIONS)])  # [permutations, relations]
    observed = excess(codes)
    weights, units = bootstrap_weights(arcs.ids, replicates, seed), np.array(bootstrap_units(arcs.ids))
    heads = []
    for row, code in enumerate(enough.tolist()):
        here = codes == code
        place = int(arcs.contribution[here].mean(0).argmax())
        offsets, often = np.unique(arcs.offset[here], return_counts=True)
        offset = int(offsets[often.argmax()])
        ahead = arcs.right[here, place].astype(float) - (arcs.offset[here] == offset)
        sums, sizes = (np.bincount(arcs.sentence[here], x, len(arcs.ids)) for x in (ahead, np.ones(len(ahead))))
        total = sizes @ weights
        redrawn = (sums @ weights)[total > 0] / total[total > 0]
        low, high, lead_p = student(ahead.mean(), over_texts(redrawn, len(np.unique(units[sizes > 0]))))
        p_value = permutation_p_value(float(observed[row, place]), null[:, row])
        best = int(arcs.right[here].mean(0).argmax())
        share = float(often.max() / here.sum())
        lead = (float(ahead.mean()), float(low), float(high), float(lead_p))
        heads.append(RelationHead(str(names[code]), int(here.sum()), place, p_value, best, offset, share, *lead))
    corrected = holm(np.array([head.p_value for head in heads]))
    leading = holm(np.array([head.lead_p for head in heads]))
    return [
        replace(head, p_holm=float(p_holm), lead_p_holm=float(lead_p_holm))
        for head, p_holm, lead_p_holm in zip(heads, corrected, leading, strict=True)
    ]
