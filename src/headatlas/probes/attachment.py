"""How many words a parser attaches rightly (UAS): with and without punctuation, greedily and as a tree, by relation.

Greedily each word takes its likeliest head; as a tree, the heads of the likeliest tree with one root (see
`best_tree`). The word on ROOT counts like any other. Intervals resample sentences.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from headatlas.corpora.treebanks.sentence import ROOT
from headatlas.probes.attention import Parser
from headatlas.probes.batches import Sentences
from headatlas.statistics.resampling import bootstrap_units, effective_units, percentile_interval, poisson_weights

MEASURES = ("uas", "uas_no_punct", "uas_tree", "uas_tree_no_punct", "uuas")


@dataclass(frozen=True)
class Predicted:
    """What a parser says of sentences: the heads of each one's words, chosen greedily and as a tree."""

    greedy: list[NDArray[np.int64]]
    tree: list[NDArray[np.int64]]
    bits: NDArray[np.float64]  # -log2 of the probability of the heads that were to be learned, for each sentence


def predict(
    parser: Parser,
    sentences: Sentences,
    places: Sequence[int],
    *,
    heads: Sequence[NDArray[np.int64]] | None = None,
    trees: bool = True,
    most: int = 64,
    tick: Callable[[], None] = lambda: None,
) -> Predicted:
    """Heads for these sentences, in their order. heads: what `bits` is about, in place of the treebank's."""
    greedy: dict[int, NDArray[np.int64]] = {}
    tree: dict[int, NDArray[np.int64]] = {}
    bits: dict[int, float] = {}
    with torch.no_grad():
        for batch in sentences.batches(places, parser.reads, most, heads):
            scored = parser.log_probabilities(batch)  # [B, W, W + 1]
            true = scored.gather(-1, batch.targets.clamp_min(0)[..., None])[..., 0].masked_fill(~batch.mask, 0)
            spent = (-true.double().sum(1) / np.log(2)).cpu().numpy()
            numbers = scored.double().cpu().numpy()
            for row, place in enumerate(batch.places):
                size = int(sentences.sizes[place])
                scores = np.concatenate([numbers[row, :size, :size], numbers[row, :size, -1:]], 1)
                chosen = scores.argmax(1)
                greedy[place] = np.where(chosen == size, ROOT, chosen)
                tree[place] = best_tree(scores) if trees else greedy[place]
                bits[place] = float(spent[row])
            tick()
    return Predicted(
        [greedy[place] for place in places], [tree[place] for place in places], np.array([bits[p] for p in places])
    )


def best_tree(scores: NDArray[np.floating]) -> NDArray[np.int64]:
    """Each word's head, or ROOT, in the tree of the highest sum. scores: [W, W + 1], dependent, candidate, ROOT last.

    This is Chu and Liu's and Edmonds' maximum spanning arborescence. Exactly one word hangs on ROOT: its candidates'
    scores are lowered by more than all others together can make up. A word's score for itself
    is ignored; the others must be finite.
    """
    words = len(scores)
    table = np.full((words + 1, words + 1), -np.inf)
    table[:words] = scores
    np.fill_diagonal(table, -np.inf)
    spread = np.ptp(np.where(np.isfinite(table[:words]), table[:words], 0.0)) + 1.0
    table[:words, words] -= 2 * spread * (words + 1)
    heads = _best_heads(table)
    return np.where(heads == words, ROOT, heads)


def _best_heads(table: NDArray[np.float64]) -> NDArray[np.int64]:
    """The head of every node but the last, which is the root. table: [dependent, head], -inf on the diagonal.

    If the best heads of all nodes contain a cycle, it is contracted into one of its nodes, and an edge into it counts
    as what it gains over the edge it replaces. The smaller problem's solution then opens the cycle where its edge
    comes in.
    """
    heads: NDArray[np.int64] = table[:-1].argmax(1)
    if not (path := _find_cycle(heads)):
        return heads
    cycle = np.sort(path)
    nodes = np.setdiff1d(np.arange(len(table)), path[1:])
    place = int(np.searchsorted(nodes, path[0]))  # of the contracted node
    gains = table[np.ix_(cycle, nodes)] - table[cycle, heads[cycle]][:, None]
    leaving = table[np.ix_(nodes, cycle)]
    smaller = table[np.ix_(nodes, nodes)]
    smaller[place], smaller[:, place] = gains.max(0), leaving.max(1)
    smaller[place, place] = -np.inf
    chosen = _best_heads(smaller)
    entry = cycle[gains[:, chosen[place]].argmax()]
    heads[entry] = nodes[chosen[place]]
    outside = np.flatnonzero(nodes[:-1] != path[0])
    to_cycle = cycle[leaving[outside].argmax(1)]
    heads[nodes[outside]] = np.where(chosen[outside] == place, to_cycle, nodes[chosen[outside]])
    return heads


