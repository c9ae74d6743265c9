"""State files: what is saved comes back, and a damaged or foreign file is refused by name."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import numpy as safetensors_numpy

from headatlas.checksums import pack_tensors
from headatlas.engine.checkpoint import FORMAT, Checkpoint, read_state
from headatlas.errors import AtlasError
from headatlas.files import safetensors_metadata
from headatlas.models.stacks import HeadShape
from random_maps import TEXT_STUDIES, batch_of, random_segments, show

SETTINGS = {"model": "tiny", "seed": 0}


@pytest.fixture
def studies():
    batches = [batch_of(random_segments([5, 3]))]
    return {name: show(study(), batches) for name, study in TEXT_STUDIES.items()}


@pytest.fixture
def saved(tmp_path, studies):
    checkpoint = Checkpoint(tmp_path / "state.safetensors", SETTINGS)
    checkpoint.save(studies, batches=[0, 1, 2, 5, 6, 9])
    return checkpoint


def empty_studies(heads=3):
    fresh = {name: study() for name, study in TEXT_STUDIES.items()}
    for study in fresh.values():
        study.start(HeadShape((heads, heads)))
    return fresh


def test_what_is_saved_comes_back(saved, studies):
    again = empty_studies()
    assert saved.resume(again, 12) == ({0, 1, 2, 5, 6, 9}, {})
    for name, study in studies.items():
        for key, array in study.state().items():
            assert array.tobytes() == again[name].state()[key].tobytes()


def test_without_a_file_a_run_starts_at_the_beginning(tmp_path):
    assert Checkpoint(tmp_path / "state.safetensors", SETTINGS).resume(empty_studies(), 12) == (set(), {})


def test_other_settings_are_refused_and_named(saved):
    other = Checkpoint(saved.path, SETTINGS | {"seed": 1})
    with pytest.raises(AtlasError, match="seed 0 instead of 1"):
        other.resume(empty_studies(), 12)


def test_another_models_shape_is_refused(saved):
    with pytest.raises(AtlasError, match="shape"):
        saved.resume(empty_studies(heads=4), 12)


@settings(max_examples=60)
@given(data=st.data())
def test_a_file_cut_anywhere_is_an_error_with_a_remedy(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("cut") / "state.safetensors"
    Checkpoint(path, SETTINGS).save(
        {"positions": show(TEXT_STUDIES["positions"](), [batch_of(random_segments([4]))])}, [0]
    )
    whole = path.read_bytes()
    path.write_bytes(whole[: data.draw(st.integers(0, len(whole) - 1))])
    with pytest.raises(AtlasError, match=r"damaged.*Delete this file"):
        read_state(path)


@settings(max_examples=60)
@given(content=st.binary(max_size=200))
def test_rubbish_is_an_error_with_a_remedy(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("rubbish") / "state.safetensors"
    path.write_bytes(content)
    with pytest.raises(AtlasError, match="damaged"):
        read_state(path)


@pytest.mark.parametrize(
    "metadata",
    [
        None,
        {"format": "other"},
        {"format": FORMAT},
        *({"format": FORMAT, "batches": spans, "settings": "{}"} for spans in ("many", "7", "[[-1, 3]]")),
        {"format": FORMAT, "batches": "[]", "settings": "[]"},
    ],
)
def test_a_safetensors_file_of_something_else_is_refused(tmp_path, metadata):
    path = tmp_path / "state.safetensors"
    path.write_bytes(safetensors_numpy.save({"x/y": np.zeros(2)}, metadata=metadata))
    with pytest.raises(AtlasError, match="damaged"):
        read_state(path)
    path.write_bytes(pack_tensors({"x/y": np.zeros(2)}, metadata or {}))
    with pytest.raises(AtlasError, match="damaged"):
        read_state(path)


def test_a_state_of_an_older_format_is_named(tmp_path):
    path = tmp_path / "state.safetensors"
    path.write_bytes(safetensors_numpy.save({"x/y": np.zeros(2)}, metadata={"format": "headatlas-state-2"}))
    with pytest.raises(AtlasError, match=r"its format is 'headatlas-state-2', not .*Delete this file"):
        read_state(path)


def test_a_flipped_bit_is_found_wherever_it_is(saved):
    """In the length, names, shapes, words and hash of the header, and all over the sums."""
    whole = saved.path.read_bytes()
    header = 8 + int.from_bytes(whole[:8], "little")
    sums = range(header, len(whole), 1 + len(whole) // 200)
    for place in (*range(8), *range(8, header, 7), *sums, len(whole) - 1):
        flipped = bytearray(whole)
        flipped[place] ^= 1 << place % 8
        saved.path.write_bytes(flipped)
        with pytest.raises(AtlasError, match=r"damaged.*Delete this file"):
            read_state(saved.path)
    saved.path.write_bytes(whole)
    read_state(saved.path)


def test_a_saved_state_that_is_changed_with_a_checksum_that_fits_must_still_fit(saved):
    content = saved.path.read_bytes()
    metadata = safetensors_metadata(content)
    del metadata["sha256"]
    metadata["batches"] = metadata["batches"].replace("[9, 10]", "[9,9e9]")
    saved.path.write_bytes(pack_tensors(safetensors_numpy.load(content), metadata))
    with pytest.raises(AtlasError, match="damaged"):
        saved.resume(empty_studies(), 12)


def test_more_batches_than_the_run_has_are_refused_at_once(saved):
    with pytest.raises(AtlasError, match="more than the 9 batches"):
        saved.resume(empty_studies(), 9)


def test_settings_are_kept_readable_in_the_header(saved):
    assert read_state(saved.path).settings == json.loads(json.dumps(SETTINGS))
