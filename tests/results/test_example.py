"""Examples come back as they were, and damaged ones are refused."""

from __future__ import annotations

import json

import numpy as np
import pytest
from safetensors import numpy as safetensors_numpy

from headatlas.corpora.coreference.mentions import Mention
from headatlas.engine.run_folder import write_manifest
from headatlas.errors import AtlasError
from headatlas.results.atlas import open_atlas
from headatlas.results.example import EXAMPLES, Example, Tree, save_examples

TOKENS = ["[CLS]", '<script>"é', "##b", "c", "[SEP]"]
MAPS = np.random.default_rng(0).dirichlet(np.ones(5), size=(2, 2, 5)).astype(np.float32)
PLAIN = Example(TOKENS, [-1, 0, 0, 1, -1], MAPS, ("é", "c"))
PARSED = Example(TOKENS, [-1, 0, 0, 1, -1], MAPS, ("é", "c"), "treebank", Tree((1, -1), ("det", "root"), (0, 1)))
MENTIONS = (Mention(0, 1, 0, "e", "proper"), Mention(1, 2, 1, "e", "pronoun"))
COREFERENT = Example(TOKENS, [-1, 0, 0, 1, -1], MAPS, ("é", "c"), "coreference", mentions=MENTIONS)


@pytest.fixture
def folder(tmp_path):
    write_manifest(tmp_path, {"command": "survey", "complete": True, "tables": {}})
    return tmp_path


def test_examples_come_back_with_their_gold(folder):
    save_examples([PLAIN, PARSED, COREFERENT], folder / EXAMPLES)
    atlas = open_atlas(folder)
    assert atlas.example is atlas.examples[0]
    for example, written in zip(atlas.examples, (PLAIN, PARSED, COREFERENT), strict=True):
        np.testing.assert_allclose(example.maps, written.maps, atol=1e-3)
        assert {**vars(example), "maps": 0} == {**vars(written), "maps": 0}
    assert atlas.example.special == [True, False, False, False, True]


def test_an_atlas_without_examples_has_none(folder):
    assert open_atlas(folder).examples == []
    assert open_atlas(folder).example is None


@pytest.mark.parametrize(
    "damage",
    [
        {"tokens": TOKENS[:4]},
        {"word_of": [-1, 0, 0, 2, -1]},
        {"word_of": [-1, 0]},
        {"words": ["é"]},
        {"tree": {"heads": [2, -1], "relations": ["det", "root"], "counts_as": [0, 1]}},
        {"tree": {"heads": [1], "relations": ["det", "root"], "counts_as": [0, 1]}},
        {"tree": {"heads": [1, -1]}},
        {"mentions": [{"start": 0, "end": 3, "head": 0, "entity": "e", "type": "proper"}]},
        {"mentions": [{"start": 0}]},
        {"corpus": None, "tokens": 3},
    ],
)
def test_what_does_not_belong_together_is_refused(folder, damage):
    save_examples([PARSED], folder / EXAMPLES)
    path = folder / "examples.safetensors"
    about = {**vars(PARSED), "tree": vars(PARSED.tree), "mentions": [], "maps": None} | damage
    content = safetensors_numpy.save({"0": MAPS}, metadata={"examples": json.dumps([about])})
    path.write_bytes(content)
    with pytest.raises(AtlasError, match=r"examples\.safetensors: damaged"):
        _ = open_atlas(folder).examples


@pytest.mark.parametrize("content", [b"", b"\x10", b"\xff" * 20])
def test_a_file_that_is_none_is_refused(folder, content):
    (folder / "examples.safetensors").write_bytes(content)
    with pytest.raises(AtlasError, match=r"examples\.safetensors"):
        _ = open_atlas(folder).examples
