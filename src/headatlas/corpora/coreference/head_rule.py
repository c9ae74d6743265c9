"""The head word of an English noun phrase that has no tree.

It is the last noun before whatever can only follow it (a preposition, relative pronoun, verb or participle, a second
determiner or pronoun, a comma, ``and``), after the last possessor; without a noun the last number, adjective or
determiner. A possessive ``'s`` at the end is skipped. Without parts of speech every word outside the lists of
`english_words` passes for a noun, and one in -ing or -ed before a preposition or determiner for a participle.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Literal
from unicodedata import category

from headatlas.corpora.coreference.english_words import (
    CONJUNCTIONS,
    DETERMINERS,
    LINKS,
    MODIFIERS,
    POSSESSIVES,
    PRONOUNS,
    word_set,
)

# what a word is to the rule: a noun or pronoun may be the head; a modifier, determiner or participle if there is none;
# after a noun all but modifiers and nouns end the noun phrase, and a link does so after anything
_Kind = Literal["noun", "pronoun", "modifier", "determiner", "participle", "link", "pause", "possessive", "mark"]
_KIND_OF_TAG: dict[str, _Kind] = {
    **dict.fromkeys(("NN", "NNS", "NNP", "NNPS", "NOUN", "PROPN"), "noun"),
    **dict.fromkeys(("PRP", "PRON"), "pronoun"),
    **dict.fromkeys(("DT", "PRP$", "DET"), "determiner"),
    **dict.fromkeys(("VBG", "VBN", "VB", "VERB"), "participle"),
    **dict.fromkeys(("IN", "TO", "WDT", "WP", "WP$", "WRB", "VBD", "VBP", "VBZ", "MD", "ADP", "SCONJ", "AUX"), "link"),
    **dict.fromkeys(("CC", ",", ":", ".", "-LRB-", "-RRB-", "CCONJ", "PUNCT"), "pause"),
    "POS": "possessive",
}
_PAUSES = CONJUNCTIONS | word_set(", ; : ( ) [ ] . ! ? -- \u2013 \u2014 -LRB- -RRB-")


def head_by_rule(start: int, end: int, words: Sequence[str], tags: Sequence[str]) -> int:
    """The head word of words start to end without a tree: the rule of this module's docstring."""
    noun = other = None
    link = end - 1
    for word in range(start, end):
        kind = _kind(word, words, tags, start, end)
        if kind == "possessive":
            if word + 1 < end:
                noun = other = None
        elif noun is not None and kind not in ("noun", "modifier", "mark"):
            break
        elif kind in ("noun", "pronoun"):
            noun = word
        elif kind == "link":
            if other is not None:
                break
            link = word
        elif kind not in ("pause", "mark"):
            other = word
    return noun if noun is not None else other if other is not None else link


@lru_cache(4096)
def is_mark(word: str) -> bool:
    """Whether a word is mere punctuation."""
    return word != "%" and all(category(letter).startswith("P") for letter in word)


def _kind(word: int, words: Sequence[str], tags: Sequence[str], start: int, end: int) -> _Kind:
    if not tags[word]:
        return _kind_by_form(word, words, start, end)
    kind = _KIND_OF_TAG.get(tags[word], "mark" if is_mark(words[word]) else "modifier")
    return "modifier" if kind == "participle" and word > start and words[word - 1] == "-" else kind


def _kind_by_form(word: int, words: Sequence[str], start: int, end: int) -> _Kind:
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
