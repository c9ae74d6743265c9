"""Files with checksums: what was packed is unpacked, and one bit that has changed, anywhere, is found."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors import numpy as safetensors_numpy

from headatlas.checksums import pack_json, pack_tensors, tensors_checksum, unpack_json, unpack_tensors, write_tensors
from headatlas.files import safetensors_metadata

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('ab"\\', max_size=3), inner, max_size=3),
    max_leaves=8,
)


ARRAYS = {"sums": np.arange(7.0), "sha256": np.ones((3, 0), np.float16), "turned": np.arange(6).reshape(2, 3).T}


@given(st.text(st.characters(exclude_categories=["Cs"])) | st.just('{"sha256":"' + "0" * 64 + '"}'))
def test_what_was_packed_is_unpacked(words):
    content = pack_tensors(ARRAYS, {"settings": words})
    arrays = unpack_tensors(content)
    assert arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        assert np.array_equal(arrays[name], array)
    assert safetensors_metadata(content)["settings"] == words


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?"])
def test_safetensors_reads_numbers_of_every_type(dtype, tmp_path):
    arrays = {"a": np.arange(5).astype(dtype), "b": np.ones((2, 3), dtype), "c": np.zeros((), dtype)}
    write_tensors(tmp_path / "file", arrays, {"words": "é"})
    content = (tmp_path / "file").read_bytes()
    assert content == pack_tensors(arrays, {"words": "é"})
    for read in (safetensors_numpy.load(content), unpack_tensors(content)):
        assert read.keys() == arrays.keys()
        for name, array in arrays.items():
            assert read[name].dtype == array.dtype
            np.testing.assert_array_equal(read[name], array)


def test_every_bit_of_a_file_counts():
    content = pack_tensors(ARRAYS, {"settings": '{"seed": 0}'})
    for place in range(len(content)):
        for bit in range(8):
            flipped = bytearray(content)
            flipped[place] ^= 1 << bit
            with pytest.raises(ValueError, match=r"changed since it was written|not a safetensors file"):
                unpack_tensors(bytes(flipped))


def test_arrays_that_change_their_names_change_the_checksum():
    names = {"a": np.zeros(2), "b": np.ones(2)}
    assert tensors_checksum(names, {}) != tensors_checksum({"a": names["b"], "b": names["a"]}, {})
    assert tensors_checksum(names, {}) == tensors_checksum(dict(reversed(names.items())), {})


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff" * 8,
        b"\xff" * 7 + b"\x7f{}",
        safetensors_numpy.save({"x": np.ones(1)}),
        safetensors_numpy.save({"x": np.ones(1)}, {"format": "other"}),
    ],
)
def test_a_file_without_a_checksum(content):
    with pytest.raises(ValueError, match=r"safetensors file with a checksum|changed since"):
        unpack_tensors(content)


@given(st.dictionaries(st.text("abc", min_size=1), VALUES))
def test_json_that_was_packed_is_unpacked(record: dict[str, Any]):
    assert unpack_json(pack_json(record)) == record


def test_a_character_of_json_counts_or_says_the_same():
    record = {"rows": [{"probe": "attention", "uas": 0.25, "count": 3, "word": "Ø"}], "seed": 17}
    text = pack_json(record)
    for place in range(len(text)):
        for other in '0 9,"}ax':
            changed = text[:place] + other + text[place + 1 :]
            try:
                assert unpack_json(changed) == record
            except ValueError:
                continue


@pytest.mark.parametrize("text", ["", "[]", "{}", "7", '{"sha256": null}', '{"rows": [], "sha256": "0"}'])
def test_json_without_a_checksum(text):
    with pytest.raises(ValueError, match=r"changed since|Expecting value"):
        unpack_json(text)
