"""Coreference as a task on pairs of mentions: do the two refer to the same entity?

Each mention with an antecedent gives two targets, the earlier mention second: ``coreferent`` with its nearest
antecedent, and ``none`` with a random earlier mention of another entity, if there is one. The random choice depends on
the given name and the seed alone.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from headatlas.corpora.coreference.mentions import Mention
from headatlas.corpora.spans.spans import Target

COREFERENT, NONE = "coreferent", "none"


def coreference_targets(mentions: Sequence[Mention], name: str, seed: int) -> Iterator[Target]:
    """The targets among the mentions of one text, in order."""
    rng = random.Random(f"{seed} coreference {name}")
    for number, mention in enumerate(mentions):
        before = [other for other in mentions[:number] if other.end <= mention.start]
        same = [other for other in before if other.entity == mention.entity]
        if not same:
            continue
        yield _pair(mention, max(same, key=lambda other: other.start), COREFERENT)
        if others := [other for other in before if other.entity != mention.entity]:
            yield _pair(mention, rng.choice(others), NONE)


def _pair(mention: Mention, earlier: Mention, label: str) -> Target:
    return Target(((mention.start, mention.end), (earlier.start, earlier.end)), (label,), None)
