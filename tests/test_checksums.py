"""Sealed files: what was sealed opens again, and one bit that has changed, anywhere, is found."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors import numpy as safetensors_numpy

from headatlas.checksums import UNSEALED, check_tensors, open_json, seal_json, seal_tensors

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('ab"\\', max_size=3), inner, max_size=3),
    max_leaves=8,
)


def tensors(metadata: dict[str, str]) -> bytes:
    return seal_tensors(safetensors_numpy.save({"sums": np.arange(7.0), "sha256": np.ones(3)}, metadata | UNSEALED))


@given(st.text(st.characters(exclude_categories=["Cs"])) | st.just('{"sha256":"' + "0" * 64 + '"}'))
def test_what_was_sealed_opens(words):
    content = tensors({"settings": words})
    check_tensors(content)
    assert np.array_equal(safetensors_numpy.load(content)["sums"], np.arange(7.0))
    assert seal_tensors(content) == content


def test_the_hash_is_that_of_the_file_with_noughts_in_its_place():
    content = tensors({})
    before = safetensors_numpy.save({"sums": np.arange(7.0), "sha256": np.ones(3)}, UNSEALED)
    assert hashlib.sha256(before).hexdigest().encode() in content


def test_every_bit_of_a_file_counts():
    content = tensors({"settings": '{"seed": 0}'})
    for place in range(len(content)):
        for bit in range(8):
            flipped = bytearray(content)
            flipped[place] ^= 1 << bit
            with pytest.raises(ValueError, match=r"changed since it was written|no checksum"):
                check_tensors(bytes(flipped))


@pytest.mark.parametrize(
    "content", [b"", b"\xff" * 8, b"\xff" * 7 + b"\x7f{}", safetensors_numpy.save({"x": np.ones(1)})]
)
def test_a_file_that_was_never_sealed(content):
    with pytest.raises(ValueError, match="no checksum"):
        check_tensors(content)


@given(st.dictionaries(st.text("abc", min_size=1), VALUES))
def test_what_was_sealed_as_json_opens(record: dict[str, Any]):
    assert open_json(seal_json(record)) == record


def test_a_character_of_json_counts_or_says_the_same():
    record = {"rows": [{"probe": "attention", "uas": 0.25, "count": 3, "word": "Ø"}], "seed": 17}
    text = seal_json(record)
    for place in range(len(text)):
        for other in '0 9,"}ax':
            changed = text[:place] + other + text[place + 1 :]
            try:
                assert open_json(changed) == record
            except ValueError:
                continue


@pytest.mark.parametrize("text", ["", "[]", "{}", "7", '{"sha256": null}', '{"rows": [], "sha256": "0"}'])
def test_json_that_was_never_sealed(text):
    with pytest.raises(ValueError, match=r"changed since|Expecting value"):
        open_json(text)
