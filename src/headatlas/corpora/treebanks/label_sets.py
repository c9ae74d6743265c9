"""Label sets of dependency relations: what each calls the root, punctuation and possessors (paper, section 4.2).

The paper uses Stanford Dependencies, most treebanks Universal Dependencies, and spaCy's English pipelines ClearNLP's
labels. Any other set works too: its relations are scored as they are.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from headatlas.corpora.treebanks.sentence import ROOT, Sentence

CLITICS = frozenset({"'s", "\u2019s", "'", "\u2019"})


@dataclass(frozen=True)
class LabelSet:
    """The relations of a set with a special treatment, and all its relations, by which it is recognised."""

    name: str
    root: frozenset[str]
    possessive: frozenset[str]  # from a possessor to what it possesses
    clitic: frozenset[str]  # from 's or ' to its possessor
    relations: frozenset[str]  # without subtypes
    punct: frozenset[str] = frozenset({"punct"})


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


STANFORD = LabelSet(
    name="stanford",
    root=frozenset({"root"}),
    possessive=frozenset({"poss"}),
    clitic=frozenset({"possessive"}),
    relations=_names(
        "root dep abbrev acomp advcl advmod agent amod appos attr aux auxpass cc ccomp complm conj cop csubj "
        "csubjpass det discourse dobj expl goeswith infmod iobj mark mwe measure neg nn npadvmod nsubj nsubjpass "
        "num number parataxis partmod pcomp pobj poss possessive preconj predet prep prepc prt punct purpcl "
        "quantmod rcmod ref rel tmod vmod vocative xcomp xsubj"
    ),
)
UNIVERSAL = LabelSet(  # versions 1 and 2
    name="universal",
    root=frozenset({"root", "ROOT"}),
    possessive=frozenset({"nmod:poss"}),
    clitic=frozenset({"case"}),
    relations=_names(
        "root acl advcl advmod amod appos aux case cc ccomp clf compound conj cop csubj dep det discourse "
        "dislocated expl fixed flat goeswith iobj list mark nmod nsubj nummod obj obl orphan parataxis punct "
        "reparandum vocative xcomp auxpass csubjpass dobj foreign mwe name neg nsubjpass remnant"
    ),
)
CLEARNLP = LabelSet(
    name="clearnlp",
    root=frozenset({"ROOT"}),
    possessive=frozenset({"poss"}),
    clitic=frozenset({"case"}),
    relations=_names(
        "ROOT acl acomp advcl advmod agent amod appos attr aux auxpass case cc ccomp compound conj csubj csubjpass "
        "dative dep det dobj expl intj mark meta neg nmod npadvmod nsubj nsubjpass nummod oprd parataxis pcomp "
        "pobj poss preconj predet prep prt punct quantmod relcl xcomp"
    ),
)
LABEL_SETS = {label_set.name: label_set for label_set in (STANFORD, UNIVERSAL, CLEARNLP)}


def punctuation_of(name: str) -> frozenset[str]:
    """What the label set of that name calls punctuation; an unknown set is assumed to call it punct."""
    return LABEL_SETS[name].punct if name in LABEL_SETS else LabelSet.punct


def detect_label_set(relations: Collection[str], root_relations: Collection[str] = ()) -> LabelSet:
    """The set that knows the most of a treebank's relations, if more than half.

    Otherwise a set named ``other`` with these root relations, which are those of words without a head.
    """
    main_types = [relation.partition(":")[0] for relation in set(relations)]
    known = {label_set: sum(name in label_set.relations for name in main_types) for label_set in LABEL_SETS.values()}
    best = max(known, key=lambda label_set: known[label_set])
    if 2 * known[best] > len(main_types):
        return best
    return LabelSet(
        name="other",
        root=frozenset(root_relations) or frozenset({"root", "ROOT"}),
        possessive=STANFORD.possessive | UNIVERSAL.possessive,
        clitic=STANFORD.clitic | UNIVERSAL.clitic,
        relations=frozenset(main_types),
    )


def possessive_clitic(sentence: Sentence, label_set: LabelSet) -> tuple[int, ...]:
    """For each word the word whose prediction counts: the clitic for a possessor right before it, else the word itself.

    The clitic is recognised by its spelling and its relation, so that a quotation mark after `her` does not count.
    """
    counts = list(range(len(sentence.words)))
    for clitic in range(1, len(sentence.words)):
        if (
            sentence.words[clitic] in CLITICS
            and sentence.relations[clitic] in label_set.clitic
            and sentence.relations[clitic - 1] in label_set.possessive
        ):
            counts[clitic - 1] = clitic
    return tuple(counts)


def labels_of(trees: Sequence[Sentence]) -> LabelSet:
    """Detect the label set of a treebank from its relations."""
    relations = {relation for tree in trees for relation in tree.relations}
    return detect_label_set(relations, {tree.relations[tree.heads.index(ROOT)] for tree in trees})
