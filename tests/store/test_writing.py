"""Shards as the library reads them, whatever numbers they hold, and their checksums."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from safetensors.numpy import load

from headatlas.store.examples import Tensors
from headatlas.store.writing import _write_file


@given(
    some.lists(some.integers(1, 9), min_size=1, max_size=12),
    some.sampled_from(["float16", "float32"]),
    some.booleans(),
)
def test_the_library_reads_what_is_written(tmp_path_factory, sizes, dtype, states):
    rng = np.random.default_rng(len(sizes))
    examples = [
        Tensors(
            rng.normal(size=(3, size, size)).astype(dtype),
            rng.normal(size=(2, 5, size)).astype(dtype).transpose(0, 2, 1) if states else None,  # not contiguous
        )
        for size in sizes
    ]
    path = tmp_path_factory.mktemp("maps") / "maps.safetensors"
    written = _write_file(path, iter(examples))
    content = path.read_bytes()
    assert (written.examples, written.bytes) == (len(sizes), len(content))
    assert written.sha256 == hashlib.sha256(content).hexdigest()
    found = load(content)
    assert len(found) == len(sizes) * (1 + states)
    for number, example in enumerate(examples):
        np.testing.assert_array_equal(found[f"{number}.maps"], example.maps)
        assert found[f"{number}.maps"].dtype == dtype
        if states:
            np.testing.assert_array_equal(found[f"{number}.states"], example.states)


def test_a_stopped_write_leaves_no_file(tmp_path):
    def examples():
        yield Tensors(np.ones((1, 2, 2), np.float16), None)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _write_file(tmp_path / "maps.safetensors", examples())
    assert not list(tmp_path.iterdir())
