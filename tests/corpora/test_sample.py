"""The embedded sample: big enough, its two files agree, its coreference and its syntax are well formed."""

import re
from collections import Counter

import conllu
import pytest

from headatlas.corpora.sample import sample_text
from headatlas.corpora.text import read_text

CONLLU = sample_text().with_name("sample.conllu")
CARD = sample_text().with_name("README.md").read_text(encoding="utf-8")
MARK = re.compile(r"\((?P<open>[^()-]+)-(?P<type>[a-z]+)(?P<whole>\))?|(?P<close>[^()-]+)\)")

ARGUMENTS = {"nsubj", "obj", "iobj", "csubj", "ccomp", "xcomp", "obl", "vocative", "expl", "nmod", "appos"}
MODIFIERS = {"advcl", "advmod", "discourse", "acl", "amod", "nummod", "det", "case", "aux", "cop", "mark"}
OTHERS = {"root", "conj", "cc", "fixed", "flat", "compound", "parataxis", "orphan", "punct"}
SUBJECTS = {"nsubj:pass", "nsubj:outer", "csubj:pass", "csubj:outer"}
PHRASES = {"obl:agent", "obl:unmarked", "nmod:desc", "nmod:poss", "nmod:unmarked"}
SUBTYPES = {"advcl:relcl", "acl:relcl", "aux:pass", "det:predet", "cc:preconj", "compound:prt"}
RELATIONS = ARGUMENTS | MODIFIERS | OTHERS | SUBJECTS | PHRASES | SUBTYPES
VERBS = {"VB", "VBD", "VBG", "VBN", "VBP", "VBZ"}
PENN_TAGS = {
    "ADJ": {"JJ", "JJR", "JJS", "NNP"},
    "ADP": {"IN", "RP"},
    "ADV": {"RB", "RBR", "RBS", "WRB"},
    "AUX": VERBS | {"MD"},
    "CCONJ": {"CC"},
    "DET": {"DT", "PDT"},
    "INTJ": {"UH"},
    "NOUN": {"NN", "NNS"},
    "NUM": {"CD"},
    "PART": {"POS", "RB", "TO"},
    "PRON": {"CD", "DT", "EX", "NN", "PRP", "PRP$", "WDT", "WP", "WP$"},
    "PROPN": {"NNP", "NNPS"},
    "PUNCT": {"HYPH", "``", "''", ",", ".", ":"},
    "SCONJ": {"IN"},
    "VERB": VERBS,
    "X": {"FW"},
}
PARTS_OF_SPEECH = {
    "amod": {"ADJ", "VERB"},
    "aux": {"AUX"},
    "aux:pass": {"AUX"},
    "cc": {"CCONJ", "ADV"},
    "compound:prt": {"ADP"},
    "cop": {"AUX"},
    "det": {"DET"},
    "det:predet": {"DET"},
    "expl": {"PRON"},
    "nummod": {"NUM"},
    "punct": {"PUNCT"},
}


@pytest.fixture(scope="module")
def documents():
    """Sentences by document."""
    found: list[list[conllu.TokenList]] = []
    for sentence in conllu.parse(CONLLU.read_text(encoding="utf-8")):
        if "newdoc id" in sentence.metadata:
            found.append([])
        found[-1].append(sentence)
    return found


def test_it_is_large_enough(documents):
    texts = [" ".join(sentence.metadata["text"] for sentence in document) for document in documents]
    assert len(documents) >= 60
    assert sum(len(re.findall(r"\w[\w'-]*", text)) for text in texts) >= 10_000
    for document in documents:
        assert sum("newpar id" in sentence.metadata for sentence in document) >= 2


def test_text_and_conllu_agree(documents):
    lines = list(read_text([sample_text()]))
    assert [line.text for line in lines] == [one.metadata["text"] for document in documents for one in document]
    assert lines[-1].document == len(documents) - 1


def test_tokens_spell_the_text(documents):
    for document in documents:
        for sentence in document:
            spelled = ""
            for token in sentence:
                spelled += token["form"] + ("" if (token["misc"] or {}).get("SpaceAfter") == "No" else " ")
            assert spelled.strip() == sentence.metadata["text"]


def tokens_of(documents):
    """Every token of the sample, in order."""
    return [token for document in documents for sentence in document for token in sentence]


def mentions_of(document):
    """(entity, type) of every mention; fails where brackets do not match within a sentence."""
    mentions = []
    for sentence in document:
        stack: list[str] = []
        for token in sentence:
            marks = (token["misc"] or {}).get("Entity", "")
            assert "".join(match.group() for match in MARK.finditer(marks)) == marks
            for match in MARK.finditer(marks):
                if match["close"]:
                    assert stack.pop() == match["close"], sentence.metadata["sent_id"]
                else:
                    mentions.append((match["open"], match["type"]))
                    if not match["whole"]:
                        stack.append(match["open"])
        assert not stack
    return mentions


def test_coreference_is_well_formed(documents):
    entities = 0
    everything = []
    for document in documents:
        mentions = mentions_of(document)
        everything += mentions
        counts = Counter(entity for entity, _ in mentions)
        assert len(counts) >= 3
        assert min(counts.values()) >= 2
        assert len(set(mentions)) == len(counts), "an entity has one type"
        entities += len(counts)
    assert f"{entities:,} entities with {len(everything):,} mentions" in CARD


def test_the_card_tells_the_truth(documents):
    sentences = sum(map(len, documents))
    tokens = sum(len(sentence) for document in documents for sentence in document)
    assert f"{len(documents)} short documents in English, {sentences} sentences" in CARD
    assert f"{tokens:,} tokens" in CARD


def test_every_sentence_is_a_tree(documents):
    for document in documents:
        for sentence in document:
            heads = {token["id"]: token["head"] for token in sentence}
            name = sentence.metadata["sent_id"]
            assert list(heads.values()).count(0) == 1, name
            for word in heads:
                path = [word]
                while path[-1] != 0:
                    path.append(heads[path[-1]])
                    assert len(path) <= len(heads) + 1, f"{name}: word {word} is in a cycle"


def test_columns_are_filled_with_universal_dependencies(documents):
    for token in tokens_of(documents):
        assert token["deprel"] in RELATIONS
        assert (token["deprel"] == "root") == (token["head"] == 0)
        assert token["xpos"] in PENN_TAGS[token["upos"]], token["form"]
        assert token["lemma"]
        assert token["feats"] is None
        assert token["deps"] is None


def test_relations_fit_the_parts_of_speech(documents):
    for token in tokens_of(documents):
        if token["deprel"] in PARTS_OF_SPEECH:
            assert token["upos"] in PARTS_OF_SPEECH[token["deprel"]], token["form"]
        if token["upos"] == "PUNCT":
            assert token["deprel"] == "punct"
        if token["xpos"] == "PRP$":
            assert token["deprel"] == "nmod:poss"


def test_function_words_and_punctuation_head_no_content(documents):
    for document in documents:
        for sentence in document:
            relation = {token["id"]: token["deprel"] for token in sentence}
            for token in sentence:
                above = relation.get(token["head"])
                assert above != "punct"
                if above in {"aux", "aux:pass", "cop", "cc"}:
                    assert token["deprel"] in {"advmod", "fixed"}, sentence.metadata["sent_id"]


def test_the_card_counts_the_relations(documents):
    counts = Counter(token["deprel"] for token in tokens_of(documents))
    rows = re.findall(r"^\| `([a-z:]+)` \| ([\d,]+) \|$", CARD, re.MULTILINE)
    assert [(name, int(count.replace(",", ""))) for name, count in rows] == counts.most_common(10)
