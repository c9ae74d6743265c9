"""headatlas.ablate end to end on tiny models: tables, manifest, and everything a user can get wrong."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from headatlas import merge, survey
from headatlas.commands.ablate.options import AblateOptions, ablate
from headatlas.commands.ablate.passes import HeadRemoval
from headatlas.commands.ablate.report import report_ablate
from headatlas.commands.shared.printing import FigureOptions
from headatlas.corpora.sample import sample_text, sample_treebank
from headatlas.errors import AtlasError, CorpusError, HeadatlasError, ModelError, SettingError
from headatlas.results.atlas import open_results
from headatlas.views.figures.write import write_figures

VERBS = ("ran", "sat", "ate", "saw")
QUICK = {"max_tokens": 64, "bootstrap": 50, "steps": 2, "random_orders": 2, "device": "cpu", "progress": False}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Files of every kind of data."""
    folder = tmp_path_factory.mktemp("data")
    labelled = [
        (f"the {thing} {did} by the river", thing) for thing in ("dog", "cat") for did in ["ran", "sat", "ate", "saw"]
    ]
    (folder / "labelled.tsv").write_text(
        "text\tlabel\n" + "".join(f"{text}\t{label}\n" for text, label in labelled * 3), encoding="utf-8"
    )
    pairs = [("she sat by the river", "she sat the by river"), ("the dog ran", "dog the ran"), ("a cat", "cat a")]
    (folder / "order.jsonl").write_text(
        "".join(json.dumps({"sentence_good": good, "sentence_bad": bad}) + "\n" for good, bad in pairs),
        encoding="utf-8",
    )
    (folder / "translated.tsv").write_text(
        "source\ttarget\nthe dog ran\tthe old dog\na cat\ta little cat\n", encoding="utf-8"
    )
    return folder


@pytest.fixture(scope="module")
def bert(tiny_folder):
    return str(tiny_folder("bert"))


@pytest.fixture(scope="module")
def two_tasks(bert, data, tmp_path_factory):
    return ablate(
        bert,
        task=["masked-lm", "classification", "minimal-pairs"],
        text=sample_text(),
        data=data / "labelled.tsv",
        pairs=data / "order.jsonl",
        examples=12,
        out=tmp_path_factory.mktemp("ablation") / "out",
        **QUICK,
    )


def test_the_tables_of_several_tasks(two_tasks):
    tables = two_tasks.tables
    assert set(tables) == {"ablation", "importance", "removal_curve", "removable_heads"}
    assert len(tables["ablation"]) == 3 * 2 * 8, "tasks, measures, heads"
    assert len(tables["importance"]) == 3 * 8
    assert len(tables["removal_curve"]) == 3 * 2 * 4 * 3, "tasks, measures, orders, steps"
    for name in tables:
        assert tables[name].equals(pd.read_parquet(two_tasks.folder / "tables" / f"{name}.parquet"))
        may_be_empty = [
            "first_half",
            "second_half",
            *(("heads_removable", "low", "high") if "removable" in name else ()),
        ]
        assert not tables[name].drop(columns=may_be_empty, errors="ignore").isna().any().any()
    curve = tables["removal_curve"]
    ends = curve[curve["share"] == 1].groupby(["task", "measure"])["score"]
    assert (ends.max() - ends.min() < 1e-6).all(), "all orders end without any head"


def test_the_manifest_says_what_was_done(two_tasks):
    manifest = two_tasks.manifest
    assert manifest["complete"]
    assert manifest["corpora"]["classification"]["trained_on"] == 12
    assert manifest["corpora"]["masked-lm"]["passes"] == "layers below a removed head are re-used"
    assert manifest["corpora"]["masked-lm"]["files"][0]["sha256"]
    summary = manifest["summary"]["masked-lm"]
    assert summary["heads"] == 8
    ablation = two_tasks.tables["ablation"].query("task == 'masked-lm' and measure == 'log_likelihood'")
    assert (ablation["score"] - ablation["change"]).to_numpy() == pytest.approx(summary["scores"]["log_likelihood"])
    importance = two_tasks.tables["importance"].query("task == 'masked-lm'")
    both = ablation.merge(importance, on=["layer", "head"])
    ranks = [both["value"].rank(), (-both["change"]).rank()]
    assert summary["importance_and_harm"]["value"] == pytest.approx(np.corrcoef(*ranks)[0, 1], abs=1e-3)


