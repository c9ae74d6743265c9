"""The embedded sample: big enough, its two files agree, its coreference is well formed."""

import re
from collections import Counter

import conllu
import pytest

from headatlas.corpora.sample import sample_text
from headatlas.corpora.text import read_text

CONLLU = sample_text().with_name("sample.conllu")
CARD = sample_text().with_name("README.md").read_text(encoding="utf-8")
MARK = re.compile(r"\((?P<open>[^()-]+)-(?P<type>[a-z]+)(?P<whole>\))?|(?P<close>[^()-]+)\)")


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
