"""Folders of results, gone bad: manifests, tables, states, examples, records. An error with file and remedy, or use."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from threading import Event

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import headatlas as ha
from headatlas.commands.fit_mlm.training import FitState, restore_state, save_state
from headatlas.commands.layers.jobs import Record as LayerRecord
from headatlas.commands.probe.jobs import Record
from headatlas.commands.survey.reopen import reopen_studies
from headatlas.engine.checkpoint import Checkpoint
from headatlas.engine.run_folder import RunPart
from headatlas.errors import AtlasError
from headatlas.models.sources import (
    ADAPTER_CONFIG,
    ADAPTER_WEIGHTS,
    FIT_RECORD,
    PRUNING_RECORD,
    Pruning,
    find_source,
    read_pruning,
)
from headatlas.models.stacks import HeadShape
from headatlas.results.atlas import open_results
from headatlas.studies.positions import Positions
from mutations import damaged_json, damaged_safetensors, many, mutated, only_headatlas_errors, some
from random_maps import table_of

OPTIONS = {"segments": 6, "max_tokens": 24, "bootstrap": 5, "examples": 2, "least_count": 1}


@pytest.fixture(scope="module")
def survey(tiny_folder, tmp_path_factory):
    """A survey of a tiny model into a new folder; `shard` makes one to be merged."""

    def make(shard: str | None = None, out: Path | None = None) -> Path:
        out = out or tmp_path_factory.mktemp("good") / "atlas"
        corpora = {"text": ha.sample_text(), "treebank": ha.sample_treebank(), "coreference": ha.sample_treebank()}
        ha.survey(str(tiny_folder("bert")), **corpora, out=out, device="cpu", progress=False, shard=shard, **OPTIONS)
        return out

    return make


@pytest.fixture(scope="module")
def atlas(survey):
    return survey()


@pytest.fixture(scope="module")
def shard(survey):
    return survey("1/1")


def damaged_copy(folder: Path, draw: st.DrawFn, names: list[str]) -> Path:
    """The folder with one of its files damaged. The copy lies beside it and is made whole again each time."""
    copy = folder.parent / "damaged"
    shutil.copytree(folder, copy, dirs_exist_ok=True)
    path = folder / draw(st.sampled_from(names))
    content = path.read_bytes()
    ways = {".json": mutated([content]) | damaged_json(content), ".safetensors": damaged_safetensors(content)}
    (copy / path.relative_to(folder)).write_bytes(draw(ways.get(path.suffix, mutated([content]))))
    return copy


def use(folder: Path) -> None:
    """All that a page, a comparison or a person asks of an atlas."""
    opened = open_results(folder)
    opened._repr_html_()
    for name in opened.tables:
        assert len(opened.tables[name].columns)
    for example in opened.examples:
        assert example.maps.shape[2] == len(example.tokens) == len(example.special)
    assert isinstance(opened.relation_examples, list)
    for study in reopen_studies(opened):
        study.replicates()


def test_what_is_whole_can_be_used(atlas):
    use(atlas)


@many
@given(st.data())
def test_atlases(atlas, data):
    names = ["manifest.json", "manifest.json", "examples.safetensors", "relation_examples.safetensors"]
    names += [f"state/{corpus}.safetensors" for corpus in ("text", "treebank", "coreference")]
    names += ["tables/positions.parquet"]
    with only_headatlas_errors():
        use(damaged_copy(atlas, data.draw, names))


@some
@given(st.data())
def test_shards_to_be_merged(shard, data):
    damaged = damaged_copy(shard, data.draw, ["manifest.json", "state/treebank.safetensors", "examples.safetensors"])
    shutil.rmtree(shard.parent / "merged", ignore_errors=True)
    with only_headatlas_errors():
        ha.merge([damaged], out=shard.parent / "merged")


def test_a_flipped_bit_in_a_shard_is_found_and_the_remedy_helps(survey):
    folder = survey("1/1")
    state = folder / "state" / "text.safetensors"
    content = bytearray(state.read_bytes())
    content[-20] ^= 1
    state.write_bytes(content)
    with pytest.raises(AtlasError, match=rf"text\.safetensors: .*has changed.*Delete the folder {folder} and run"):
        ha.merge([folder], out=folder.parent / "merged")
    shutil.rmtree(folder)
    assert ha.merge([survey("1/1", folder)], out=folder.parent / "merged").complete


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    """A state file's content. Made once: no two that are written have their header in the same order."""
    checkpoint = Checkpoint(tmp_path_factory.mktemp("state") / "state.safetensors", {"seed": 0})
    checkpoint.save({"positions": started()}, [0, 1, 5])
    return checkpoint.path.read_bytes()


