"""Random weights keep the embeddings and follow from the seed; shuffled ones keep every matrix's entries; threads."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from headatlas.choices import RandomWeights
from headatlas.models.loading import randomise
from headatlas.models.model import Model
from tests.models.altering import load

EMBEDDINGS = {
    "bert": {"bert.embeddings.word_embeddings.weight", "bert.embeddings.position_embeddings.weight"},
    "roberta": {"roberta.embeddings.word_embeddings.weight", "roberta.embeddings.position_embeddings.weight"},
    "distilbert": {
        "distilbert.embeddings.word_embeddings.weight",
        "distilbert.embeddings.position_embeddings.weight",
    },
    "gpt2": {"transformer.wte.weight", "transformer.wpe.weight"},
    "opt": {"model.decoder.embed_tokens.weight", "model.decoder.embed_positions.weight"},
    "llama": {"model.embed_tokens.weight"},
    "t5": {"shared.weight"},
    "bart": {"shared.weight", "encoder.embed_positions.weight", "decoder.embed_positions.weight"},
}


@pytest.mark.parametrize("family", EMBEDDINGS)
def test_random_weights_keep_embeddings_alone(
    family: str, tiny_folder: Callable[[str], Path], load_tiny: Callable[[str], Model]
) -> None:
    state = torch.get_rng_state()
    control = load(tiny_folder(family), random_weights="fresh", seed=1)
    assert torch.equal(torch.get_rng_state(), state), "the caller's random numbers must not move"
    assert control.source["random_weights"] == {"kind": "fresh", "seed": 1}
    assert not control.network.training
    pretrained = dict(load_tiny(family).network.named_parameters())
    drawn = dict(control.network.named_parameters())
    assert drawn.keys() == pretrained.keys()
    assert {name for name in drawn if torch.equal(drawn[name], pretrained[name])} == EMBEDDINGS[family]


@pytest.mark.parametrize("family", EMBEDDINGS)
def test_shuffled_weights_keep_embeddings_vectors_and_every_matrix_entry(
    family: str, tiny_folder: Callable[[str], Path], load_tiny: Callable[[str], Model]
) -> None:
    state = torch.get_rng_state()
    control = load(tiny_folder(family), random_weights="shuffled", seed=1)
    assert torch.equal(torch.get_rng_state(), state), "the caller's random numbers must not move"
    assert control.source["random_weights"] == {"kind": "shuffled", "seed": 1}
    pretrained = dict(load_tiny(family).network.named_parameters())
    shuffled = dict(control.network.named_parameters())
    assert shuffled.keys() == pretrained.keys()
    for name, parameter in shuffled.items():
        stays = name in EMBEDDINGS[family] or parameter.ndim < 2
        assert torch.equal(parameter, pretrained[name]) == stays, name
        assert sorted(parameter.flatten().tolist()) == sorted(pretrained[name].flatten().tolist()), name


@pytest.mark.parametrize("kind", ["fresh", "shuffled"])
def test_random_weights_depend_on_the_seed_alone(kind: RandomWeights, load_tiny: Callable[[str], Model]) -> None:
    network = load_tiny("bert").network
    first, again, other = (dict(randomise(network, kind, seed).named_parameters()) for seed in (1, 1, 2))
    name = "bert.encoder.layer.0.attention.self.query.weight"
    assert all(torch.equal(first[key], again[key]) for key in first)
    assert not torch.equal(first[name], other[name])


@pytest.mark.parametrize("kind", ["fresh", "shuffled"])
def test_random_weights_observe_differently(
    kind: RandomWeights,
    tiny_folder: Callable[[str], Path],
    load_tiny: Callable[[str], Model],
    batch_for: Callable[..., Any],
) -> None:
    maps: list[Tensor] = []
    control = load(tiny_folder("bert"), random_weights=kind)
    for model in (load_tiny("bert"), control):
        model.observe(batch_for(model), lambda layer, weights, _: maps.append(weights.clone()) if layer == 0 else None)
    assert not torch.allclose(maps[0], maps[1], atol=0.05)


FIRST_LOADS = """
import sys, threading
import headatlas as ha

sys.setswitchinterval(1e-5)
heads, together = [], threading.Barrier(3)

def load():
    together.wait()
    heads.append(ha.load_model(sys.argv[1], device="cpu").language_model)

threads = [threading.Thread(target=load) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(heads, ha.load_model(sys.argv[1], device="cpu").language_model)
"""


def test_threads_that_load_the_first_models_at_once_keep_the_heads(tiny_folder: Callable[[str], Path]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FIRST_LOADS, str(tiny_folder("bert"))], capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "['masked', 'masked', 'masked'] masked", done.stderr
    assert "missing" not in done.stderr
