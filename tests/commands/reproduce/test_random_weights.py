"""A network with random weights passes no verdict, whatever its weights are like and were drawn by."""

from __future__ import annotations

import pytest

import headatlas as ha
from headatlas.commands.reproduce import run as reproducing
from headatlas.corpora.sample import sample_text
from nulls import random_networks
from tests.models.altering import load
from tests.treebank_parts import write_parts

QUICK = {"bootstrap": 50, "least_count": 20, "device": "cpu", "progress": False}


@pytest.fixture(scope="module")
def corpora(tmp_path_factory):
    return write_parts(tmp_path_factory.mktemp("corpora"), 80, 100)


@pytest.fixture
def reproduce(corpora, tmp_path, monkeypatch):
    """`reproduce` without pictures, on a network with random weights that is saved as if it were trained."""
    for name in ("write_figures", "write_page"):
        monkeypatch.setattr(reproducing, name, lambda *_: None)

    def run(name, kind, seed, **options):
        model = load(name, random_weights=kind, seed=seed)
        folder = tmp_path / "model"
        model.network.save_pretrained(folder)
        model.tokenizer.save_pretrained(folder)
        inputs = {"wikipedia": sample_text(), "ptb_dev": corpora / "dev.conllu", "conll2012": corpora / "dev.conllu"}
        return ha.reproduce("clark2019", model=str(folder), out=tmp_path / "out", **inputs, **QUICK, **options)

    return run


def check(table):
    decided = table[(table["decided_by"] != "corpus") & (table["verdict"] != "not run")]
    assert len(decided) > 20
    passed = decided[decided["verdict"] == "reproduced"]
    assert passed.empty, passed[["claim", "item", "ours", "fresh", "shuffled"]].to_string()


@pytest.mark.parametrize(("kind", "seed"), random_networks(2))
def test_no_verdict_for_a_tiny_network(reproduce, tiny_folder, kind, seed):
    check(reproduce(tiny_folder("bert"), kind, seed, segments=8, max_tokens=60).tables["reproduction"])


@pytest.mark.weights
@pytest.mark.parametrize(("kind", "seed"), random_networks(1))
def test_no_verdict_for_an_embedded_network(reproduce, kind, seed):
    check(reproduce("embedded-mlm", kind, seed, segments=12).tables["reproduction"])


def test_random_weights_need_the_model_by_name(load_tiny, tmp_path):
    with pytest.raises(ha.HeadatlasError, match="Pass the model by name"):
        ha.reproduce("clark2019", model=load_tiny("bert"), ptb_dev="dev.conllu", out=tmp_path)