def started() -> Positions:
    study = Positions(replicates=2)
    study.start(HeadShape((2, 2)))
    return study


@many
@given(st.data())
def test_states_to_be_continued(tmp_path, state, data):
    path, study = tmp_path / "state.safetensors", started()
    path.write_bytes(data.draw(damaged_safetensors(state)))
    with only_headatlas_errors():
        done, _ = Checkpoint(path, {"seed": 0}).resume({"positions": study}, 6)
        assert done <= set(range(6))
        table_of(study)


@pytest.fixture(scope="module")
def piece(tmp_path_factory):
    """The content of an ablation's piece."""
    folder = tmp_path_factory.mktemp("piece")
    RunPart(folder, Event()).compute_once("one", lambda: {"values": np.zeros(3), "count": np.ones(2)})
    return (folder / "one.safetensors").read_bytes()


@many
@given(st.data())
def test_records_of_probes_and_pieces_of_ablations(tmp_path, piece, data):
    probed = Record([{"probe": "attention", "count": 3}], [], [])
    layered = LayerRecord([{"layer": 1, "weight": 0.25}], [], [], [], {"layers": {"center": [0.5]}})
    run = RunPart(tmp_path, Event())
    for path in tmp_path.rglob("*.json"):
        path.unlink()
    run.part("probes").record_once("job", Record, lambda: probed)
    run.part("layers").record_once("pos-random", LayerRecord, lambda: layered)
    for path in tmp_path.rglob("*.json"):
        content = path.read_bytes()
        path.write_bytes(data.draw(mutated([content]) | damaged_json(content)))
    with only_headatlas_errors():
        assert run.part("probes").record("job", Record) == probed
    with only_headatlas_errors():
        assert run.part("layers").record("pos-random", LayerRecord) == layered
    (tmp_path / "one.safetensors").write_bytes(data.draw(damaged_safetensors(piece)))
    with only_headatlas_errors():
        read = run.compute_once("one", dict)
        assert {read[name].dtype.kind for name in ("values", "count")}


@many
@given(st.data())
def test_records_of_prunings_and_fits(tmp_path, tiny_folder, data):
    Pruning(((1, 2), (2,)), {"name": "bert"}).write(tmp_path)
    content = (tmp_path / PRUNING_RECORD).read_bytes()
    (tmp_path / PRUNING_RECORD).write_bytes(data.draw(mutated([content]) | damaged_json(content)))
    with only_headatlas_errors():
        assert read_pruning(tmp_path).kept_heads is not None
    base = tiny_folder("bert")
    fit = {"model": {"weights_sha256": {}}, "adapter_sha256": "0", "settings": {"rank": 2}}
    records = {ADAPTER_CONFIG: {"base_model_name_or_path": str(base), "revision": None}, FIT_RECORD: fit}
    (tmp_path / ADAPTER_WEIGHTS).write_bytes(b"")
    damaged = data.draw(st.sampled_from(list(records)))
    for name, record in records.items():
        content = json.dumps(record).encode()
        bad = mutated([content]) | damaged_json(content)
        (tmp_path / name).write_bytes(data.draw(bad) if name == damaged else content)
    (tmp_path / PRUNING_RECORD).unlink()
    with only_headatlas_errors():
        find_source(str(tmp_path), None)


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """What a fit learns, its optimizer, and the content of its state after a step."""
    layer = torch.nn.Linear(2, 3)
    optimizer = torch.optim.AdamW(layer.parameters())
    layer(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    learning, path = dict(layer.named_parameters()), tmp_path_factory.mktemp("fit") / "state.safetensors"
    save_state(path, FitState(1, 2, 0.5, [{"loss": 1.0}]), {"seed": 0}, learning, optimizer)
    return learning, optimizer, path.read_bytes()


@many
@given(st.data())
def test_states_of_fits(tmp_path, fitted, data):
    learning, optimizer, content = fitted
    path = tmp_path / "state.safetensors"
    path.write_bytes(data.draw(damaged_safetensors(content)))
    with only_headatlas_errors():
        assert restore_state(path, {"seed": 0}, learning, optimizer).step >= 0
        optimizer.step()