def test_the_same_command_opens_what_is_there_and_another_is_refused(two_tasks, bert, data):
    again = {"task": "masked-lm", "text": sample_text(), "out": two_tasks.folder} | QUICK
    with pytest.raises(AtlasError, match="holds other results"):
        ablate(bert, **again)
    assert open_results(two_tasks.folder).tables["ablation"].equals(two_tasks.tables["ablation"])


def test_other_sets_of_a_task_and_labels_of_a_survey(bert, data, surveyed, tmp_path):
    other = tmp_path / "other.tsv"
    rows = (data / "labelled.tsv").read_text(encoding="utf-8").splitlines()
    other.write_text("\n".join([rows[0], *rows[:0:-1]]).replace("river", "sea") + "\n", encoding="utf-8")
    options = {"task": "classification", "data": data / "labelled.tsv", "also": {"sea": other}, "atlas": surveyed}
    results = ablate(bert, examples=12, out=tmp_path / "out", **options, **QUICK)
    manifest, tables = results.manifest, results.tables
    assert list(manifest["summary"]) == ["classification", "classification:sea"]
    about = manifest["corpora"]["classification:sea"]
    assert [file["file"] for file in about["files"]] == [str(other)]
    assert about["trained_on"] == manifest["corpora"]["classification"]["trained_on"] == 12
    assert set(tables["ablation"]["task"]) == {"classification", "classification:sea"}
    assert set(tables) >= {"set_changes", "set_agreement", "label_importance"}
    assert len(tables["set_changes"]) == 2 * 8, "measures, heads"
    (row,) = tables["set_changes"].query("measure == 'accuracy' and layer == 2 and head == 3").to_dict("records")
    of_head = tables["ablation"].query("measure == 'accuracy' and layer == 2 and head == 3").set_index("task")["change"]
    assert [row["change_a"], row["change_b"]] == of_head.tolist()
    assert set(tables["label_importance"]["label"]) >= {"any label"}
    written = {path.name for path in write_figures(results, tmp_path, ["svg"])}
    assert "set_changes.svg" in written
    report = list(
        report_ablate(results, AblateOptions(bert, **options | {"out": tmp_path}), FigureOptions(figures=False))
    )
    assert any("heads have a label in the survey" in str(line) for line in report)
    assert not any("largest losses" in str(line) for line in report)


def test_documents_are_resampled_where_there_are_twenty(bert, tmp_path):
    text = tmp_path / "documents.txt"
    lines = [f"the dog ran by the river {word}\nshe sat there {word}\n" for word in ("a", "the", "old", "cat") * 6]
    text.write_text("\n".join(lines), encoding="utf-8")
    for examples, unit in ((24, "document"), (19, "example")):
        out = ablate(bert, task="masked-lm", text=text, examples=examples, curves=False, out=tmp_path / unit, **QUICK)
        assert set(out.tables["ablation"]["unit"]) == {unit}
        assert out.manifest["summary"]["masked-lm"]["unit"] == unit


def test_figures_are_drawn(two_tasks, tmp_path):
    written = {path.name for path in write_figures(two_tasks, tmp_path, ["svg"])}
    assert written == {"ablation.svg", "importance.svg", "removal_curve.svg"}
    assert "minimal-pairs" in (tmp_path / "removal_curve.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", ["mean", "resample"])
def test_other_kinds_and_chosen_heads(kind, bert, tmp_path):
    found = ablate(
        bert,
        task="masked-lm",
        text=sample_text(),
        kind=kind,
        heads=["2-4", "1-1"],
        examples=6,
        out=tmp_path / kind,
        **QUICK,
    )
    table = found.tables["ablation"]
    assert set(found.tables) == {"ablation", "importance"}
    assert list(zip(table["layer"], table["head"], strict=True))[:2] == [(2, 4), (1, 1)]
    assert set(table["kind"]) == {kind}


