"""`layers` end to end on a tiny network: tables, resuming, more tasks, controls, and what is refused."""

import json

import numpy as np
import pytest

import headatlas
from headatlas.commands.layers.options import layers
from headatlas.errors import AtlasError, CorpusError, SettingError
from headatlas.results.atlas import open_results
from headatlas.results.tables import TABLES
from tests.commands.keyphrases.made_up import TEXTS, corpus
from tests.commands.layers.span_corpora import write_entities, write_json, write_treebank

QUICK = {"seeds": 3, "updates": 80, "width": 8, "batch_targets": 16, "bootstrap": 60, "max_tokens": 14}
QUICK |= {"progress": False}
FIXED = QUICK | {"updates": 120, "batch_targets": 32}


@pytest.fixture(scope="module")
def corpora(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpora")
    return {
        (kind, part): write(folder / f"{part}.{kind}", count, seed)
        for kind, write in (("conllu", write_treebank), ("bio", write_entities), ("jsonl", write_json))
        for seed, (part, count) in enumerate((("train", 100), ("eval", 30)))
    }


@pytest.fixture(scope="module")
def folder(tiny_folder):
    return str(tiny_folder("bert"))


@pytest.fixture(scope="module")
def found(corpora, folder, tmp_path_factory):
    """All tasks of a treebank with coreference, with controls; then entities added to the same folder."""
    out = tmp_path_factory.mktemp("out") / "layers"
    more = {"control": "fresh", **FIXED}
    layers(folder, train=corpora["conllu", "train"], eval=corpora["conllu", "eval"], out=out, **more)
    return layers(folder, task="entities", train=corpora["bio", "train"], eval=corpora["bio", "eval"], out=out, **more)


def test_tables_hold_what_they_promise(found):
    tables = found.tables
    assert set(tables) == {"layer_mix", "layer_summary", "layer_order", "layer_examples", "head_mix"}
    for name in tables:
        assert list(tables[name]) == TABLES[name].names
    summary = tables["layer_summary"]
    tasks = {"pos", "dependencies", "arcs", "coreference", "entities"}
    assert set(summary["task"]) == tasks
    assert len(summary) == 2 * (5 + 2)  # pretrained and random; heads for arcs and coreference too
    assert summary["score"].between(0, 1).all()
    assert (summary["low"] <= summary["score"] + 1e-9).all()
    assert found.complete


def test_words_that_say_it_all_are_learned(found):
    summary = found.tables["layer_summary"].query("mix == 'layers' and weights == 'pretrained'").set_index("task")
    assert summary.loc["pos", "score"] > 0.9
    assert summary.loc["pos", "lead_low"] > 0
    assert summary.loc["pos", "shuffled_score"] < summary.loc["pos", "low"]


def test_controls_of_an_easy_task(folder, corpora, tmp_path):
    files = {part: corpora["bio", part] for part in ("train", "eval")}
    found = layers(folder, out=tmp_path / "out", control_task=True, mdl=True, **files, **QUICK)
    (row,) = found.tables["layer_summary"].to_dict("records")
    assert row["selectivity"] == pytest.approx(row["accuracy"] - row["control_accuracy"])
    assert 0 < row["mdl_bits"] < row["uniform_bits"] == pytest.approx(row["train_targets"])


def test_rows_of_layers_and_their_summary_agree(found):
    mix, summary = found.tables["layer_mix"], found.tables["layer_summary"]
    for row in summary.to_dict("records"):
        rows = mix[(mix[["task", "mix", "weights"]] == [row["task"], row["mix"], row["weights"]]).all(axis=1)]
        assert rows["layer"].tolist() == [0, 1, 2]
        assert rows["weight"].sum() == pytest.approx(1)
        assert rows["cumulative"].iloc[-1] == pytest.approx(row["score"])
        assert rows["differential"].tolist()[1:] == pytest.approx(np.diff(rows["cumulative"]).tolist())
        assert (rows["layer"] * rows["weight"]).sum() == pytest.approx(row["centre_of_gravity"])
        gain = rows["cumulative"].iloc[-1] - rows["cumulative"].iloc[0]
        if gain > 0:
            moments = (rows["layer"] * rows["differential"]).sum()
            assert row["expected_layer"] == pytest.approx(moments / gain)
        else:
            assert np.isnan(row["expected_layer"])


def test_heads_add_up_to_their_layers(found):
    heads = found.tables["head_mix"]
    mix = found.tables["layer_mix"].query("mix == 'heads'").set_index(["task", "weights", "layer"])["weight"]
    sums = heads.groupby(["task", "weights", "layer"])["weight"].sum()
    for key, value in sums.items():
        assert mix[key] == pytest.approx(value)


def test_every_two_tasks_are_ordered_once(found):
    order = found.tables["layer_order"].query("mix == 'layers' and measure == 'centre_of_gravity'")
    assert len(order) == 5 * 4 // 2
    summary = found.tables["layer_summary"].query("mix == 'layers' and weights == 'pretrained'").set_index("task")
    given = order[order["withheld"] == ""]
    assert len(given) > 0
    for row in given.to_dict("records"):
        lower, upper = (summary.loc[row[end], "centre_of_gravity"] for end in ("below", "above"))
        assert row["difference"] == pytest.approx(upper - lower)
        assert lower <= upper
        assert 0 <= row["p_value"] <= row["p_holm"] <= 1


def test_tasks_are_trained_on_equally_many_targets(found):
    summary = found.tables["layer_summary"]
    sizes = summary.groupby("task")["train_targets"].unique()
    assert {int(size) for size in sizes[["pos", "dependencies", "arcs", "coreference"]].explode()} == {
        found.manifest["tasks"]["pos"]["train_targets"]
    }
    order = found.tables["layer_order"]
    entities = order[(order["below"] == "entities") | (order["above"] == "entities")]
    if sizes["entities"][0] != sizes["pos"][0]:
        assert (entities["withheld"] != "").all()
        assert entities[["difference", "low", "p_value"]].isna().all(axis=None)


def test_a_finished_folder_is_opened_and_a_lost_task_made_again(found, corpora, folder):
    arguments = {"train": corpora["bio", "train"], "eval": corpora["bio", "eval"], "out": found.folder, **FIXED}
    arguments |= {"task": "entities", "control": "fresh"}
    before = (found.folder / "manifest.json").read_text()
    layers(folder, **arguments)
    assert (found.folder / "manifest.json").read_text() == before
    manifest = json.loads(before)
    (found.folder / "manifest.json").write_text(json.dumps(manifest | {"complete": False}))
    (found.folder / "state" / "entities-pretrained.json").unlink()
    tables = {name: found.tables[name] for name in found.tables}
    again = layers(folder, **arguments)
    for name, table in tables.items():
        np.testing.assert_array_equal(again.tables[name].to_numpy(dtype=str), table.to_numpy(dtype=str))


def test_another_folder_is_refused(found, corpora, folder, tmp_path):
    files = {"train": corpora["bio", "train"], "eval": corpora["bio", "eval"]}
    with pytest.raises(AtlasError, match=r"holds other results .*seeds"):
        layers(folder, task="entities", out=found.folder, **files, **FIXED | {"seeds": 1})
    same = {"control": "fresh", **FIXED}
    other = write_entities(tmp_path / "other.bio", 30, 9)
    with pytest.raises(AtlasError, match="holds the task entities with other files"):
        layers(folder, task="entities", train=other, eval=corpora["bio", "eval"], out=found.folder, **same)
    (tmp_path / "file").write_text("")
    with pytest.raises(AtlasError, match="is a file"):
        layers(folder, out=tmp_path / "file", **files, **QUICK)


def test_a_task_that_another_run_left_unfinished_is_done_when_asked_for(corpora, folder, tmp_path):
    files = {part: corpora["conllu", part] for part in ("train", "eval")}
    arguments = {"out": tmp_path / "out", **files, **FIXED, "train_limit": 30, "eval_limit": 9, "heads": False}
    layers(folder, task=["pos", "arcs"], **arguments)
    (tmp_path / "out" / "state" / "arcs-pretrained.json").unlink()
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    (tmp_path / "out" / "manifest.json").write_text(json.dumps(manifest | {"complete": False}))
    assert set(layers(folder, task="pos", **arguments).tables["layer_summary"]["task"]) == {"pos"}
    assert set(layers(folder, task="arcs", **arguments).tables["layer_summary"]["task"]) == {"pos", "arcs"}


def test_tasks_of_one_folder_may_have_limits_of_their_own(corpora, folder, tmp_path):
    """A large corpus beside a small one; a task that is there keeps its limit."""
    files = {part: corpora["conllu", part] for part in ("train", "eval")}
    arguments = {"out": tmp_path / "out", **files, **FIXED, "heads": False}
    layers(folder, task="pos", train_limit=30, eval_limit=9, **arguments)
    both = layers(folder, task="arcs", train_limit=20, eval_limit=8, **arguments)
    assert set(both.tables["layer_summary"]["task"]) == {"pos", "arcs"}
    limits = {name: (task["train_limit"], task["eval_limit"]) for name, task in both.manifest["tasks"].items()}
    assert limits == {"pos": (30, 9), "arcs": (20, 8)}
    with pytest.raises(AtlasError, match="holds the task pos with another --train-limit"):
        layers(folder, task="pos", train_limit=20, eval_limit=9, **arguments)


@pytest.mark.parametrize("family", ["gpt2", "t5", "distilbert"])
def test_other_families(tiny_folder, tmp_path, family):
    files = {part: write_entities(tmp_path / f"{part}.bio", 40, seed) for seed, part in enumerate(("train", "eval"))}
    found = layers(str(tiny_folder(family)), out=tmp_path / "out", **files, **FIXED)
    assert found.tables["layer_mix"]["layer"].tolist() == [0, 1, 2]


@pytest.mark.parametrize("several", [False, True])
def test_json_lines_with_one_label_or_several(folder, tmp_path, several):
    files = {
        part: write_json(tmp_path / f"{part}.jsonl", 90, seed, several) for seed, part in enumerate(("train", "eval"))
    }
    found = headatlas.layers(
        folder,
        task="wetness",
        out=tmp_path / "out",
        **files,
        **QUICK | {"batch_targets": 3, "updates": 320},
        train_limit=80,
        eval_limit=30,
    )
    (row,) = found.tables["layer_summary"].to_dict("records")
    assert row["task"] == "wetness"
    assert (row["train_targets"], row["count"]) == (80, 30)
    assert row["score"] > 0.8
    about = open_results(tmp_path / "out").manifest["corpora"]["wetness, train"]
    assert about["left_out"] == {"text_beyond_the_limit": 10}


def test_unseen_labels_are_scored_as_wrong_and_counted(folder, tmp_path):
    train = write_entities(tmp_path / "a.bio", 40, 0)
    scored = write_entities(tmp_path / "b.bio", 20, 1, types=("animal", "town"))
    found = layers(folder, train=train, eval=scored, out=tmp_path / "out", **QUICK)
    (row,) = found.tables["layer_summary"].to_dict("records")
    assert row["unseen"] == scored.read_text().count("town") > 0
    assert row["accuracy"] <= 1 - row["unseen"] / row["count"]


def refused(folder, tmp_path, train, scored, error, match, **more):
    with pytest.raises(error, match=match):
        layers(folder, train=train, eval=scored, out=tmp_path / "out", **QUICK | more)


def test_tasks_that_cannot_be_trained(folder, tmp_path, corpora):
    good = corpora["bio", "train"]
    few = write_entities(tmp_path / "few.bio", 5, 0)
    refused(folder, tmp_path, few, good, SettingError, "5 texts with targets are too few")
    one = write_entities(tmp_path / "one.bio", 40, 0, types=("thing", "thing"))
    refused(folder, tmp_path, one, good, SettingError, r"one label in training \(thing\)")
    other = write_entities(tmp_path / "other.bio", 40, 0, types=("x", "y"))
    refused(folder, tmp_path, good, other, SettingError, "these are two tasks")
    empty = tmp_path / "empty.bio"
    empty.write_text("the\tO\n\ndog\tO\n")
    refused(folder, tmp_path, empty, good, SettingError, "has no target .*text_without_target 2", task="entities")
    (tmp_path / "nothing.bio").write_text("")
    refused(folder, tmp_path, tmp_path / "nothing.bio", good, CorpusError, "has no text", task="entities")
    refused(folder, tmp_path, good, good, SettingError, "is also a training file")
    refused(folder, tmp_path, good, corpora["bio", "eval"], SettingError, "--width must be at least 1", width=0)
    refused(folder, tmp_path, good, corpora["bio", "eval"], SettingError, "--train-limit must be", train_limit=0)
    refused(folder, tmp_path, good, corpora["bio", "eval"], SettingError, "--updates must be at least 1", updates=0)


def test_spans_that_differ_in_number_are_named(folder, tmp_path):
    train, scored = (write_json(tmp_path / f"{part}.jsonl", 40, 0) for part in ("train", "eval"))
    line = {"text": "the dog", "targets": [{"span1": [0, 1], "span2": [1, 2], "label": "short"}]}
    scored.write_text(scored.read_text() + json.dumps(line) + "\n")
    refused(folder, tmp_path, train, scored, CorpusError, "eval.jsonl, line 41: has a target of 2 spans", task="x")


def test_words_of_keyphrases_are_a_task(folder, tmp_path):
    train, scored = (corpus(tmp_path / f"{part}.jsonl", copies) for part, copies in (("train", 8), ("eval", 2)))
    found = layers(
        folder,
        task="keyphrases",
        train=train,
        eval=scored,
        out=tmp_path / "out",
        **QUICK | {"seeds": 1, "max_tokens": 40, "updates": 300},
    )
    words = sum(word not in ",." for text, _ in TEXTS for word in text.split())
    assert found.manifest["corpora"]["keyphrases, eval"]["targets"] == {"keyphrases": 2 * words}
    assert found.tables["layer_summary"]["score"].gt(0.3).all()
