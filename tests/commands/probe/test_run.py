"""`probe` from treebanks to tables: with a tiny model, from stores, stopped and continued, refused where it must be."""

from __future__ import annotations

import json
import shutil

import pytest

import headatlas as ha
from headatlas.commands.probe import run as module
from headatlas.commands.probe.options import PROBES
from headatlas.errors import AtlasError, SettingError
from headatlas.probes import vectors as vectors_module
from tests.treebank_parts import write_parts
from typed import typed

QUICK = {"seeds": 1, "epochs": 1, "bootstrap": 20, "max_tokens": 60, "device": "cpu", "progress": False}


@pytest.fixture(scope="module")
def treebanks(tmp_path_factory):
    """Two parts of the embedded sample, and word vectors for some of its words."""
    return write_parts(tmp_path_factory.mktemp("treebanks"), 80, 24)


@pytest.fixture(scope="module")
def found(treebanks, tiny_folder, tmp_path_factory):
    """Every probe, baseline and control with a tiny model."""
    out = tmp_path_factory.mktemp("probes") / "out"
    options = QUICK | {"seeds": 2, "control": "fresh", "control_task": True, "mdl": True, "rank": 4}
    atlas = ha.probe(
        str(tiny_folder("bert")),
        treebank=treebanks / "train.conllu",
        eval=treebanks / "dev.conllu",
        vectors=treebanks / "vectors.txt",
        out=out,
        **options,
    )
    return atlas, options


def test_every_probe_has_its_rows(found):
    atlas, _ = found
    table = atlas.tables["probes"]
    names = {*PROBES, "structural_distance", "structural_depth"} - {"structural"}
    assert set(table["probe"]) == names
    sizes = table.groupby("probe").size()
    assert sizes["right_branching"] == 1
    assert sizes["distances_words"] == 2
    assert sizes["attention_words"] == 4
    assert sizes["structural_distance"] == 2 * 2 * 3, "two networks, two seeds, three layers"
    (adjacent,) = table[table["probe"] == "adjacent_words"].to_dict("records")
    assert adjacent["low"] <= adjacent["uuas"] <= adjacent["high"]
    assert adjacent["count"] == table.loc[table["probe"] == "structural_distance", "count"].iloc[0]
    parsers = table[~table["probe"].str.startswith("structural") & (table["probe"] != "adjacent_words")]
    assert parsers["uas"].between(0, 1).all()
    assert (parsers["low"] <= parsers["high"]).all()
    trained = parsers[parsers["seed"].notna()]
    assert (trained["selectivity"] == trained["uas"] - trained["control_uas"]).all()
    assert (trained["selectivity_low"] < trained["selectivity"]).all()
    assert trained["at_limit"].all()  # one pass
    assert parsers[parsers["seed"].isna()]["at_limit"].isna().all()
    assert trained[trained["seed"] == 0]["mdl_bits"].notna().all()
    assert trained[trained["seed"] == 1]["mdl_bits"].isna().all()
    assert table[table["probe"] == "right_branching"]["weights"].isna().all()
    weights = atlas.tables["probe_weights"]
    assert len(weights) == 2 * 2 * 2 * 8 * 2  # probes, networks, seeds, heads, directions
    relations = atlas.tables["probe_relations"]
    one = relations[(relations["probe"] == "attention") & (relations["weights"] == "random") & (relations["seed"] == 1)]
    words = atlas.manifest["corpora"]["eval"]["words"]
    assert one["count"].sum() == words


def test_the_manifest_says_what_was_done(found):
    manifest = found[0].manifest
    assert manifest["complete"]
    assert manifest["vectors"]["found"] == 4
    assert manifest["corpora"]["eval"]["without_vector"]["words"] > 0
    assert manifest["corpora"]["eval"]["label_set"] == "universal"
    assert manifest["corpora"]["treebank"]["sentences"] <= 80


def test_a_finished_run_is_opened_and_another_refused(found, treebanks, tiny_folder, monkeypatch):
    atlas, options = found
    monkeypatch.setattr(module, "run_job", lambda *_: pytest.fail("nothing is left to do"))
    inputs = {"treebank": treebanks / "train.conllu", "eval": treebanks / "dev.conllu", "out": atlas.folder}
    inputs["vectors"] = treebanks / "vectors.txt"
    again = ha.probe(str(tiny_folder("bert")), **inputs, **options)
    assert again.tables["probes"].equals(atlas.tables["probes"])
    with pytest.raises(AtlasError, match="holds other results"):
        ha.probe(str(tiny_folder("bert")), **inputs, **options | {"rank": 5})


