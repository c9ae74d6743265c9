"""Models spread over several places: the same maps, studies that follow the weights, and refusals."""

from __future__ import annotations

import gc
import sys

import pytest
import torch

from headatlas.commands.survey.options import survey
from headatlas.encoding.batches import make_batch
from headatlas.engine import job
from headatlas.engine.job import Observer
from headatlas.errors import ModelError, SettingError
from headatlas.models.facts import home_of
from headatlas.models.gates import Gates
from headatlas.models.loading import load_model
from headatlas.models.stacks import HeadShape
from headatlas.studies.kept_rows import KeptRows
from headatlas.studies.study import LayerMap, join_layers

LLAMA_ON_DISK = {"model.embed_tokens": "cpu", "model.layers.0": "cpu", "model.layers.1": "disk", "model.norm": "cpu"}
ELSEWHERE = torch.device("meta")  # a second device that every machine has


def maps_of(model, segments):
    found = []
    batch = make_batch(segments, model.kinds, model.pad_id).to(model.device)
    model.observe(batch, lambda _layer, weights, _mask: found.append(weights.clone()))
    return found


@pytest.mark.parametrize(
    "device_map", ["auto", {"": "cpu"}, LLAMA_ON_DISK | {"model.rotary_emb": "cpu", "lm_head": "cpu"}]
)
def test_a_spread_model_has_the_maps_of_a_whole_one(tiny_folder, segments_for, device_map):
    whole = load_model(str(tiny_folder("llama")), device="cpu")
    spread = load_model(str(tiny_folder("llama")), device_map=device_map)
    segments = segments_for(whole.tokenizer)
    assert spread.device == torch.device("cpu")
    assert spread.shapes == whole.shapes
    for one, other in zip(maps_of(spread, segments), maps_of(whole, segments), strict=True):
        torch.testing.assert_close(one, other)


def test_the_folder_on_disk_goes_with_the_model(tiny_folder, monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    model = load_model(str(tiny_folder("llama")), device_map="auto")
    assert list(tmp_path.iterdir())
    del model
    gc.collect()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"device_map": "everywhere"}, "unknown. Use one of: auto"),
        ({"device_map": "auto", "device": "cpu"}, "exclude each other"),
        ({"device_map": "auto", "random_weights": "fresh"}, "Random weights are drawn on one device"),
    ],
)
def test_maps_that_cannot_be_meant(tiny_folder, options, problem):
    with pytest.raises(SettingError, match=problem):
        load_model(str(tiny_folder("bert")), **options)


def test_without_accelerate(tiny_folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "accelerate", None)
    with pytest.raises(ModelError, match=r"pip install .headatlas\[large\]"):
        load_model(str(tiny_folder("bert")), device_map="auto")


@pytest.mark.parametrize("most_whole", [job.MOST_WHOLE, 0])
def test_a_survey_of_a_spread_model(most_whole, tiny_folder, tmp_path, monkeypatch):
    """Gradients of whole maps; and in tiles, for which each layer fetches its weights once more."""
    monkeypatch.setattr(job, "MOST_WHOLE", most_whole)
    text = tmp_path / "text.txt"
    text.write_text("\n".join(f"the cat sat on the mat {number}." for number in range(40)), encoding="utf-8")
    common = {"text": text, "segments": 8, "max_tokens": 16, "bootstrap": 20, "progress": False}
    whole = survey(str(tiny_folder("llama")), out=tmp_path / "whole", device="cpu", **common)
    spread = survey(str(tiny_folder("llama")), out=tmp_path / "spread", device="spread", **common)
    for name, table in whole.tables.items():
        torch.testing.assert_close(
            torch.tensor(table.select_dtypes("number").to_numpy()),
            torch.tensor(spread.tables[name].select_dtypes("number").to_numpy()),
            equal_nan=True,
        )


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"control": "fresh", "treebank": "trees.conllu"}, "--control draws random weights on a single device"),
        ({"random_weights": "fresh"}, "--random-weights draws random weights on a single device"),
        ({"workers": 2}, "--device spread divides one model among all devices"),
    ],
)
def test_surveys_that_cannot_be_spread(options, problem, tmp_path):
    with pytest.raises(SettingError, match=problem):
        survey("anything", text="text.txt", out=tmp_path / "atlas", device="spread", **options)


class FakeNetwork:
    """A network whose weights are said to lie at these places."""

    device = torch.device("cpu")

    def __init__(self, *places):
        self.hf_device_map = {str(number): place for number, place in enumerate(places)}


@pytest.mark.parametrize(
    ("places", "home"),
    [((), "cpu"), (("cpu", "disk"), "cpu"), (("cuda:1", "cuda:0", "cpu"), "cuda:1"), (("disk", "cuda:0"), "cuda:0")],
)
def test_inputs_go_to_the_first_gpu(places, home):
    assert home_of(FakeNetwork(*places)) == torch.device(home)


class TwoPlaces:
    """Shows one layer here and the next elsewhere."""

    name, device = "two places", torch.device("cpu")
    default_stack, shapes = "encoder", {"encoder": HeadShape((2, 2, 2, 2))}

    def observe(self, batch, see, stack=None):
        size = batch.mask.shape[1]
        for layer, device in enumerate((self.device, ELSEWHERE, ELSEWHERE, self.device)):
            see(layer, torch.zeros(len(batch.segments), 2, size, size, device=device), None)


class Looking:
    """A study that notes where its maps and batch are."""

    watches = "attention"

    def __init__(self):
        self.seen = []

    def reductions(self):
        return None

    def see(self, layer, layer_map: LayerMap):
        self.seen.append((layer, layer_map.weights.device, layer_map.batch.kinds.device, layer_map.batch))

    def end_batch(self, batch):
        assert batch.mask.device == TwoPlaces.device


def test_studies_see_the_batch_where_the_weights_are(load_tiny, batch_for):
    batch, study = batch_for(load_tiny("bert")), Looking()
    Observer(TwoPlaces(), {"looking": study}).observe(batch)
    assert all(weights == tokens for _, weights, tokens, _ in study.seen)
    assert study.seen[1][3] is study.seen[2][3], "moved once"
    assert study.seen[0][3] is batch


def test_rows_are_kept_across_devices(load_tiny, batch_for):
    batch = batch_for(load_tiny("bert"))
    size = batch.mask.shape[1]
    kept, moved = KeptRows(4), batch.to(torch.device("cpu"))
    maps = torch.rand(len(batch.segments), 4, size, size)
    kept.keep(maps[:, :2], batch, 0)
    kept.keep(maps[:, 2:], moved, 2)
    for rows, own, segment in zip(kept.take(), maps, batch.segments, strict=True):
        torch.testing.assert_close(rows, own[:, : len(segment), : len(segment)].transpose(0, 1))


def test_gates_and_layers_follow_the_weights():
    gates = Gates(torch.zeros(1, 2), None, HeadShape((2,)))
    assert gates(0, torch.ones(1, 3, 2, 4, device=ELSEWHERE)).device == ELSEWHERE
    joined = join_layers({1: torch.ones(2, 1), 0: torch.zeros(2, 1, device=ELSEWHERE)})
    assert joined.device == ELSEWHERE
    assert joined.shape == (2, 2)
