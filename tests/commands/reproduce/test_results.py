"""Folders of other commands: read beside the survey, each with its model, files and control, or refused in words."""

from __future__ import annotations

import json
import shutil

import pytest

import headatlas as ha
from headatlas.commands.reproduce import run as reproducing
from headatlas.commands.reproduce.results import ANY_MODEL, TRAINED, read_results, sources_of
from headatlas.corpora.sample import sample_text
from headatlas.errors import AtlasError, HeadatlasError
from tests.treebank_parts import write_parts
from typed import typed

QUICK = {"max_tokens": 48, "bootstrap": 20, "device": "cpu", "progress": False}
REMOVING = QUICK | {"task": "masked-lm", "text": sample_text(), "examples": 6, "steps": 2, "random_orders": 2}


@pytest.fixture(scope="module")
def corpora(tmp_path_factory):
    return write_parts(tmp_path_factory.mktemp("corpora"), 80, 60)


@pytest.fixture(scope="module")
def folders(corpora, tiny_folder, tmp_path_factory):
    """What other commands made of a tiny model, and a survey of another."""
    model, out = str(tiny_folder("bert")), tmp_path_factory.mktemp("results")
    few = {"seeds": 1, "updates": 2, "width": 4, "examples": 1, "heads": False, "control": "shuffled"}
    tasks = {"task": ["pos", "dependencies", "arcs", "coreference"], "train_targets": 40}
    ha.ablate(model, out=out / "ablation", **REMOVING)
    ha.ablate(model, out=out / "ablation-fresh", random_weights="fresh", **REMOVING)
    for task in tasks.pop("task"):
        parts = {"train": corpora / "train.conllu", "eval": corpora / "dev.conllu"}
        ha.layers(model, out=out / "layers", task=task, **parts, **few, **tasks, **QUICK)
    ha.prune(model, heads="1-1", out=out / "pruned", device="cpu", progress=False)
    ha.survey(str(tiny_folder("electra")), text=sample_text(), segments=4, out=out / "other", **QUICK)
    return out


def test_every_folder_answers_its_claims(folders, tiny_folder, tmp_path, monkeypatch):
    for name in ("write_figures", "write_page"):
        monkeypatch.setattr(reproducing, name, lambda *_: None)
    results = [folders / name for name in ("ablation", "ablation-fresh", "layers", "pruned", "other")]
    model = str(tiny_folder("bert"))
    atlas = ha.reproduce(
        "clark2019", model=model, wikipedia=sample_text(), segments=4, results=results, out=tmp_path, **QUICK
    )
    table = atlas.tables["reproduction"].set_index("item")
    alike, order, spread, by_importance, smaller = (
        table.loc[item]
        for item in (
            "the uncased model is alike",
            "tasks are solved in the order of the classical pipeline",
            "syntax is localised in layers, semantics spread out",
            "pruning by importance is as good as by single removals",
            "pruning makes a model smaller and faster",
        )
    )
    assert "electra" in alike["ours"]
    assert alike["fresh"]
    assert alike["shuffled"]
    for row in (order, spread):
        assert row["missing"].startswith("--results of headatlas layers"), "one training gives no order"
    assert f"ablate of {model} on {sample_text().name}" in by_importance["ours"]
    assert "without 1 heads" in smaller["ours"]
    assert not (table["verdict"] == "reproduced")[table["decided_by"] != "corpus"].any()
    report = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "- ablate of" in report
    assert "with fresh random weights" not in table["ours"].str.cat()


def test_tables_are_joined_by_weights_and_name_their_source(folders, tiny_folder):
    model = str(tiny_folder("bert"))
    again = [folders / name for name in ("ablation", "ablation", "ablation-fresh", "layers", "other")]
    read = read_results(again, model)
    once = ha.open_results(folders / "ablation").tables["ablation"]
    assert len(read[TRAINED]["ablation"]) == 2 * len(read["fresh"]["ablation"]) == 2 * len(once)
    assert set(read[TRAINED]["layer_summary"]["weights"]) == {"pretrained"}
    assert set(read["shuffled"]["layer_summary"]["weights"]) == {"random"}
    assert "layer_order" not in read["shuffled"]
    assert f"{ANY_MODEL}ablation" not in read[TRAINED], "it is not of translation"
    assert "token_kinds" not in read[TRAINED]
    for kind in (TRAINED, "fresh", "shuffled"):
        assert read[kind][f"{ANY_MODEL}token_kinds"]["source"].str.contains("electra").all()
    assert len(sources_of(read[TRAINED])) == 3
    assert sources_of({"ablation": read["fresh"]["ablation"]}) == [
        f"ablate of {model} with fresh random weights on {sample_text().name}"
    ]


def test_a_folder_of_another_model_is_refused_but_for_translation(folders, tiny_folder, tmp_path):
    gpt2 = str(tiny_folder("gpt2"))
    with pytest.raises(AtlasError, match=r"ablation: is about .*bert.*, not .*gpt2.* Give results of ablate for"):
        read_results([folders / "ablation"], gpt2)
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("source\ttarget\n" + "the cat sat\tthe cat sat\n" * 4, encoding="utf-8")
    seq2seq = str(tiny_folder("bart"))
    ha.ablate(seq2seq, task="translation", data=pairs, out=tmp_path / "t", curves=False, **QUICK)
    read = read_results([tmp_path / "t"], gpt2)
    assert f"{ANY_MODEL}ablation" in read[TRAINED]
    assert "ablation" not in read[TRAINED]
    assert "ablation" in read_results([tmp_path / "t"], seq2seq)[TRAINED]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"complete": False}, "has not finished"),
        ({"command": "probe"}, r"no claim is about results of probe\. Give those of .*ablate.*layers.*survey"),
        ({"command": "survey"}, r"is a survey of .*bert.* Give one of another model"),
    ],
)
def test_a_folder_that_answers_nothing_is_refused(folders, tiny_folder, tmp_path, change, why):
    copy = shutil.copytree(folders / "ablation", tmp_path / "copy")
    manifest = json.loads((copy / "manifest.json").read_text(encoding="utf-8"))
    (copy / "manifest.json").write_text(json.dumps(manifest | change), encoding="utf-8")
    with pytest.raises(AtlasError, match=why):
        read_results([copy], str(tiny_folder("bert")))


def test_a_random_survey_is_no_other_model(folders, tiny_folder, tmp_path):
    copy = shutil.copytree(folders / "other", tmp_path / "copy")
    manifest = json.loads((copy / "manifest.json").read_text(encoding="utf-8"))
    manifest["model"]["random_weights"] = {"kind": "fresh", "seed": 0}
    (copy / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(AtlasError, match="with fresh random weights"):
        read_results([copy], str(tiny_folder("bert")))


def test_folders_are_refused_before_the_survey(tiny_folder, tmp_path, monkeypatch):
    monkeypatch.setattr(reproducing, "run_survey", lambda *_, **__: pytest.fail("the survey has begun"))
    with pytest.raises(HeadatlasError, match="nothing here"):
        ha.reproduce(
            "clark2019", model=str(tiny_folder("bert")), wikipedia=sample_text(), results=tmp_path / "nothing here"
        )
    typed_words = ("reproduce", "clark2019", "--wikipedia", sample_text(), "--results", tmp_path / "none")
    assert "none: no such file or folder" in typed(*typed_words).output
