from __future__ import annotations

from pathlib import Path

import pytest

from headatlas.corpora.treebanks.label_sets import (
    CLEARNLP,
    LABEL_SETS,
    STANFORD,
    UNIVERSAL,
    LabelSet,
    detect_label_set,
    possessive_clitic,
    punctuation_of,
)
from headatlas.corpora.treebanks.sentence import ROOT, Sentence


@pytest.mark.parametrize(
    ("relations", "expected"),
    [
        ("root nsubj dobj prep pobj det nn punct poss possessive", STANFORD),
        ("root nsubj dobj det", STANFORD),
        ("root nsubj obj obl case det punct nmod:poss nsubj:pass acl:relcl", UNIVERSAL),
        ("ROOT nsubj obj obl case det punct cop flat:name", UNIVERSAL),
        ("root nsubj nsubjpass dobj nmod case compound auxpass name mwe cop neg", UNIVERSAL),
        ("ROOT nsubj dobj prep pobj det compound punct poss case attr relcl nummod", CLEARNLP),
        ("ROOT nsubj dobj prep pobj", CLEARNLP),
    ],
)
def test_label_sets_are_told_by_their_relations(relations: str, expected: LabelSet) -> None:
    assert detect_label_set(relations.split()) is expected


def test_each_set_is_told_by_all_of_its_relations() -> None:
    for label_set in LABEL_SETS.values():
        assert detect_label_set(label_set.relations) is label_set


def test_any_other_set_takes_its_root_from_the_trees() -> None:
    tiger = detect_label_set({"sb", "oa", "nk", "mo", "--", "punct"}, {"--"})
    assert (tiger.name, tiger.root, tiger.punct) == ("other", {"--"}, {"punct"})
    assert detect_label_set({"sb", "oa"}).root == {"root", "ROOT"}
    assert detect_label_set([]).name == "other"


def sentence(*words: tuple[str, int, str]) -> Sentence:
    forms, heads, relations = zip(*words, strict=True)
    return Sentence("0.0.0", Path("x"), 1, forms, heads, relations, ("",) * len(words))


@pytest.mark.parametrize("clitic", ["'s", "’s", "'", "’"])  # noqa: RUF001
@pytest.mark.parametrize(
    ("label_set", "possessive", "case"),
    [(STANFORD, "poss", "possessive"), (UNIVERSAL, "nmod:poss", "case"), (CLEARNLP, "poss", "case")],
)
def test_the_clitic_counts_for_the_possessor_before_it(
    label_set: LabelSet, possessive: str, case: str, clitic: str
) -> None:
    tree = sentence(("Ann", 2, possessive), (clitic, 0, case), ("dog", ROOT, "root"))
    assert possessive_clitic(tree, label_set) == (1, 1, 2)


@pytest.mark.parametrize(
    "tree",
    [
        sentence(("dog", ROOT, "root"), ("hers", 0, "nmod:poss")),
        sentence(("her", 2, "nmod:poss"), ("'", 2, "punct"), ("dog", ROOT, "root")),
        sentence(("her", 1, "nmod:poss"), ("dog", ROOT, "root"), ("'s", 1, "cop")),
        sentence(("Ann", 2, "nsubj"), ("'s", 0, "case"), ("dog", ROOT, "root")),
        sentence(("'s", 1, "case"), ("Ann", ROOT, "nmod:poss")),
    ],
    ids=["end of the sentence", "quotation mark", "verb", "no possessor", "clitic before"],
)
def test_otherwise_each_word_counts_for_itself(tree: Sentence) -> None:
    assert possessive_clitic(tree, UNIVERSAL) == tuple(range(len(tree.words)))


def test_punctuation_has_its_name_in_every_set_also_in_one_that_is_not_known() -> None:
    for label_set in (STANFORD, UNIVERSAL, CLEARNLP, detect_label_set({"SBJ", "OBJ", "PU"})):
        assert punctuation_of(label_set.name) == label_set.punct
