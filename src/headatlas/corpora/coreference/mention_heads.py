"""The head word and the type of every mention (paper, section 4.3).

The head word is the first word of the span whose head in the dependency tree lies outside the span, punctuation aside.
CoNLL-2012 gives constituency trees instead (``(TOP(S(NP*``, ``*)``, one bit per word), from which heads follow by rules
after Collins (1999). In a noun phrase the head is the last noun or pronoun among its children, never a possessive
``'s``; else its first noun phrase; else the last number, adjective or determiner; else the last child. In other phrases
it is the first child of a kind that the phrase is named for (a verb or verb phrase, a preposition), else the first.

An English noun phrase without a tree gets its head from the words. It is the last noun before whatever can only follow
it (a preposition, relative pronoun, verb or participle, a second determiner or pronoun, a comma, ``and``), after the
last possessor; without a noun the last number, adjective or determiner. A possessive ``'s`` at the end is skipped.
Without parts of speech every word outside the lists of `english_words` counts as a noun, and one in -ing or -ed before
a preposition or determiner as a participle.

The type follows from the head's part of speech: PRP and PRP$ (universal: PRON) are pronouns, NNP and NNPS (PROPN)
proper names, and the rest is nominal, including ``this`` and ``that`` (DT). Without parts of speech, pronouns are those
of a closed list of English ones, and a word is a proper name if it has a capital where no sentence begins.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal
from unicodedata import category

from headatlas.corpora.coreference.brackets import Span
from headatlas.corpora.coreference.english_words import (
    CONJUNCTIONS,
    DETERMINERS,
    LINKS,
    MODIFIERS,
    POSSESSIVES,
    PRONOUNS,
    word_set,
)
from headatlas.corpora.coreference.mentions import Mention, MentionType
from headatlas.corpora.treebanks.sentence import NO_TREE, ROOT

_PRONOUN_TAGS = frozenset({"PRP", "PRP$", "PRON"})
_PROPER_TAGS = frozenset({"NNP", "NNPS", "PROPN"})
_OPENS_SENTENCE = word_set(". ! ? : \" '' `` ` ' \u201c \u201d \u2018 \u2019 ( -- \u2014 -LRB-")
_ACRONYMS = frozenset({"US", "IT"})

_BIT = re.compile(r"\(([^()*]+)|(\*)|(\))")
_NOUN_PHRASES = frozenset({"NP", "NX", "NML", "WHNP", "NAC"})
_LAST_OF = (
    frozenset({"NN", "NNS", "NNP", "NNPS", "NX", "NML", "PRP", "WP", "WDT"}),
    frozenset({"CD", "JJ", "JJR", "JJS", "DT", "PRP$", "ADJP", "QP", "VBG", "VBN", "RB", "EX"}),
)
_FIRST_OF = {
    "TOP": frozenset({"S", "SQ", "SINV", "SBARQ", "NP", "FRAG"}),
    "S": frozenset({"VP", "S"}),
    "SQ": frozenset({"VP", "SQ"}),
    "SINV": frozenset({"VP", "SINV"}),
    "SBAR": frozenset({"S", "SQ"}),
    "SBARQ": frozenset({"SQ", "S"}),
    "VP": frozenset({"VP", "VB", "VBD", "VBG", "VBN", "VBP", "VBZ"}),
    "PP": frozenset({"IN", "TO", "VBG"}),
    "ADJP": frozenset({"JJ", "JJR", "JJS", "VBN", "VBG"}),
}

# A noun or pronoun may be the head; without one, a modifier, determiner or participle. After a noun everything but
# modifiers and nouns ends the noun phrase, and a link ends it after anything.
_Role = Literal["noun", "pronoun", "modifier", "determiner", "participle", "link", "pause", "possessive", "mark"]
_ROLE_OF_TAG: dict[str, _Role] = {
    **dict.fromkeys(("NN", "NNS", "NNP", "NNPS", "NOUN", "PROPN"), "noun"),
    **dict.fromkeys(("PRP", "PRON"), "pronoun"),
    **dict.fromkeys(("DT", "PRP$", "DET"), "determiner"),
    **dict.fromkeys(("VBG", "VBN", "VB", "VERB"), "participle"),
    **dict.fromkeys(("IN", "TO", "WDT", "WP", "WP$", "WRB", "VBD", "VBP", "VBZ", "MD", "ADP", "SCONJ", "AUX"), "link"),
    **dict.fromkeys(("CC", ",", ":", ".", "-LRB-", "-RRB-", "CCONJ", "PUNCT"), "pause"),
    "POS": "possessive",
}
_PAUSES = CONJUNCTIONS | word_set(", ; : ( ) [ ] . ! ? -- \u2013 \u2014 -LRB- -RRB-")


def make_mentions(
    spans: Iterable[Span],
    words: Sequence[str],
    tags: Sequence[str],
    sentences: Sequence[int],
    heads: Sequence[int] | None = None,
) -> tuple[Mention, ...]:
    """Give every span its head word and type. heads: of the document's words, or ROOT or NO_TREE."""
    names = _find_names(words, sentences)
    mentions = []
    for span in spans:
        head = find_head(span, words, tags, heads)
        mentions.append(Mention(span.start, span.end, head, span.entity, _type(words[head], tags[head], names)))
    return tuple(mentions)


