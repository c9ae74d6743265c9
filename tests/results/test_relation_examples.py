"""Relation examples survive their file, and a damaged file is named."""

from __future__ import annotations

import json

import numpy as np
import pytest
from safetensors import numpy as safetensors_numpy

from headatlas.errors import AtlasError
from headatlas.results.example import RelationExample, load_relation_examples, save_relation_examples

EXAMPLES = [
    RelationExample("obj", 3, 1, "dependent_to_head", ("I", "saw", "it"), np.eye(3, dtype=np.float32), ((2, 1),), 0.5),
    RelationExample("det", 1, 2, "head_to_dependent", ("Ø", "</b>"), np.full((2, 2), 0.25, np.float32), ((0, 1),)),
]


def test_they_come_back_as_they_were(tmp_path):
    path = tmp_path / "examples.safetensors"
    save_relation_examples(EXAMPLES, path)
    for before, after in zip(EXAMPLES, load_relation_examples(path), strict=True):
        np.testing.assert_array_equal(before.weights, after.weights)
        assert {**vars(before), "weights": None} == {**vars(after), "weights": None}


def test_none_at_all(tmp_path):
    save_relation_examples([], tmp_path / "none.safetensors")
    assert load_relation_examples(tmp_path / "none.safetensors") == []


def altered(**changes):
    about = [{key: value for key, value in vars(EXAMPLES[0]).items() if key != "weights"} | changes]
    return safetensors_numpy.save({"0": np.eye(3, dtype=np.float16)}, metadata={"examples": json.dumps(about)})


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"rubbish",
        altered()[:-3],
        safetensors_numpy.save({"0": np.eye(3)}),
        altered(words=["a", "b"]),
        altered(pairs=[[0, 3]]),
        altered(mood="good"),
    ],
    ids=["empty", "rubbish", "cut short", "no words", "too few words", "pair outside", "unknown field"],
)
def test_a_damaged_file_is_named_with_a_remedy(tmp_path, content):
    path = tmp_path / "examples.safetensors"
    path.write_bytes(content)
    with pytest.raises(AtlasError, match=r"examples\.safetensors: damaged .*Run the survey again"):
        load_relation_examples(path)