def test_the_same_seed_gives_the_same_tables(bert, tmp_path):
    frames = [
        ablate(bert, task="masked-lm", text=sample_text(), examples=6, out=tmp_path / name, **QUICK).tables
        for name in ("one", "two")
    ]
    for name in frames[0]:
        pd.testing.assert_frame_equal(frames[0][name], frames[1][name])


def test_next_tokens_of_grouped_queries(tiny_folder, tmp_path):
    found = ablate(
        str(tiny_folder("llama")),
        task="next-token",
        text=sample_text(),
        examples=6,
        curves=False,
        out=tmp_path,
        **QUICK,
    )
    assert len(found.tables["ablation"]) == 2 * 8, "gates are for query heads"


@pytest.mark.parametrize("stack", ["encoder", "decoder", "cross"])
def test_translation_in_whole_passes(stack, tiny_folder, data, tmp_path):
    found = ablate(
        str(tiny_folder("bart")),
        task="translation",
        data=data / "translated.tsv",
        attention=stack,
        kind="mean",
        out=tmp_path,
        **QUICK | {"max_tokens": 8, "steps": 1},
    )
    assert found.manifest["corpora"]["translation"]["passes"].startswith("its scores come from many passes")
    assert len(found.tables["ablation"]) == 2 * (8 if stack == "encoder" else 12)