def test_a_stopped_run_goes_on_with_the_next_probe(found, tmp_path, monkeypatch):
    maps = {f"maps_{part}": found[0].folder / "maps" / part for part in ("train", "eval")}
    chosen = ["right_branching", "distances", "attention"]
    whole = ha.probe(**maps, probes=chosen, out=tmp_path / "whole", **QUICK)
    begun = []
    usual = module.run_job

    def stopping(job, *rest):
        begun.append(job.name)
        if len(begun) == 2:
            raise KeyboardInterrupt
        return usual(job, *rest)

    monkeypatch.setattr(module, "run_job", stopping)
    with pytest.raises(KeyboardInterrupt):
        ha.probe(**maps, probes=chosen, out=tmp_path / "parts", **QUICK)
    with pytest.raises(AtlasError, match="has not finished"):
        ha.open_results(tmp_path / "parts")
    parts = ha.probe(**maps, probes=chosen, out=tmp_path / "parts", **QUICK)
    assert begun == ["right_branching", "distances-0", "distances-0", "attention-pretrained-0"]
    assert parts.tables["probes"].equals(whole.tables["probes"])
    (tmp_path / "parts" / "manifest.json").unlink()
    (tmp_path / "parts" / "state" / "distances-0.json").write_text("{", encoding="utf-8")
    with pytest.raises(AtlasError, match=r"distances-0\.json: cannot be read"):
        ha.probe(**maps, probes=chosen, out=tmp_path / "parts", **QUICK)


def test_the_same_file_twice_is_refused_unless_forced(found, treebanks, tiny_folder, tmp_path):
    copy = shutil.copy(treebanks / "dev.conllu", tmp_path / "copy.conllu")
    inputs = {
        "treebank": treebanks / "dev.conllu",
        "eval": copy,
        "out": tmp_path / "out",
        "probes": ["right_branching"],
    }
    with pytest.raises(SettingError, match=r"copy\.conllu is also a training file"):
        ha.probe(str(tiny_folder("bert")), **inputs, **QUICK)
    folder = found[0].folder / "maps" / "train"
    with pytest.raises(SettingError, match="Every sentence to score on"):
        ha.probe(maps_train=folder, maps_eval=folder, probes=["distances"], out=tmp_path / "same", **QUICK)
    forced = ha.probe(
        maps_train=folder, maps_eval=folder, probes=["right_branching"], out=tmp_path / "forced", force=True, **QUICK
    )
    about = forced.manifest["corpora"]["eval"]
    assert about["also_in_train"] == about["sentences"]


def test_maps_that_do_not_belong_are_refused(found, treebanks, tmp_path):
    maps = {f"maps_{part}": found[0].folder / "maps" / part for part in ("train", "eval")}
    with pytest.raises(SettingError, match=r"made from train\.conllu, not from what --treebank gives"):
        ha.probe(**maps, treebank=treebanks / "dev.conllu", out=tmp_path / "out", **QUICK)
    mixed = maps | {"maps_eval": found[0].folder / "maps" / "eval-random"}
    with pytest.raises(SettingError, match="come from different models"):
        ha.probe(**mixed, out=tmp_path / "out", **QUICK)


def test_maps_of_random_weights_are_known_as_such(found, treebanks, tmp_path):
    random = {f"maps_{part}": found[0].folder / "maps" / f"{part}-random" for part in ("train", "eval")}
    atlas = ha.probe(**random, probes=["attention"], out=tmp_path / "out", **QUICK)
    assert atlas.tables["probes"]["weights"].tolist() == ["random"]
    both = {"treebank": treebanks / "train.conllu", "eval": treebanks / "dev.conllu", "control": "fresh"}
    with pytest.raises(SettingError, match="random weights already"):
        ha.probe("x", **random, **both, probes=["attention"], out=tmp_path / "other", **QUICK)


def test_other_relations_to_score_on_are_refused(found, tmp_path):
    folder = tmp_path / "eval"
    shutil.copytree(found[0].folder / "maps" / "eval", folder)
    index = json.loads((folder / "index.json").read_text(encoding="utf-8"))
    for example in index["examples"]:
        example["relations"] = ["nn" if name != "root" else name for name in example["relations"]]
    (folder / "index.json").write_text(json.dumps(index), encoding="utf-8")
    with pytest.raises(SettingError, match="universal to train on, stanford to score on"):
        ha.probe(maps_train=found[0].folder / "maps" / "train", maps_eval=folder, out=tmp_path / "out", **QUICK)


def test_too_few_sentences_are_refused(found, tmp_path):
    maps = {"maps_train": found[0].folder / "maps" / "eval", "maps_eval": found[0].folder / "maps" / "train"}
    with pytest.raises(SettingError, match=r"Too few sentences to train a probe on \(\d+\). Give at least 20"):
        ha.probe(**maps, out=tmp_path / "out", **QUICK)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({}, "No model given"),
        ({"model": "x"}, "No treebank given to train on"),
        ({"maps_train": "a"}, "both --maps-train and --maps-eval"),
        ({"maps_train": "a", "maps_eval": "b", "model": "x"}, "go together only with --control"),
        ({"probes": ["syntax"]}, "Unknown probe: syntax. Choose from: right_branching"),
        ({"model": "x", "sentences": 5}, "--sentences must be at least 20"),
        ({"model": "x", "seeds": 0}, "--seeds must be at least 1"),
        (
            {"model": "x", "control": "fresh", "probes": ["distances"]},
            "--control trains attention and structural probes",
        ),
        ({"model": "x", "pair": ["the"]}, "--pair has an odd number of words"),
        ({"model": "x", "pair": ["the", "cat"], "probes": ["attention"]}, "--pair asks the probe attention_words"),
        ({"model": "x", "format": {"treebank": "penn"}}, "--format treebank=penn is not available"),
    ],
)
def test_what_cannot_work_is_refused_at_once(options, why, tmp_path):
    with pytest.raises(SettingError, match=why):
        ha.probe(options.get("model"), out=tmp_path, **{k: v for k, v in options.items() if k != "model"})


