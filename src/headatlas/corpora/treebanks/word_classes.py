"""Coarse parts of speech: the universal ones, proper nouns with the nouns, for rules that know tags.

Universal tags are taken as they are, Penn tags are translated. Of any other tag set the coarser column of the file is
used as it stands.
"""

from __future__ import annotations

NOUN = "NOUN"
UNIVERSAL_TAGS = {
    "ADJ", "ADP", "ADV", "AUX", "CCONJ", "CONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN", "PUNCT",
    "SCONJ", "SYM", "VERB", "X",
}  # fmt: skip
_PENN = {
    "ADJ": "JJ JJR JJS AFX",
    "ADP": "IN TO RP",  # the infinitive's `to` has the tag of the preposition
    "ADV": "RB RBR RBS WRB",
    "AUX": "MD",
    "CCONJ": "CC",
    "DET": "DT PDT WDT",
    "INTJ": "UH",
    NOUN: "NN NNS NNP NNPS",
    "NUM": "CD",
    "PART": "POS",
    "PRON": "PRP PRP$ WP WP$ EX",
    "PUNCT": ". , : `` '' -LRB- -RRB- -LSB- -RSB- HYPH NFP LS",
    "SYM": "SYM $ #",
    "VERB": "VB VBD VBG VBN VBP VBZ",
    "X": "FW ADD GW XX",
}
_OF_PENN = {tag: word_class for word_class, tags in _PENN.items() for tag in tags.split()}


def word_class(coarse: str, fine: str) -> str:
    """The class of a word from the two tags that a file gives it, either of them "_" or empty if it gives none.

    >>> word_class("PROPN", "NNP"), word_class("VVD", "VBD"), word_class("N", "Nfs"), word_class("_", "_")
    ('NOUN', 'VERB', 'N', '')
    """
    if coarse in UNIVERSAL_TAGS:
        return NOUN if coarse == "PROPN" else coarse
    if fine in _OF_PENN or coarse in _OF_PENN:
        return _OF_PENN.get(fine) or _OF_PENN[coarse]
    return next((tag for tag in (coarse, fine) if tag not in ("_", "")), "")
