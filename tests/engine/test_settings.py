"""How settings differ, in words that a person understands: no hashes, no Python."""

from __future__ import annotations

import pytest

from headatlas.engine.settings import LONGEST_SHOWN, differences

SHA = "4f3e427e4aff" + "0" * 52


@pytest.mark.parametrize(
    ("before", "now", "phrases"),
    [
        ({"seed": 0}, {"seed": 0}, []),
        ({"segments": 200}, {"segments": 1000}, ["segments 200 instead of 1,000"]),
        ({"max_tokens": 40, "seed": 1}, {"max_tokens": 30, "seed": 2},
         ["max tokens 40 instead of 30", "seed 1 instead of 2"]),
        ({"mdl": True}, {"mdl": False}, ["mdl on instead of off"]),
        ({"parse_with": None}, {"parse_with": "en_core_web_sm"}, ["parse with none instead of en_core_web_sm"]),
        ({"studies": ["positions", "entropy"]}, {"studies": ["positions", "gradients", "max_attention"]},
         ["studies with entropy and without gradients, max_attention"]),
        ({"studies": ["a", "b"]}, {"studies": ["b", "a"]}, ["studies a, b instead of b, a"]),
        ({"weights": {"model.safetensors": SHA}}, {"weights": {"model.safetensors": SHA[::-1]}}, ["other weights"]),
        ({"weights": None}, {"weights": SHA[:40]}, ["other weights"]),
        ({"corpora": {"text": [SHA], "treebank": [SHA]}}, {"corpora": {"text": [SHA[::-1]], "coreference": [SHA]}},
         ["without coreference", "other files for text", "with treebank"]),
        ({}, {"keyphrase_format": "auto"},
         ["made by headatlas 0.0.9, which did not have the setting keyphrase format"]),
        ({"older": 1}, {}, ["made by headatlas 0.0.9, which had the setting older"]),
        ("rubbish", {"seed": 1}, ["its settings cannot be read"]),
    ],
)  # fmt: skip
def test_each_difference_is_a_phrase(before, now, phrases):
    assert differences(before, now, "0.0.9") == phrases


def test_long_values_are_cut():
    (phrase,) = differences({"device_map": {"a": "b" * 500}}, {"device_map": {"a": "c" * 500}})
    assert len(phrase) < 3 * LONGEST_SHOWN
