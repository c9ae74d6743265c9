"""headatlas.prune end to end on tiny models: the folder, what it says, that every command takes it, and bad input."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors import safe_open

from headatlas import extract, survey
from headatlas.commands.ablate.options import ablate
from headatlas.commands.prune.measuring import check_same, numbers_of, saved_tensor_bytes
from headatlas.commands.prune.options import prune
from headatlas.commands.prune.run import least_needed
from headatlas.corpora.sample import sample_text, sample_treebank
from headatlas.errors import AtlasError, HeadatlasError, ModelError, SettingError
from headatlas.models.loading import load_model
from headatlas.models.sources import read_pruning
from typed import typed

ON_CPU = {"device": "cpu", "progress": False}
QUICK = {"max_tokens": 64, "bootstrap": 20, "examples": 6, "curves": False, **ON_CPU}


@pytest.fixture(scope="module")
def bert(tiny_folder):
    return str(tiny_folder("bert"))


@pytest.fixture(scope="module")
def ablation(bert, tmp_path_factory):
    return ablate(bert, task="masked-lm", text=sample_text(), out=tmp_path_factory.mktemp("ablation"), **QUICK)


@pytest.fixture(scope="module")
def without_a_layer(bert, tmp_path_factory):
    """Two heads in the first layer, none in the second."""
    heads = ["1-2", "1-4", "2-1", "2-2", "2-3", "2-4"]
    return prune(bert, heads=heads, out=tmp_path_factory.mktemp("pruned") / "out", **ON_CPU)


def test_the_manifest_says_what_is_left(without_a_layer, bert):
    manifest = without_a_layer.manifest
    assert manifest["complete"]
    assert (
        manifest["kept_heads"]
        == [[1, 3], []]
        == [list(kept) for kept in read_pruning(without_a_layer.folder).kept_heads]
    )
    assert manifest["base"]["name"] == bert
    assert manifest["base"]["weights_sha256"]
    parameters, tensors = manifest["parameters"], manifest["tensor_bytes"]
    assert parameters["before"] - parameters["after"] == 6 * (4 * 32 * 8 + 3 * 8)
    assert parameters["predicted"] == parameters["after"]
    assert tensors["after"] == tensors["predicted"] == 4 * parameters["after"]
    with safe_open(without_a_layer.folder / "model.safetensors", "np") as file:
        assert tensors["after"] == sum(file.get_tensor(name).nbytes for name in file.keys())  # noqa: SIM118
    assert manifest["file_bytes"] == (without_a_layer.folder / "model.safetensors").stat().st_size
    for part in ("model", "attention_blocks"):
        assert manifest["speed"][part]["ratio"] > 0
        memory = manifest["weights_in_memory"][part]
        assert memory["before"] - memory["after"] == 4 * 6 * (4 * 32 * 8 + 3 * 8)
    assert manifest["peak_memory"] is None, "nothing tells the peak of a pass on the CPU"
    assert manifest["difference_from_gating"] < 1e-4


def test_the_same_command_again_finds_it_done(without_a_layer, bert):
    before = (without_a_layer.folder / "model.safetensors").stat().st_mtime_ns
    heads = without_a_layer.manifest["settings"]["heads"]
    prune(bert, heads=heads, out=without_a_layer.folder, **ON_CPU)
    assert (without_a_layer.folder / "model.safetensors").stat().st_mtime_ns == before
    with pytest.raises(AtlasError, match="holds other results"):
        prune(bert, heads=["1-1"], out=without_a_layer.folder, **ON_CPU)


def test_a_folder_with_other_files_is_left_alone(copy_of_tiny):
    folder = copy_of_tiny("bert")
    before = (folder / "model.safetensors").read_bytes()
    with pytest.raises(AtlasError, match="other files"):
        prune(str(folder), heads=["1-1"], out=folder, **ON_CPU)
    assert (folder / "model.safetensors").read_bytes() == before


def test_every_study_accepts_it(without_a_layer, tmp_path):
    trees = tmp_path / "two.conllu"
    trees.write_text(
        "# newdoc".join(sample_treebank().read_text(encoding="utf-8").split("# newdoc")[:3]), encoding="utf-8"
    )
    corpora = {"text": sample_text(), "treebank": trees, "coreference": trees}
    options = {"segments": 4, "max_tokens": 64, "bootstrap": 20, **ON_CPU}
    atlas = survey(str(without_a_layer.folder), **corpora, out=tmp_path / "atlas", **options)
    assert atlas.manifest["model"]["heads"] == [2, 0]
    for name in ("positions", "entropy", "gradients", "dependencies", "coreference"):
        table = atlas.tables[name]
        assert {tuple(row) for row in table[["layer", "head"]].to_numpy().tolist()} == {(1, 1), (1, 2)}, name


def test_ablate_and_extract_accept_it(without_a_layer, tmp_path):
    pruned = str(without_a_layer.folder)
    found = ablate(pruned, task="masked-lm", text=sample_text(), out=tmp_path / "ablation", **QUICK)
    assert found.tables["importance"]["head"].tolist() == [1, 2]
    store = extract(pruned, text=sample_text(), out=tmp_path / "maps", segments=2, max_tokens=64, **ON_CPU)
    assert [store.layer(0, layer).shape[0] for layer in (0, 1)] == [2, 0]


@pytest.mark.parametrize("by", ["importance", "ablation"])
def test_the_least_needed_heads_go(by, bert, ablation, tmp_path):
    pruned = prune(bert, by=by, share=0.5, ablation=ablation.folder, out=tmp_path / "out", **ON_CPU)
    table = ablation.tables[by]
    if by == "importance":
        order = table.sort_values("value")
    else:
        order = table[table["measure"] == "log_likelihood"].sort_values("change", ascending=False)
    expected = sorted(zip(order["layer"][:4], order["head"][:4], strict=True))
    assert pruned.manifest["removed"] == [f"{layer}-{head}" for layer, head in expected]


def test_importance_on_a_text_is_that_of_ablate(bert, ablation, tmp_path):
    options = {"by": "importance", "share": 0.25, **ON_CPU}
    own = prune(bert, text=sample_text(), examples=6, max_tokens=64, out=tmp_path / "own", **options)
    read = prune(bert, ablation=ablation.folder, out=tmp_path / "read", **options)
    assert own.manifest["removed"] == read.manifest["removed"]
    about, same = own.manifest["corpora"]["text"], ablation.manifest["corpora"]["masked-lm"]
    assert about["examples"] == 6
    assert about["left_out"] == same["left_out"] != {}
    assert about["files"] == same["files"]


def test_groups_go_together(tiny_folder, tmp_path):
    options = {"by": "importance", "share": 0.5, "text": sample_text(), "examples": 4, "max_tokens": 64, **ON_CPU}
    removed = prune(str(tiny_folder("llama")), out=tmp_path / "out", **options).manifest["removed"]
    assert len(removed) == 4
    assert all((f"{name[:2]}{int(name[2:]) + 1}" in removed) for name in removed if int(name[2:]) % 2)


def test_a_pruned_folder_is_pruned_again(without_a_layer, bert, tmp_path):
    again = prune(str(without_a_layer.folder), heads=["1-1"], out=tmp_path / "out", **ON_CPU)
    assert again.manifest["kept_heads"] == [[3], []]
    assert again.manifest["base"]["name"] == bert
    assert again.load(device="cpu").shapes["encoder"].heads == (1, 0)


def test_a_wrong_cut_is_found_before_it_is_saved(bert, batch_for):
    model = load_model(bert, device="cpu")
    with pytest.raises(ModelError, match="nothing is saved"):
        check_same(model, model.network, [(1, 1)], batch_for(model))


@given(
    values=st.lists(st.floats(0, 1), min_size=8, max_size=8),
    size=st.sampled_from([1, 2, 4]),
    share=st.floats(0.01, 0.99),
)
def test_what_goes_is_least_needed_whole_and_near_the_share(values, size, share):
    heads = [(1, head) for head in range(1, 9)]
    bound = [tuple(heads[start : start + size]) for start in range(0, 8, size)]
    of_head = dict(zip(heads, values, strict=True))
    if share * 8 < size / 2:
        with pytest.raises(SettingError, match="larger share"):
            least_needed(of_head, bound, share)
        return
    gone = set(least_needed(of_head, bound, share))
    assert abs(len(gone) - share * 8) <= size / 2 + 1e-9
    sums = {group: sum(of_head[head] for head in group) for group in bound}
    went = [sums[group] for group in bound if gone >= set(group)]
    stayed = [sums[group] for group in bound if not gone & set(group)]
    assert len(went) + len(stayed) == len(bound)
    assert not went or not stayed or max(went) <= min(stayed)


BY_IMPORTANCE = {"by": "importance", "share": 0.3}


@pytest.mark.parametrize(
    ("choice", "said"),
    [
        ({}, "either --heads"),
        ({"heads": ["1-1"], "by": "importance"}, "either --heads"),
        ({"heads": []}, "Name at least one head"),
        ({"heads": ["1-1"], "share": 0.3}, "--share goes with --by"),
        ({"heads": ["1-9"]}, "There is no head 1-9"),
        ({"heads": ["3-1"]}, "There is no head 3-1"),
        ({"heads": ["head one"]}, "is not a valid head"),
        ({"by": "luck", "share": 0.3}, '"luck" for --by'),
        ({"by": "importance"}, "--share must lie"),
        ({"by": "importance", "share": 1.0}, "--share must lie"),
        ({"by": "importance", "share": -0.1}, "--share must lie"),
        (BY_IMPORTANCE, "needs --ablation DIR.*or --text"),
        ({"by": "ablation", "share": 0.3, "text": sample_text()}, "needs --ablation DIR"),
        (BY_IMPORTANCE | {"text": sample_text(), "task": "masked-lm"}, "--task goes with --ablation"),
        (BY_IMPORTANCE | {"ablation": "no such folder"}, "there are no results here"),
        (BY_IMPORTANCE | {"text": "missing.txt"}, "no such file"),
    ],
)
def test_a_bad_choice_is_said(choice, said, bert, tmp_path):
    with pytest.raises(HeadatlasError, match=said):
        prune(bert, out=tmp_path / "out", **choice, **ON_CPU)
    assert not (tmp_path / "out").exists()


def test_tables_that_do_not_serve(bert, ablation, tiny_folder, tmp_path):
    def pruned(model=bert, **choice):
        return prune(model, out=tmp_path / "out", **BY_IMPORTANCE | choice, **ON_CPU)

    with pytest.raises(SettingError, match="does not hold the task next-token"):
        pruned(ablation=ablation.folder, task="next-token")
    with pytest.raises(AtlasError, match="other weights"):
        pruned(str(tiny_folder("distilbert")), ablation=ablation.folder)
    some = ablate(bert, task="masked-lm", text=sample_text(), heads=["1-1"], out=tmp_path / "some", **QUICK)
    with pytest.raises(AtlasError, match="knows 1 of the model's 8 heads"):
        pruned(ablation=some.folder, by="ablation")
    atlas = survey(bert, text=sample_text(), out=tmp_path / "atlas", segments=2, max_tokens=64, bootstrap=20, **ON_CPU)
    with pytest.raises(AtlasError, match="has no table 'importance'"):
        pruned(ablation=atlas.folder)


def test_models_that_cannot_be_pruned(tiny_folder, tmp_path):
    for family, said in (("modernbert", "cannot be cut out"), ("t5", "from a decoder to an encoder")):
        with pytest.raises(ModelError, match=said):
            prune(str(tiny_folder(family)), heads=["1-1"], out=tmp_path / "out", **ON_CPU)


def test_bytes_of_several_files(tmp_path):
    from safetensors.numpy import save_file

    save_file({"a": np.zeros((3, 4), np.float32)}, tmp_path / "1.safetensors", metadata={"format": "pt"})
    save_file({"b": np.zeros(5, np.float64), "c": np.zeros((2, 0), np.float32)}, tmp_path / "2.safetensors")
    assert saved_tensor_bytes(tmp_path) == 3 * 4 * 4 + 5 * 8
    assert numbers_of([], []) == 0


def test_the_command(bert, tmp_path):
    done = typed("prune", bert, "--heads", "1-2,2-3", "--out", tmp_path / "out", "--device", "cpu")
    assert done.exit_code == 0, done.output
    assert "2 of 8 heads cut out (1-2, 2-3)" in done.output
    assert "heads left in each layer: 3, 3" in done.output
    assert "(as predicted)" in done.output
    assert "peak memory" not in done.output, "it is known only on CUDA"
    assert "attention blocks: " in done.output
    record = json.loads((tmp_path / "out" / "headatlas_pruning.json").read_text())
    assert record["kept_heads"] == [[1, 3, 4], [1, 2, 4]]
