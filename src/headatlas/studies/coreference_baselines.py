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

Agreement is that of English. Pronouns are in a table. Of other mentions the person is the third; the number comes from
the head's part of speech, from ``and`` between heads, or, without parts of speech, from a final -s; the gender from a
list of nouns and titles. What is not known agrees with anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, dataclass
from itertools import product
from typing import Literal, get_args

from headatlas.corpora.coreference.english_words import LINKS, POSSESSIVES, word_set
from headatlas.corpora.coreference.mentions import Mention

Baseline = Literal["nearest", "head_match", "sieves"]
BASELINES: tuple[Baseline, ...] = get_args(Baseline)
TESTS = {"nearest": ("any",), "head_match": ("head",), "sieves": ("words", "head", "agreement", "any")}


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
    texts = [_text(mention, words) for mention in mentions]
    heads = [words[mention.head].lower() for mention in mentions]
    known = [agreement(mention, words, tags) for mention in mentions]
    tests: dict[str, Callable[[int, int], bool]] = {
        "words": lambda one, other: texts[one] == texts[other],
        "head": lambda one, other: heads[one] == heads[other],
        "agreement": lambda one, other: agrees(known[one], known[other]),
        "any": lambda *_: True,
    }
    for mention, candidates in enumerate(preceding(mentions)):
        if true[mention]:
            nearest = reversed(candidates)
            passing = (other for name, other in product(TESTS[baseline], nearest) if tests[name](mention, other))
            antecedent = next(passing, None)
            yield Choice(mention, antecedent, antecedent in true[mention])


def _text(mention: Mention, words: Sequence[str]) -> tuple[str, ...]:
    text = tuple(word.lower() for word in words[mention.start : mention.end])
    return text[:-1] if len(text) > 1 and text[-1] in POSSESSIVES else text


Number = Literal["singular", "plural"]
Gender = Literal["masculine", "feminine", "neuter"]
Person = Literal[1, 2, 3]


@dataclass(frozen=True)
class Agreement:
    """Number, gender and person of a mention, None where unknown."""

    number: Number | None = None
    gender: Gender | None = None
    person: Person | None = None


_PRONOUNS: dict[str, Agreement] = {
    **dict.fromkeys(word_set("i me my mine myself"), Agreement("singular", None, 1)),
    **dict.fromkeys(word_set("we us our ours ourselves"), Agreement("plural", None, 1)),
    **dict.fromkeys(word_set("you your yours ye"), Agreement(None, None, 2)),
    **dict.fromkeys(word_set("yourself thou thee thy thine thyself"), Agreement("singular", None, 2)),
    "yourselves": Agreement("plural", None, 2),
    **dict.fromkeys(word_set("he him his himself"), Agreement("singular", "masculine", 3)),
    **dict.fromkeys(word_set("she her hers herself"), Agreement("singular", "feminine", 3)),
    **dict.fromkeys(word_set("it its itself"), Agreement("singular", "neuter", 3)),
    **dict.fromkeys(word_set("they them their theirs themselves themself 'em"), Agreement("plural", None, 3)),
}
_MASCULINE = word_set(
    "man men boy boys father fathers dad son sons brother brothers uncle nephew grandfather grandson husband husbands "
    "king kings prince princes duke emperor lord lords sir gentleman gentlemen guy guys fellow lad monk priest "
    "actor waiter hero widower bachelor mr mr. mister master baron monsieur m. don"
)
_FEMININE = word_set(
    "woman women girl girls mother mothers mom mum daughter daughters sister sisters aunt niece grandmother "
    "granddaughter wife wives queen queens princess princesses duchess empress lady ladies madam nun actress waitress "
    "heroine widow maid mrs mrs. ms ms. miss mistress baroness madame mademoiselle mlle. dame"
)
_PLURAL_TAGS = frozenset({"NNS", "NNPS"})
_SINGULAR_TAGS = frozenset({"NN", "NNP"})


def agrees(first: Agreement, second: Agreement) -> bool:
    """Whether nothing known of the two differs."""
    return all(a is None or b is None or a == b for a, b in zip(astuple(first), astuple(second), strict=True))


def agreement(mention: Mention, words: Sequence[str], tags: Sequence[str]) -> Agreement:
    """What is known of a mention; words and tags are its document's."""
    if mention.type == "pronoun":
        return _PRONOUNS.get(words[mention.head].lower(), Agreement())
    return Agreement(_number(mention, words, tags), _gender(mention, words), 3)


def _number(mention: Mention, words: Sequence[str], tags: Sequence[str]) -> Number | None:
    for word in words[mention.start : mention.end]:
        if word.lower() in LINKS:
            break
        if word.lower() == "and":
            return "plural"
    word, tag = words[mention.head].lower(), tags[mention.head]
    if tag:
        return "plural" if tag in _PLURAL_TAGS else "singular" if tag in _SINGULAR_TAGS else None
    if mention.type == "nominal" and word.endswith("s"):
        return None if word.endswith(("ss", "us", "is")) else "plural"
    return None


def _gender(mention: Mention, words: Sequence[str]) -> Gender | None:
    """By the head, or by a title before it."""
    known = [mention.head] if mention.type == "nominal" else range(mention.start, mention.head + 1)
    for word in known:
        if words[word].lower() in _MASCULINE:
            return "masculine"
        if words[word].lower() in _FEMININE:
            return "feminine"
    return None
