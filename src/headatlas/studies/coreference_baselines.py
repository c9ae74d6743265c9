"""How well do rules without a model pick antecedents? (section 4.3, table 2)

Candidates for a mention are the mentions wholly before it: one that contains it, lies within it or crosses it names
another thing with few exceptions (``[the man who lost [his] hat]``), and would be the nearest wherever noun phrases
nest. The nearest candidate is the one that starts last; of several with one start, the longest. Three baselines choose:

- ``nearest``: the nearest candidate;
- ``head_match``: the nearest with the same head word, or none;
- ``sieves``: the nearest that passes the earliest of four: same words; same head word; agreement in number, gender
  and person; any.

A corpus that marks mentions which nothing else refers to, as GUM does, offers more candidates: all three score lower.
Words are the same whatever their case, and a possessive ``'s`` at the end of a mention does not count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from headatlas.corpora.coreference.english_words import POSSESSIVES
from headatlas.corpora.coreference.mentions import Mention
from headatlas.studies.agreement import agreement, agrees

Baseline = Literal["nearest", "head_match", "sieves"]
BASELINES: tuple[Baseline, ...] = get_args(Baseline)


@dataclass(frozen=True)
class Choice:
    """The antecedent a baseline chose for one mention; both are indices into the mentions."""

    mention: int
    antecedent: int | None  # None where no candidate qualifies
    right: bool


def preceding(mentions: Sequence[Mention]) -> list[list[int]]:
    """For each mention the indices of its candidates, the nearest last."""
    by_start = sorted(range(len(mentions)), key=lambda index: (mentions[index].start, mentions[index].end))
    return [[other for other in by_start if mentions[other].end <= mention.start] for mention in mentions]


def antecedents(mentions: Sequence[Mention]) -> list[list[int]]:
    """For each mention the candidates that name the same entity, the nearest last."""
    return [
        [other for other in candidates if mentions[other].entity == mention.entity]
        for mention, candidates in zip(mentions, preceding(mentions), strict=True)
    ]


def choose(
    baseline: Baseline, mentions: Sequence[Mention], words: Sequence[str], tags: Sequence[str]
) -> Iterator[Choice]:
    """The choice for every mention that has an antecedent among the mentions, which are those of one window.

    Words and tags are those of the mentions' document.
    """
    true = antecedents(mentions)
    known = _Known(mentions, words, tags)
    for mention, candidates in enumerate(preceding(mentions)):
        if true[mention]:
            found = known.choose(baseline, mention, candidates)
            yield Choice(mention, found, found in true[mention])


class _Known:
    """What the baselines compare: each mention's words, head word and agreement."""

    def __init__(self, mentions: Sequence[Mention], words: Sequence[str], tags: Sequence[str]) -> None:
        self._texts = [_text(mention, words) for mention in mentions]
        self._heads = [words[mention.head].lower() for mention in mentions]
        self._agreements = [agreement(mention, words, tags) for mention in mentions]

    def choose(self, baseline: Baseline, mention: int, candidates: Sequence[int]) -> int | None:
        """The nearest candidate that passes the baseline's earliest test which any candidate passes."""
        for passes in self._tests(baseline, mention):
            for other in reversed(candidates):
                if passes(other):
                    return other
        return None

    def _tests(self, baseline: Baseline, mention: int) -> list[Callable[[int], bool]]:
        def same_words(other: int) -> bool:
            return self._texts[other] == self._texts[mention]

        def same_head(other: int) -> bool:
            return self._heads[other] == self._heads[mention]

        def agreeing(other: int) -> bool:
            return agrees(self._agreements[other], self._agreements[mention])

        def any_at_all(_other: int) -> bool:
            return True

        tests: dict[Baseline, list[Callable[[int], bool]]] = {
            "nearest": [any_at_all],
            "head_match": [same_head],
            "sieves": [same_words, same_head, agreeing, any_at_all],
        }
        return tests[baseline]


def _text(mention: Mention, words: Sequence[str]) -> tuple[str, ...]:
    text = tuple(word.lower() for word in words[mention.start : mention.end])
    return text[:-1] if len(text) > 1 and text[-1] in POSSESSIVES else text