@pytest.fixture(scope="module")
def treebank(tmp_path_factory):
    """The first documents of the sample."""
    documents = sample_treebank().read_text(encoding="utf-8").split("# newdoc")
    path = tmp_path_factory.mktemp("treebank") / "some.conllu"
    path.write_text("# newdoc".join(documents[:11]), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def surveyed(bert, treebank, tmp_path_factory):
    folder = tmp_path_factory.mktemp("surveyed") / "atlas"
    counts = {"least_count": 80, "bootstrap": 20, "max_tokens": 64}
    survey(bert, treebank=treebank, coreference=treebank, out=folder, device="cpu", progress=False, **counts)
    return folder


def test_the_causal_test_of_relations_and_coreference(bert, surveyed, treebank, tmp_path):
    found = ablate(
        bert,
        task="causal",
        atlas=surveyed,
        treebank=treebank,
        coreference=treebank,
        words=20,
        out=tmp_path / "out",
        **QUICK,
    )
    table = found.tables["causal"]
    assert "coreference:pronoun" in set(table["relation"])
    best = open_results(surveyed).tables["dependency_best"].set_index("relation")
    for row in table[~table["relation"].str.startswith("coreference")].to_dict("records"):
        found_head = tuple(best.loc[row["relation"], ["layer", "head", "direction"]])
        assert (row["layer"], row["head"], row["direction"]) == found_head
    assert set(table["kind"]) == {"zero", "mean"}
    assert set(table["end"]) == {"attending", "attended"}
    assert found.manifest["summary"]["causal"]["needed"] == [], "the weights are random"
    heads = found.tables["causal_heads"].set_index(["relation", "end", "kind", "head"])["effect"].sort_index()
    for row in table.to_dict("records"):
        every = heads[row["relation"], row["end"], row["kind"]]
        assert row["effect"] == pytest.approx(every[row["head"]])
        assert row["place"] == 1 + sum(every.drop(row["head"]) >= every[row["head"]])
    said = "\n".join(map(str, report_ablate(found, SimpleNamespace(out=found.folder), SimpleNamespace(figures=False))))
    assert "No relation is shown to need its head" in said
    assert "matched words from the same input: " in said
    assert table["lead"].to_numpy() == pytest.approx((table["effect"] - table["control_effect"]).to_numpy())
    assert (table["p_holm"] >= table["p_value"]).all()
    assert (table["count"] == 20).all()
    assert {path.name for path in write_figures(found, tmp_path, ["svg"])} == {"causal.svg"}


def test_the_replay_is_checked_once_for_all_relations(bert, surveyed, treebank, tmp_path, monkeypatch):
    checks = []
    check = HeadRemoval._check

    def counted(removal, *arguments):
        checks.append(1)
        return check(removal, *arguments)

    monkeypatch.setattr(HeadRemoval, "_check", counted)
    options = {"task": "causal", "atlas": surveyed, "treebank": treebank, "words": 20}
    options["coreference"] = treebank
    found = ablate(bert, out=tmp_path, **options, **QUICK)
    assert len(found.tables["causal"]) > 1
    assert len(checks) == 1


def test_shards_of_the_causal_test_give_its_table(bert, surveyed, treebank, tmp_path):
    options = {"task": "causal", "atlas": surveyed, "treebank": treebank, "words": 20, **QUICK}
    whole = ablate(bert, out=tmp_path / "whole", **options)
    parts = [tmp_path / "part1", tmp_path / "part2"]
    for number, part in enumerate(parts, 1):
        ablate(bert, out=part, shard=f"{number}/2", **options)
    merge(parts, out=tmp_path / "all")
    found = ablate(bert, out=tmp_path / "all", **options)
    pd.testing.assert_frame_equal(found.tables["causal"], whole.tables["causal"])
    assert found.manifest["corpora"] == whole.manifest["corpora"]


def test_an_atlas_of_other_weights_is_refused(save_tiny, surveyed, treebank, tmp_path):
    other = str(save_tiny("bert", seed=5))
    with pytest.raises(SettingError, match="with other weights"):
        ablate(other, task="causal", atlas=surveyed, treebank=treebank, out=tmp_path, **QUICK)


def test_families_that_cannot_be_gated_are_refused(tiny_folder, tmp_path):
    with pytest.raises(ModelError, match="does not use transformers' attention interface"):
        ablate(str(tiny_folder("mpnet")), task="masked-lm", text=sample_text(), examples=2, out=tmp_path, **QUICK)


@pytest.mark.parametrize(
    ("changes", "error", "problem"),
    [
        ({"task": "masked"}, SettingError, "Unknown task: masked. Choose from: masked-lm"),
        ({"task": []}, SettingError, "No task is chosen"),
        ({"task": ["masked-lm", "masked-lm"]}, SettingError, "named twice"),
        ({"task": "classification"}, SettingError, "cannot run without --data"),
        ({"task": "causal"}, SettingError, "cannot run without --atlas and --treebank or --coreference"),
        ({"pairs": "order.jsonl"}, SettingError, "--pairs is given, but none of the chosen tasks"),
        ({"heads": ["3-1"]}, SettingError, "There is no head 3-1"),
        ({"heads": ["first"]}, SettingError, "is not a valid head"),
        ({"kind": "none"}, SettingError, 'Invalid value "none" for --kind'),
        ({"train_share": 1.0}, SettingError, "--train-share must lie between 0 and 1"),
        ({"tolerance": 1.0}, SettingError, "--tolerance must lie between 0 and 1"),
        ({"also": {"": "a.txt"}}, SettingError, "Write NAME=FILE, for example mismatched=dev.tsv."),
        ({"task": "causal", "also": {"b": "a.txt"}}, SettingError, "--also needs exactly one task, and not causal"),
        ({"steps": 0}, SettingError, "--steps must be at least 1"),
        ({"words": 19}, SettingError, "--words must be at least 20, not 19."),
        ({"attention": "cross"}, SettingError, "has no cross attention"),
        ({"max_tokens": 500}, SettingError, "more than the 64 positions"),
        ({"task": "next-token"}, ModelError, "needs a causal language model"),
        ({"text": "nothing.txt"}, CorpusError, "no such file"),
    ],
)
def test_what_cannot_work_is_said(changes, error, problem, bert, data, tmp_path):
    given = {"task": "masked-lm", "text": sample_text(), "out": tmp_path / "out", "examples": 2} | QUICK | changes
    for option in ("pairs", "text"):
        if isinstance(given.get(option), str):
            given[option] = data / given[option]
    with pytest.raises(error) as caught:
        ablate(bert, **given)
    assert isinstance(caught.value, HeadatlasError)
    assert problem in str(caught.value)
