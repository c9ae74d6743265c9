"""The schema of manifests against what every command writes."""

from __future__ import annotations

import json

import pytest

from headatlas.manifest import FORMAT, BeforeAndAfter, HeadsChosen, Manifest, PrunedSizes, Side
from long_commands import NAMES, commands, make_inputs
from typed import typed

WITHOUT_MANIFEST = {"extract", "fit-mlm"}  # a store of maps has an index, a fit its record
ALWAYS = {"format", "command", "settings", "complete", "started", "finished", "seconds", "versions"}


def keys(schema) -> set[str]:
    return set(schema.__annotations__)


@pytest.fixture(scope="module")
def manifests(tiny_folder, tmp_path_factory):
    """The manifests that all commands write, by the name of their folders."""
    folder = tmp_path_factory.mktemp("manifests")
    model = str(tiny_folder("bert"))
    make_inputs(folder, model)
    arguments = commands(folder, model, model)
    arguments["tuned"] = [*arguments["keyphrases"], "--finetune", "--epochs", "1"]
    arguments["scored-shard"] = [*arguments["ablate"], "--shard", "1/1"]
    typed_as = {"tuned": "keyphrases", "scored-shard": "ablate"}
    for name in sorted({*NAMES, *typed_as} - WITHOUT_MANIFEST):
        ran = typed(typed_as.get(name, name), *arguments[name], "--out", str(folder / f"out-{name}"))
        assert ran.exit_code == 0, ran.output
    paths = sorted(folder.rglob("manifest.json"))
    return {str(path.parent.relative_to(folder)): json.loads(path.read_text(encoding="utf-8")) for path in paths}


def test_every_key_that_is_written_is_in_the_schema_and_the_other_way_round(manifests):
    written = {key for manifest in manifests.values() for key in manifest}
    assert written == keys(Manifest)


def test_every_finished_run_says_how_it_was_made(manifests):
    for name, manifest in manifests.items():
        assert manifest.keys() >= ALWAYS, name
        assert (manifest["format"], manifest["complete"]) == (FORMAT, True), name
    made_by = {name: manifest["command"] for name, manifest in manifests.items()}
    assert {made_by[f"out-{name}"] for name in ("survey", "merge", "reproduce")} == {"survey"}
    for name in ("probe", "layers", "ablate", "keyphrases", "compare", "prune"):
        assert made_by[f"out-{name}"] == name
    assert made_by["out-tuned/ablation"] == "ablate"


def test_what_lies_within_is_in_the_schema_too(manifests):
    comparison, pruned = manifests["out-compare"], manifests["out-prune"]
    assert comparison["a"].keys() == comparison["b"].keys() == keys(Side)
    assert manifests["out-keyphrases"]["heads_chosen"].keys() == keys(HeadsChosen)
    assert pruned.keys() >= keys(PrunedSizes)
    for size in (pruned["parameters"], pruned["tensor_bytes"], *pruned["weights_in_memory"].values()):
        assert {"before", "after"} <= size.keys() <= keys(BeforeAndAfter)


def test_a_shard_is_a_run_whose_settings_name_it(manifests):
    shards = {name for name, manifest in manifests.items() if manifest["settings"].get("shard")}
    assert shards == {"1", "2", "out-scored-shard"}
