"""Dependency heads from a constituency tree, as CoNLL-2012 gives it: ``(TOP(S(NP*``, ``*)``, one bit a word.

Every phrase has a head child; the other children's head words depend on its head word. The rules, after Collins (1999),
for a noun phrase: the last noun or pronoun among its children, a possessive ``'s`` never; else its first noun phrase;
else the last number, adjective or determiner; else the last child. For other phrases: the first child of a kind that
the phrase is named for (a verb or verb phrase, a preposition), else the first child.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from headatlas.corpora.treebanks.sentence import ROOT

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


@dataclass
class _Phrase:
    label: str
    children: list[tuple[str, int]] = field(default_factory=list)  # label and head word of each


def heads_from_parse(bits: Sequence[str], tags: Sequence[str]) -> tuple[int, ...] | None:
    """The head of each word of a sentence, from 0, or ROOT; None where the bits hold no bracketing at all.

    Raises ValueError for bits that are no tree.
    """
    if all(bit in ("*", "-", "_", "") for bit in bits):
        return None
    heads = [ROOT] * len(bits)
    top = _Phrase("")
    stack = [top]
    for word, (bit, tag) in enumerate(zip(bits, tags, strict=True)):
        if "".join(match.group() for match in _BIT.finditer(bit)) != bit or bit.count("*") != 1:
            raise ValueError(f"{bit!r} is no parse bit such as (NP*, * or *)")
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
    """Make the phrase's other children depend on its head word, which is returned."""
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