def test_without_vectors_words_are_left_out_aloud(found, tmp_path, monkeypatch):
    monkeypatch.setattr(vectors_module, "_PACKAGE", "no-such-package-of-vectors")
    maps = {f"maps_{part}": found[0].folder / "maps" / part for part in ("train", "eval")}
    with pytest.raises(SettingError, match="'attention_words' cannot run: it needs word vectors"):
        ha.probe(**maps, probes=["attention_words"], out=tmp_path / "out", **QUICK)
    arguments = ["--maps-train", maps["maps_train"], "--maps-eval", maps["maps_eval"], "--out", tmp_path / "out"]
    done = typed("probe", *arguments, *["--seeds", "1", "--epochs", "1", "--rank", "2", "--bootstrap", "20"])
    assert done.exit_code == 0, done.output
    assert "Not run: attention_words: it needs word vectors" in done.output
    assert "right-branching" in done.output
    drawn = {path.name for path in (tmp_path / "out" / "figures").glob("*.svg")}
    assert drawn == {"table3_probes.svg", "probe_weights.svg", "probe_layers.svg"}


def sentences_of(folder, name):
    index = json.loads((folder / "maps" / name / "index.json").read_text(encoding="utf-8"))
    return [example["words"] for example in index["examples"]]


def test_a_drawn_part_is_the_same_for_the_control(treebanks, tiny_folder, tmp_path):
    inputs = {"treebank": treebanks / "train.conllu", "eval": treebanks / "dev.conllu"}
    probed = {"probes": ["attention", "structural"], "control": "fresh"}
    atlas = ha.probe(str(tiny_folder("bert")), **inputs, **probed, sentences=60, out=tmp_path, **QUICK)
    drawn = sentences_of(atlas.folder, "train")
    assert len(drawn) <= 60 < len(treebanks.joinpath("train.conllu").read_text().split("\n\n"))
    assert sentences_of(atlas.folder, "train-random") == drawn
    assert sentences_of(atlas.folder, "eval-random") == sentences_of(atlas.folder, "eval")
    assert atlas.manifest["corpora"]["treebank"]["left_out"]["sentence_not_drawn"] == 20
    rows = {name: part.set_index(["probe", "layer"]) for name, part in atlas.tables["probes"].groupby("weights")}
    assert rows["pretrained"]["count"].equals(rows["random"]["count"])
    distances = [rows[name].loc["structural_distance", "spearman"] for name in ("pretrained", "random")]
    assert not distances[0].equals(distances[1])


def test_the_control_reads_the_sentences_of_stores_however_they_were_drawn(treebanks, tiny_folder, tmp_path):
    model, files = str(tiny_folder("bert")), {part: treebanks / f"{part}.conllu" for part in ("train", "dev")}
    how = {"max_tokens": 50, "device": "cpu", "progress": False}
    maps = {
        "maps_train": ha.extract(
            model, treebank=files["train"], out=tmp_path / "a", sentences=70, seed=3, **how
        ).folder,
        "maps_eval": ha.extract(model, treebank=files["dev"], out=tmp_path / "b", **how).folder,
    }
    inputs = {"treebank": files["train"], "eval": files["dev"], "probes": ["attention"], "control": "fresh"}
    atlas = ha.probe(model, **maps, **inputs, out=tmp_path / "out", **QUICK)
    stored = [list(example.words) for example in ha.open_store(tmp_path / "a").examples]
    assert sentences_of(atlas.folder, "train-random") == stored
    with pytest.raises(SettingError, match="no hidden states"):
        ha.probe(**maps, probes=["structural"], out=tmp_path / "other", **QUICK)


def test_a_control_of_another_tokenizer_is_refused(treebanks, tiny_folder, found, tmp_path):
    maps = {f"maps_{part}": found[0].folder / "maps" / part for part in ("train", "eval")}
    inputs = {"treebank": treebanks / "train.conllu", "eval": treebanks / "dev.conllu", "probes": ["attention"]}
    with pytest.raises(SettingError, match="the control reads other sentences"):
        ha.probe(str(tiny_folder("roberta")), **maps, **inputs, control="fresh", out=tmp_path, **QUICK)
