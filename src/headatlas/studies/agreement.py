"""Do two mentions agree in number, gender and person? What the rule-based baseline for English knows (paper, 4.3).

Pronouns are in a table. Of other mentions the person is the third; the number comes from the head's part of speech,
from ``and`` between heads, or, without parts of speech, from a final -s; the gender from a list of nouns and titles.
What is not known agrees with anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from headatlas.corpora.coreference.english_words import LINKS, word_set
from headatlas.corpora.coreference.mentions import Mention

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


def agrees(one: Agreement, other: Agreement) -> bool:
    """Whether nothing known of the two differs."""
    pairs = ((one.number, other.number), (one.gender, other.gender), (one.person, other.person))
    return all(a is None or b is None or a == b for a, b in pairs)


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
