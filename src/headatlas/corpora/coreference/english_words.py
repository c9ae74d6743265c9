"""English words by class, for texts without parts of speech: closed classes, and the commonest words of others."""

from __future__ import annotations


def word_set(text: str) -> frozenset[str]:
    """A set of words, written as a line of text."""
    return frozenset(text.split())


PRONOUNS = word_set(
    "i me my mine myself you your yours yourself yourselves he him his himself she her hers herself it its itself "
    "we us our ours ourselves they them their theirs themselves themself 'em thou thee thy thine thyself ye"
)

POSSESSIVES = frozenset({"'s", "\u2019s", "'", "\u2019"})

# open a noun phrase
DETERMINERS = word_set("the a an this that these those my your his her its our their thy whose every no")

# come before a noun, or take its place
MODIFIERS = word_set(
    "all both half some any each either neither none another other others such much many more most few several enough "
    "certain same one two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty hundred "
    "thousand million first second third last next very quite too so only even just nearly almost "
    "old young little big great small large good bad new poor dear long short high low real true whole own"
)

# open what follows a noun: prepositional phrases, relative clauses, predicates
LINKS = word_set(
    "of in on at by about for with from to into onto after before between through throughout over under above below "
    "against during without within toward towards upon among amongst near behind beneath beside besides beyond across "
    "along around as like unlike off out up down inside outside since until till per via despite except "
    "regarding concerning who whom whose which that where when why how while because if though although whereby "
    "than am is are was were be been being has have had do does did will would can could shall should may might must "
    "'m 're 've 'd 'll n't not away back ago alone"
)

CONJUNCTIONS = word_set("and or but nor & yet plus versus vs vs.")
