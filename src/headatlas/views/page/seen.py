"""Where each head is seen best: the example of the page in which it does most of what it is known for.

A head with a label for a relation or for coreference is shown where it is right most often; any other head where it
rests least. So examples are chosen by what heads do in them, not by how they look: the tables say how often they do it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headatlas.choices import FromTokens
from headatlas.results.atlas import Atlas
from headatlas.results.example import Example
from headatlas.studies.coreference_baselines import antecedents
from headatlas.studies.findings import Head
from headatlas.studies.labels import labels_of
from headatlas.tables import records
from headatlas.views.page.content import words_from
from headatlas.views.page.maps import mention_predictions, tree_predictions, word_maps
from headatlas.views.page.opening import place_of

LONGEST = 40  # words of an example that is preferred to longer ones
RIGHT, WRONG = 1.0, -0.5  # what a word counts that a head is right or wrong about
FAR = 10  # words between two that a small picture shows, if there are nearer ones


def add_seen(content: dict[str, Any], atlas: Atlas, examples: Sequence[Example]) -> None:
    """Add the best example of every head to the content, and to leading findings about one head theirs.

    Args:
        content: The content of the page, with `heads` and `leading`.
        atlas: The atlas.
        examples: The examples of the page, in their order.
    """
    if not examples:
        return
    seen = Seen(atlas.tables, content["heads"], examples, words_from(atlas.manifest))
    content["seen"] = seen.best()
    for finding in content["leading"]:
        finding |= seen.example_of(finding)


class Seen:
    """What the heads do in the examples of a page.

    Args:
        tables: The tables of the atlas.
        heads: The number of heads of each layer.
        examples: The examples of the page, in their order.
        how: How the attention from a word follows from that of its tokens.
    """

    def __init__(
        self, tables: Mapping[str, pd.DataFrame], heads: Sequence[int], examples: Sequence[Example], how: FromTokens
    ) -> None:
        self._heads, self._examples = heads, examples
        maps = [_of_heads(example, heads) for example in examples]
        pairs = list(zip(examples, maps, strict=True))
        self._predicted = [_predicted(example, of_heads, how) for example, of_heads in pairs]
        self._at_work = np.stack([_at_work(example, of_heads) for example, of_heads in pairs], 1)
        long = np.array([len(example.words) > LONGEST for example in examples])
        self._penalty = 1e3 * long
        self._directions = {
            (row["layer"], row["head"], row["relation"]): row["direction"]
            for row in records(tables.get("dependency_best", pd.DataFrame()))
        }
        self._labels: dict[Head, list[str]] = {}
        for row in records(labels_of(tables["behaviours"])) if "behaviours" in tables else ():
            self._labels.setdefault((row["layer"], row["head"]), []).append(row["label"])

    def best(self) -> list[int]:
        """The number of the best example of each head, layer by layer."""
        scores = self._at_work - self._penalty
        for head, labels in self._labels.items():
            scores[place_of(head, self._heads)] += self._scores(head, labels)
        return [int(number) for number in scores.argmax(1)]

    def example_of(self, finding: Mapping[str, Any]) -> dict[str, Any]:
        """The example in which a finding about one head is seen, and two of its words; nothing if there is none."""
        if len(finding["heads"]) != 1:
            return {}
        (layer, number), words = finding["heads"][0], finding["claim"].split()
        head = (layer, number)
        named = [label for label in self._labels.get(head, ()) if label in words] or self._labels.get(head, [])
        scores = self._scores(head, named)
        example = int(np.argmax(scores - self._penalty))
        if scores[example] <= 0:
            return {}
        right = [(here, there) for here, there, is_right in self._pairs(head, example, named) if is_right]
        here, there = max(right, key=lambda pair: min(abs(pair[0] - pair[1]), 2) - FAR * (abs(pair[0] - pair[1]) > FAR))
        texts = self._examples[example].words
        return {"example": example, "pair": {"from": texts[here], "to": texts[there], "ahead": there > here}}

    def _scores(self, head: Head, labels: Sequence[str]) -> NDArray[np.float64]:
        """By example, how much more often the head is right than wrong about what its labels name."""
        return np.array(
            [
                sum(RIGHT if right else WRONG for *_, right in self._pairs(head, number, labels))
                for number in range(len(self._examples))
            ]
        )

    def _pairs(self, head: Head, number: int, labels: Sequence[str]) -> Iterator[tuple[int, int, bool]]:
        """The gold pairs that the labels name: which word attends, to which, and whether the head says so."""
        example, predicted = self._examples[number], self._predicted[number]
        if predicted is None:
            return
        said = predicted[place_of(head, self._heads)]
        if example.tree is not None:
            tree = example.tree
            for gold, relation, word in zip(tree.heads, tree.relations, tree.counts_as, strict=True):
                direction = self._directions.get((*head, relation))
                if gold >= 0 and relation in labels and direction is not None:
                    reverse = direction == "head_to_dependent"
                    right = bool(said[int(reverse), word] == gold)
                    yield (gold, word, right) if reverse else (word, gold, right)
        elif "coreference" in labels:
            mentions = example.mentions
            for mention, chosen, before in zip(mentions, said, antecedents(mentions), strict=True):
                if before:
                    yield mention.head, int(chosen), any(mentions[other].head == chosen for other in before)


def _of_heads(example: Example, heads: Sequence[int]) -> NDArray[np.float32]:
    """The maps of all heads, layer by layer: [heads, n, n]."""
    return np.concatenate([layer[:number] for layer, number in zip(example.maps, heads, strict=True)])


def _predicted(example: Example, maps: NDArray[np.float32], how: FromTokens) -> NDArray[np.int64] | None:
    """What each head predicts: [heads, 2, words] of a tree, [heads, mentions] of mentions, None of other examples."""
    if example.tree is not None:
        return tree_predictions(word_maps(example, maps, how))
    return mention_predictions(word_maps(example, maps, how), example) if example.mentions else None


def _at_work(example: Example, maps: NDArray[np.float32]) -> NDArray[np.float64]:
    """How much of each head's attention goes beyond special tokens and the first: mean over tokens, [heads]."""
    special = np.array(example.special)
    places = special.copy()
    places[0] = True
    if special.all():
        return np.zeros(len(maps))
    resting: NDArray[np.float64] = maps[:, ~special][:, :, places].sum(-1, dtype=np.float64).mean(-1)
    return 1 - resting