def find_head(span: Span, words: Sequence[str], tags: Sequence[str], heads: Sequence[int] | None) -> int:
    """The head word of a span, from the tree if all its words are in one, else by rule."""
    if heads is None or NO_TREE in heads[span.start : span.end]:
        return head_by_rule(span.start, span.end, words, tags)
    outside = [word for word in range(span.start, span.end) if not span.start <= heads[word] < span.end]
    return next((word for word in outside if not is_mark(words[word])), (outside or [span.start])[0])


@dataclass
class _Phrase:
    label: str
    children: list[tuple[str, int]] = field(default_factory=list)  # label and head word of each


def heads_from_parse(bits: Sequence[str], tags: Sequence[str]) -> tuple[int, ...] | None:
    """The head of each word of a sentence, from 0, or ROOT; None if no bit has a bracket.

    Raises ValueError if the bits do not form a tree.
    """
    if all(bit in ("*", "-", "_", "") for bit in bits):
        return None
    heads = [ROOT] * len(bits)
    top = _Phrase("")
    stack = [top]
    for word, (bit, tag) in enumerate(zip(bits, tags, strict=True)):
        if "".join(match.group() for match in _BIT.finditer(bit)) != bit or bit.count("*") != 1:
            raise ValueError(f"{bit!r} is not a parse bit such as (NP*, * or *)")
        for label, leaf, _ in _BIT.findall(bit):
            if label:
                stack.append(_Phrase(label))
            elif leaf:
                stack[-1].children.append((tag, word))
            else:
                if len(stack) == 1 or not stack[-1].children:
                    raise ValueError(f"{bit!r} closes a phrase that is not open or has no word")
                phrase = stack.pop()
                stack[-1].children.append((phrase.label, _attach(phrase, heads)))
    if len(stack) > 1:
        raise ValueError(f"its phrase {stack[-1].label} is never closed")
    _attach(top, heads)
    return tuple(heads)


def _attach(phrase: _Phrase, heads: list[int]) -> int:
    """Make the other children of the phrase depend on its head word, which is returned."""
    head = _head_child(phrase)
    for _, word in phrase.children:
        if word != head:
            heads[word] = head
    return head


def _head_child(phrase: _Phrase) -> int:
    children = [child for child in phrase.children if child[0] != "POS"] or phrase.children
    if phrase.label not in _NOUN_PHRASES:
        wanted = _FIRST_OF.get(phrase.label, frozenset())
        return next((word for label, word in children if label in wanted), children[0][1])
    nouns, others = _LAST_OF
    last_noun = next((word for label, word in reversed(children) if label in nouns), None)
    if last_noun is not None:
        return last_noun
    first_phrase = next((word for label, word in children if label in _NOUN_PHRASES), None)
    if first_phrase is not None:
        return first_phrase
    return next((word for label, word in reversed(children) if label in others), children[-1][1])


def head_by_rule(start: int, end: int, words: Sequence[str], tags: Sequence[str]) -> int:
    """The head word of the words from start to end without a tree."""
    noun = other = None
    link = end - 1
    for word in range(start, end):
        role = _role(word, words, tags, start, end)
        if role == "possessive":
            if word + 1 < end:
                noun = other = None
        elif noun is not None and role not in ("noun", "modifier", "mark"):
            break
        elif role in ("noun", "pronoun"):
            noun = word
        elif role == "link":
            if other is not None:
                break
            link = word
        elif role not in ("pause", "mark"):
            other = word
    return noun if noun is not None else other if other is not None else link


@lru_cache(4096)
def is_mark(word: str) -> bool:
    """Whether a word is only punctuation."""
    return word != "%" and all(category(letter).startswith("P") for letter in word)


def _role(word: int, words: Sequence[str], tags: Sequence[str], start: int, end: int) -> _Role:
    if not tags[word]:
        return _role_by_form(word, words, start, end)
    role = _ROLE_OF_TAG.get(tags[word], "mark" if is_mark(words[word]) else "modifier")
    return "modifier" if role == "participle" and word > start and words[word - 1] == "-" else role


def _role_by_form(word: int, words: Sequence[str], start: int, end: int) -> _Role:
    form = words[word].lower()
    if form in POSSESSIVES:
        return "possessive"
    if form in _PAUSES:
        return "pause"
    if form in DETERMINERS and (word == start or form not in LINKS):
        return "determiner"
    if form in LINKS:
        return "link"
    if form in PRONOUNS:
        return "pronoun"
    following = words[word + 1].lower() if word + 1 < end else ""
    if (form in MODIFIERS and (word == start or words[word] == form)) or form[0].isdigit():
        return "modifier"
    if form.endswith("ly") and following and following not in LINKS | _PAUSES | POSSESSIVES:
        return "modifier"
    if form.endswith(("ing", "ed")) and following in LINKS | DETERMINERS:
        return "participle"
    return "mark" if is_mark(form) else "noun"


def _find_names(words: Sequence[str], sentences: Sequence[int]) -> set[str]:
    """The words of a document with a capital where no sentence begins."""
    starts = set(sentences)
    return {
        word
        for number, word in enumerate(words)
        if number not in starts and words[number - 1] not in _OPENS_SENTENCE and word[:1].isupper()
    }


def _type(head: str, tag: str, names: Container[str]) -> MentionType:
    """The type of a mention with this head word. names: see `_find_names`."""
    if tag:
        return "pronoun" if tag in _PRONOUN_TAGS else "proper" if tag in _PROPER_TAGS else "nominal"
    if head.lower() in PRONOUNS and head not in _ACRONYMS:
        return "pronoun"
    return "proper" if head in names else "nominal"
