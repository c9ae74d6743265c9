"""Span targets that follow from trees and mentions.

- ``pos``: a word, and its part of speech as the treebank gives it.
- ``dependencies``: a word and its head, in this order, and the name of the relation. The root has no head and is not a
  target.
- ``arcs``: two words; ``arc`` if the second is the head of the first, ``none`` if it is another word, chosen at random
  once for each true arc.
- ``coreference``: two mentions, the earlier one second; ``coreferent`` for each mention with its nearest antecedent,
  and ``none`` with a random earlier mention of another entity, if there is one.

A random choice depends on the id of the text and the seed alone.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

from headatlas.corpora.coreference.mentions import Mention
from headatlas.corpora.spans.spans import Target
from headatlas.corpora.treebanks.sentence import ROOT, Sentence
from headatlas.errors import CorpusError

ARC, COREFERENT, NONE = "arc", "coreferent", "none"


def tree_targets(sentence: Sentence, tasks: Sequence[str], seed: int) -> dict[str, tuple[Target, ...]]:
    """The targets of a sentence, by task."""
    return {task: tuple(_TREE_TARGETS[task](sentence, seed)) for task in tasks}


def coreference_targets(mentions: Sequence[Mention], text_id: str, seed: int) -> Iterator[Target]:
    """The targets among the mentions of one text, in order."""
    rng = random.Random(f"{seed} coreference {text_id}")
    for number, mention in enumerate(mentions):
        before = [other for other in mentions[:number] if other.end <= mention.start]
        antecedents = [other for other in before if other.entity == mention.entity]
        if not antecedents:
            continue
        yield _mention_pair(mention, max(antecedents, key=lambda other: other.start), COREFERENT)
        if others := [other for other in before if other.entity != mention.entity]:
            yield _mention_pair(mention, rng.choice(others), NONE)


def _pos(sentence: Sentence, _seed: int) -> Iterator[Target]:
    for word, tag in enumerate(sentence.tags):
        if not tag:
            problem = f"the word {sentence.words[word]!r} of the sentence that begins here has no part of speech."
            raise CorpusError(f"{problem} Omit the task pos.", sentence.path, sentence.line)
        yield Target(((word, word + 1),), (tag,), sentence.line)


def _dependencies(sentence: Sentence, _seed: int) -> Iterator[Target]:
    for word, (head, relation) in enumerate(zip(sentence.heads, sentence.relations, strict=True)):
        if head != ROOT:
            yield _word_pair(sentence, word, head, relation)


def _arcs(sentence: Sentence, seed: int) -> Iterator[Target]:
    rng = random.Random(f"{seed} arcs {sentence.id}")
    for word, head in enumerate(sentence.heads):
        if head == ROOT:
            continue
        yield _word_pair(sentence, word, head, ARC)
        if others := [other for other in range(len(sentence.words)) if other not in (word, head)]:
            yield _word_pair(sentence, word, rng.choice(others), NONE)


def _word_pair(sentence: Sentence, first: int, second: int, label: str) -> Target:
    return Target(((first, first + 1), (second, second + 1)), (label,), sentence.line)


def _mention_pair(mention: Mention, earlier: Mention, label: str) -> Target:
    return Target(((mention.start, mention.end), (earlier.start, earlier.end)), (label,), None)


_TREE_TARGETS: dict[str, Callable[[Sentence, int], Iterator[Target]]] = {
    "pos": _pos,
    "dependencies": _dependencies,
    "arcs": _arcs,
}
TREE_TASKS = tuple(_TREE_TARGETS)
