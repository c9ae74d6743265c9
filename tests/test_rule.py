"""The rule: a network with random weights earns no label and is named in no finding; nor do shuffled labels earn one.

Every registered study and kind of corpus takes part, so a new label or sentence that breaks the rule is caught here.
"""

from __future__ import annotations

import random
import re

import pytest

import headatlas as ha
from headatlas.corpora.sample import sample_treebank
from headatlas.engine.corpora import KINDS
from headatlas.studies import STUDIES
from headatlas.studies.findings import Finding
from headatlas.studies.labels import labels_of
from headatlas.views.words.findings import findings
from nulls import random_networks

HEAD_NAME = re.compile(r"\b\d+-\d+\b")
FEW = {"segments": 16, "bootstrap": 200, "least_count": 20, "examples": 1, "device": "cpu"}

CORPORA = {name: files for name in KINDS if (files := KINDS[name]().sample())}


def survey(model, folder, **options):
    """All studies over the samples of all kinds of corpus, so far as the model has what they need."""
    return ha.survey(str(model), out=folder, progress=False, **CORPORA | FEW | options)


def labelled(atlas):
    behaviours = labels_of(atlas.tables["behaviours"])
    return [f"{row.layer}-{row.head} {row.label}: {row.evidence}" for row in behaviours.itertuples()]


def naming(atlas):
    """The findings that name a head, as data or in words."""
    return [
        str(finding)
        for finding in findings(atlas.tables)
        if (isinstance(finding, Finding) and finding.heads) or HEAD_NAME.search(str(finding))
    ]


def check(atlas):
    assert not labelled(atlas)
    assert not naming(atlas)


@pytest.mark.parametrize(("kind", "seed"), random_networks(4))
@pytest.mark.parametrize("family", ["bert", "gpt2"])
def test_a_tiny_network_with_random_weights(family, kind, seed, tiny_folder, tmp_path):
    check(survey(tiny_folder(family), tmp_path / "atlas", random_weights=kind, seed=seed, max_tokens=64))


@pytest.mark.weights
@pytest.mark.parametrize(("kind", "seed"), random_networks(2))
def test_a_real_network_with_random_weights(kind, seed, tmp_path):
    atlas = survey("embedded-mlm", tmp_path / "atlas", random_weights=kind, seed=seed)
    studies = [study for study in STUDIES.values() if study.corpus in CORPORA]
    missing = {table.name for study in studies for table in study.tables} - set(atlas.tables)
    assert not missing, "every study is to be put to the test"
    check(atlas)


@pytest.mark.weights
def test_the_same_network_with_its_own_weights_earns_labels_and_is_named(tmp_path):
    """Or else the others would pass for a reason of their own."""
    few = FEW | {"studies": ("positions", "token_kinds"), "text": CORPORA["text"]}
    atlas = ha.survey("embedded-mlm", out=tmp_path / "atlas", progress=False, **few)
    assert labelled(atlas)
    assert naming(atlas)


@pytest.mark.weights
def test_shuffled_labels_give_no_relation(tmp_path):
    """Every sentence keeps its words and the shape of its tree, but the words of the tree are others."""
    path = tmp_path / "shuffled.conllu"
    path.write_text(with_words_of_trees_shuffled(sample_treebank().read_text("utf-8")), "utf-8")
    atlas = ha.survey("embedded", treebank=path, out=tmp_path / "atlas", progress=False, **FEW)
    assert len(atlas.tables["dependency_best"]) > 3
    assert not labelled(atlas)


def with_words_of_trees_shuffled(conllu):
    dice = random.Random(0)
    sentences = []
    for sentence in conllu.strip().split("\n\n"):
        lines = sentence.split("\n")
        rows = {line.split("\t")[0]: line.split("\t") for line in lines if line.split("\t")[0].isdigit()}
        numbers = list(rows)
        stands_for = dict(zip(numbers, dice.sample(numbers, len(numbers)), strict=True)) | {"0": "0"}
        place_of = {old: new for new, old in stands_for.items()}
        shuffled = {
            number: [*row[:6], place_of[rows[stands_for[number]][6]], rows[stands_for[number]][7], "_", row[9]]
            for number, row in rows.items()
        }
        kept = [line for line in lines if line.startswith("#")]
        sentences.append("\n".join([*kept, *("\t".join(shuffled[number]) for number in numbers)]))
    return "\n\n".join(sentences) + "\n\n"