def _find_cycle(heads: NDArray[np.int64]) -> list[int]:
    """The nodes of one cycle, or none. heads: of every node but the root."""
    seen = np.full(len(heads), -1)
    for start in range(len(heads)):
        path: list[int] = []
        node = start
        while node < len(heads) and seen[node] < 0:
            seen[node] = start
            path.append(node)
            node = int(heads[node])
        if node < len(heads) and seen[node] == start:
            return path[path.index(node) :]
    return []


@dataclass(frozen=True)
class Attachment:
    """Right and wrong for every word of some sentences, N words in all."""

    sentence: NDArray[np.int64]  # [N]
    relation: NDArray[np.str_]  # [N]
    punct: NDArray[np.bool_]  # [N]
    right: NDArray[np.bool_]  # [N], greedily
    right_tree: NDArray[np.bool_]  # [N]
    right_edges: NDArray[
        np.bool_
    ]  # [E], edges of the treebank without punctuation: is it in the tree, either way round?
    ids: list[str]

    def scores(self) -> dict[str, float]:
        """Each of MEASURES, 0 to 1; NaN where there is no such word."""
        words = ~self.punct
        return {
            "uas": _share(self.right),
            "uas_no_punct": _share(self.right[words]),
            "uas_tree": _share(self.right_tree),
            "uas_tree_no_punct": _share(self.right_tree[words]),
            "uuas": _share(self.right_edges),
        }

    def interval(self, replicates: int, seed: int) -> tuple[float, float]:
        """Of `uas_no_punct`, over documents or, if these are few, sentences."""
        return _interval(self, ~self.punct, bootstrap_weights(self.ids, replicates, seed))

    def by_relation(self, replicates: int, seed: int) -> list[dict[str, object]]:
        """relation, uas, uas_tree, count, low, high."""
        weights = bootstrap_weights(self.ids, replicates, seed)
        rows: list[dict[str, object]] = []
        for relation in sorted(set(self.relation.tolist())):
            here = self.relation == relation
            low, high = _interval(self, here, weights)
            rows.append(
                {
                    "relation": relation,
                    "uas": _share(self.right[here]),
                    "uas_tree": _share(self.right_tree[here]),
                    "count": int(here.sum()),
                    "low": low,
                    "high": high,
                }
            )
        return rows


def attach(
    predicted: Predicted,
    sentences: Sentences,
    places: Sequence[int],
    punctuation: Collection[str],
    heads: Sequence[NDArray[np.int64]] | None = None,
) -> Attachment:
    """Compare predictions with the treebank's heads, or with others that were to be learned."""
    true = [(heads or sentences.heads)[place] for place in places]
    relations = np.array([name for place in places for name in sentences.examples[place].relations or ()], dtype=str)
    gold = np.concatenate(true)
    punct = np.isin(relations, sorted(punctuation))
    return Attachment(
        sentence=np.repeat(np.arange(len(places)), sentences.sizes[list(places)]),
        relation=relations,
        punct=punct,
        right=np.concatenate(predicted.greedy) == gold,
        right_tree=np.concatenate(predicted.tree) == gold,
        right_edges=_right_edges(gold, np.concatenate(predicted.tree), punct, sentences.sizes[list(places)]),
        ids=[sentences.examples[place].id for place in places],
    )


def _right_edges(
    gold: NDArray[np.int64], tree: NDArray[np.int64], punct: NDArray[np.bool_], sizes: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """For each true edge between two words that are no punctuation: does the tree join them, in either direction?"""
    first = np.repeat(np.cumsum(sizes) - sizes, sizes)  # of the word's sentence
    words = np.flatnonzero((gold != ROOT) & ~punct)
    words = words[~punct[first[words] + gold[words]]]
    heads = first[words] + gold[words]
    return np.asarray((tree[words] == gold[words]) | (tree[heads] == words - first[words]))


def bootstrap_weights(ids: Sequence[str], replicates: int, seed: int) -> NDArray[np.float64]:
    """How often each sentence counts in every resampling, alike for those of one document: [S, R]."""
    return poisson_weights(bootstrap_units(ids), replicates, seed).astype(np.float64)


def share_interval(
    right: NDArray[np.float64], count: NDArray[np.float64], weights: NDArray[np.float64]
) -> tuple[float, float]:
    """95 % bootstrap interval of sum(right) / sum(count) over sentences, [S] each. weights: [S, R]."""
    below = count @ weights
    drawn = (right @ weights)[below > 0] / below[below > 0]
    low, high = percentile_interval(drawn, effective_units(below))
    return float(low), float(high)


def _interval(attachment: Attachment, here: NDArray[np.bool_], weights: NDArray[np.float64]) -> tuple[float, float]:
    sentence, units = attachment.sentence[here], len(attachment.ids)
    right = np.bincount(sentence, attachment.right[here], units).astype(np.float64)
    count = np.bincount(sentence, minlength=units).astype(np.float64)
    return share_interval(right, count, weights)


def _share(right: NDArray[np.bool_]) -> float:
    return float(right.mean()) if len(right) else float("nan")
