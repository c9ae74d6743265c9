"""A network with random weights passes no verdict, whatever its weights are like and were drawn by."""

from __future__ import annotations

import pytest

import headatlas as ha
from headatlas.commands.reproduce import run as reproducing
from headatlas.corpora.sample import sample_text
from nulls import random_networks
from tests.commands.keyphrases.made_up import corpus
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

    def run(name, kind, seed, others=False, **options):
        model = load(name, random_weights=kind, seed=seed)
        folder = tmp_path / "model"
        model.network.save_pretrained(folder)
        model.tokenizer.save_pretrained(folder)
        inputs = {"wikipedia": sample_text(), "ptb_dev": corpora / "dev.conllu", "conll2012": corpora / "dev.conllu"}
        if others:
            inputs["results"] = results_of(str(folder), corpora, tmp_path)
        return ha.reproduce("clark2019", model=str(folder), out=tmp_path / "out", **inputs, **QUICK, **options)

    return run


def results_of(model, corpora, out):
    """What other commands make of a network, and of the same with its control."""
    quick = {"max_tokens": 48, "bootstrap": 100, "device": "cpu", "progress": False}
    parts = {"train": corpora / "train.conllu", "eval": corpora / "dev.conllu", "width": 8, "updates": 40, "seeds": 3}
    layers = {"out": out / "layers", "control": "shuffled", "heads": False, "train_targets": 200, **parts, **quick}
    for task in ("pos", "dependencies", "arcs", "coreference"):
        ha.layers(model, task=task, **layers)
    (out / "other.txt").write_text(sample_text().read_text(encoding="utf-8")[-20_000:], encoding="utf-8")
    sets = {"task": "masked-lm", "text": sample_text(), "also": {"other": str(out / "other.txt")}, "examples": 12}
    for kind in (None, "fresh", "shuffled"):
        ha.ablate(model, out=out / f"ablation-{kind}", random_weights=kind, steps=4, random_orders=3, **sets, **quick)
    documents = {"train": corpus(out / "train.jsonl", 12), "data": corpus(out / "data.jsonl", 12, start=1)}
    ha.keyphrases(model, out=out / "phrases", **documents, **quick)
    return [out / name for name in ("layers", "ablation-None", "ablation-fresh", "ablation-shuffled", "phrases")]


def check(table):
    decided = table[(table["decided_by"] != "corpus") & (table["verdict"] != "not run")]
    assert len(decided) > 20
    passed = decided[decided["verdict"] == "reproduced"]
    assert passed.empty, passed[["claim", "item", "ours", "fresh", "shuffled"]].to_string()


@pytest.mark.parametrize(("kind", "seed"), random_networks(2))
def test_no_verdict_for_a_tiny_network(reproduce, tiny_folder, kind, seed):
    table = reproduce(tiny_folder("bert"), kind, seed, True, segments=8, max_tokens=60).tables["reproduction"]
    check(table)
    assert set(table[table["verdict"] != "not run"]["claim"]) >= {40, 43}


@pytest.mark.weights
@pytest.mark.parametrize(("kind", "seed"), random_networks(1))
def test_no_verdict_for_an_embedded_network(reproduce, kind, seed):
    check(reproduce("embedded-mlm", kind, seed, segments=12).tables["reproduction"])


def test_random_weights_need_the_model_by_name(load_tiny, tmp_path):
    with pytest.raises(ha.HeadatlasError, match="Pass the model by name"):
        ha.reproduce("clark2019", model=load_tiny("bert"), ptb_dev="dev.conllu", out=tmp_path)
