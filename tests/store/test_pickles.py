"""A pickle can hold a program: only plain data and arrays of numbers may come out of it."""

from __future__ import annotations

import contextlib
import os
import pickle
from datetime import date
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headatlas.errors import CorpusError
from headatlas.store.pickles import load_numbers

PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)


def loaded(path: Path, content: bytes):
    path.write_bytes(content)
    return load_numbers(path)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_plain_data_and_arrays_come_out_as_they_went_in(tmp_path, protocol):
    rng = np.random.default_rng(0)
    example = {
        "small": rng.random((2, 3, 4, 4)).astype(np.float16),
        "large": rng.random((4, 4, 64, 64)).astype(np.float32),
        "fortran": np.asfortranarray(rng.random((3, 5))),
        "big_endian": np.arange(4, dtype=">i4"),
        "tokens": ["[CLS]", "naïve", "[SEP]"],
        "numbers": (1, -(2**70), 2.5, True, None),
        "scalar": np.int64(7),
        "empty": np.zeros((0, 3)),
    }
    [found] = loaded(tmp_path / "a.pkl", pickle.dumps([example], protocol))
    assert list(found) == list(example)
    for name, value in example.items():
        if isinstance(value, np.ndarray):
            assert found[name].dtype == value.dtype
            np.testing.assert_array_equal(found[name], value)
        else:
            assert found[name] == value


def test_what_python_2_wrote(tmp_path):
    """Strings as bytes, arrays with their numbers in such a string, as protocol 2 of Python 2 has them."""
    content = (
        b"\x80\x02]q\x00}q\x01(U\x06tokensq\x02]q\x03(U\x05[CLS]U\x06na\xc3\xafvee"
        b"U\x05attnsq\x04cnumpy.core.multiarray\n_reconstruct\nq\x05cnumpy\nndarray\nq\x06K\x00\x85U\x01b\x87R"
        b"(K\x01K\x02\x85cnumpy\ndtype\nU\x02f2K\x00K\x01\x87R(K\x03U\x01<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
        b"\x89U\x04\x00\x3c\x00\x40tbua."
    )
    [found] = loaded(tmp_path / "a.pkl", content)
    assert found["tokens"] == [b"[CLS]", "naïve".encode()]
    assert found["attns"].tolist() == [1.0, 2.0]


class Attack:
    """Would run a command when loaded."""

    def __reduce__(self):
        return os.system, ("touch attacked",)


class Stateful:
    """An instance of a class of ours."""

    def __init__(self) -> None:
        self.number = 1


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    ("value", "named"),
    [
        ([{"attns": Attack()}], r"(posix|nt)\.system"),
        ([{"attns": Stateful()}], r"Stateful|_reconstructor"),
        (date(2019, 6, 11), r"datetime\.date"),
        ([np.array([1, None], dtype=object)], "type 'O8'"),
        ([np.array(["a", "b"])], "type 'U1'"),
        ([np.zeros(2, dtype=[("a", "f4")])], "type 'V4'"),
        ([np.ma.array([1, 2])], r"numpy\.ma"),
        ({1, 2}, r"set|SET"),
        (len, r"len"),
        (complex(1, 2), "complex"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else value,
)
def test_anything_else_is_refused_by_name(tmp_path, monkeypatch, value, named, protocol):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CorpusError, match=rf"bad\.pkl: holds .*({named}).*not opened"):
        loaded(tmp_path / "bad.pkl", pickle.dumps(value, protocol))
    assert not (tmp_path / "attacked").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a complete pickle"),
        (b"not a pickle at all", "not a complete pickle"),
        (pickle.dumps([1, 2, 3])[:-2], "not a complete pickle"),
        (b"\x80\x04B\xff\xff\xff\x7fab.", "not a complete pickle"),  # claims 2 GB
        (b"\x80\x05\x96" + b"\xff" * 7 + b"\x00ab.", "not a complete pickle"),  # a bytearray of 64 PB
        (b"\x80\x02K\x01r\xff\xff\xff\xff.", None),  # a memo of 4 G places
        (b"\x80\x02]cnumpy\ndtype\nb.", "holds a state for list"),
        (b"\x80\x02cnumpy\ndtype\n}b.", "holds a state for type"),
        (b"\x80\x02K\x01K\x02\x85R.", "holds a call of int"),
        (b"\x80\x02]cnumpy\nndarray\n)\x81a.", None),  # an array that was never filled
        (b"\x80\x02Qab.", "not a complete pickle"),
        (b"(cnumpy\ndtype\nU\x02O8o.", "type 'O8'"),
        (b"\x80\x02cbuiltins\neval\nX\x03\x00\x00\x001+1\x85R.", r"builtins\.eval"),
        (b"ios\nsystem\n.", r"os\.system"),
    ],
    ids=str,
)
def test_damaged_and_hostile_pickles(tmp_path, content, message):
    if message is None:
        assert not callable(loaded(tmp_path / "bad.pkl", content))
        return
    with pytest.raises(CorpusError, match=message):
        loaded(tmp_path / "bad.pkl", content)


def test_an_array_must_fill_its_shape(tmp_path):
    content = pickle.dumps([np.zeros((2, 3))], 2).replace(b"K\x02K\x03\x86", b"K\x09K\x09\x86")
    with pytest.raises(CorpusError, match=r"not a complete pickle .*shape \(9,9\)"):
        loaded(tmp_path / "bad.pkl", content)


@settings(max_examples=60)
@given(st.data())
def test_a_pickle_altered_anywhere_gives_data_or_a_clear_error(tmp_path_factory, data):
    example = {"tokens": ["a"], "attns": np.ones((1, 1, 1, 1))}
    content = bytearray(pickle.dumps([example], data.draw(st.sampled_from(PROTOCOLS))))
    content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(CorpusError):
        loaded(tmp_path_factory.getbasetemp() / "altered.pkl", bytes(content))
