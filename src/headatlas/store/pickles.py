"""Reading the paper's released maps, which are pickles, without the danger of pickles.

A pickle is a program: loading one can run anything. So this is the one file of headatlas that imports `pickle`, and it
uses only its parser. Every name that a pickle asks for is looked up in the short table here, never imported; what the
table gives are substitutes that make arrays of plain numbers; only these are called or given a state. What can come
out is numbers, strings, bytes, lists, tuples, dicts and arrays of numbers.

The file is memory-mapped and large arrays stay in it until they are used: memory is bounded by the file's size, since
no length that a pickle claims is believed beyond what the file holds.
"""

from __future__ import annotations

import mmap
import pickle
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from headatlas.errors import CorpusError

LARGE = 1 << 16  # bytes; from here on a view into the file and no copy
NUMBER_TYPES = frozenset(f"{kind}{size}" for kind in "iuf" for size in (1, 2, 4, 8)) - {"f1"} | {"b1"}


class _RefusedError(Exception):
    """The pickle holds something that maps do not need."""


class _NumberType:
    """In place of numpy.dtype: a type of plain numbers."""

    def __init__(self, code: Any, *_: Any) -> None:
        name = _text(code)
        if name not in NUMBER_TYPES:
            raise _RefusedError(f"an array of the type {name!r}")
        self.type = np.dtype(name)

    def __setstate__(self, state: Any) -> None:
        """Only the order of bytes matters of a plain type's state."""
        self.type = self.type.newbyteorder(_text(state[1]))  # type: ignore[arg-type]


class _Array:
    """In place of numpy.ndarray: blank until its state is set."""

    value: NDArray[Any]

    def __setstate__(self, state: Any) -> None:
        """Version, shape, type, whether in Fortran's order, and the raw numbers."""
        _, shape, number_type, fortran, raw = state
        self.value = _numbers(raw, number_type, shape, "F" if fortran else "C")


def _numbers(raw: Any, number_type: Any, shape: Any, order: Any) -> NDArray[Any]:
    if not isinstance(number_type, _NumberType):
        raise _RefusedError("an array that is not of numbers")
    return np.frombuffer(raw, dtype=number_type.type).reshape(shape, order="F" if _text(order) == "F" else "C")


def _array_from_buffer(raw: Any, number_type: Any, shape: Any, order: Any) -> _Array:
    array = _Array()
    array.value = _numbers(raw, number_type, shape, order)
    return array


def _scalar(number_type: Any, raw: Any) -> Any:
    return _numbers(raw, number_type, (), "C").item()


_ADMITTED: dict[tuple[str, str], Callable[..., Any]] = {
    ("numpy", "dtype"): _NumberType,
    ("numpy", "ndarray"): _Array,
    ("_codecs", "encode"): lambda text, _codec: text.encode("latin1"),  # how pickles of protocol 2 and less hold bytes
    ("__builtin__", "bytes"): lambda: b"",  # and how they hold no bytes at all
}
for _core in ("numpy.core", "numpy._core"):
    _ADMITTED[f"{_core}.multiarray", "_reconstruct"] = lambda _kind, _shape, _type: _Array()
    _ADMITTED[f"{_core}.multiarray", "scalar"] = _scalar
    _ADMITTED[f"{_core}.numeric", "_frombuffer"] = _array_from_buffer


class _File:
    """A memory-mapped file as the parser reads it; large reads are views."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._view = memoryview(self._map)
        self.readline = self._map.readline

    def read(self, size: int) -> bytes | memoryview:
        if size < LARGE:
            return self._map.read(size)
        start = self._map.tell()
        data = self._view[start : start + size]
        self._map.seek(start + len(data))
        return data


def _fill_dict(instruction: bytes, keys: slice) -> Callable[[Any], None]:
    """The instruction, for plain keys in that part of the stack: a tuple within tuples can take for ever to hash."""

    def fill(parser: Any) -> None:
        for key in parser.stack[keys]:
            if not isinstance(key, str | bytes | int | float | None):
                raise _RefusedError(f"a dict with a {type(key).__name__} for a key")
        pickle._Unpickler.dispatch[instruction[0]](parser)

    return fill


class _Parser(pickle._Unpickler):
    """The parser that is written in Python, with what its instructions do cut down."""

    dispatch: ClassVar[dict[int, Callable[[Any], None]]] = dict(pickle._Unpickler.dispatch)
    stack: list[Any]
    read: Callable[[int], bytes | memoryview]

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ADMITTED:
            raise _RefusedError(f"{module}.{name}")
        return _ADMITTED[module, name]

    def _reduce(self) -> None:
        arguments, function = self.stack.pop(), self.stack[-1]
        if function not in _ADMITTED.values() or not isinstance(arguments, tuple):
            raise _RefusedError(f"a call of {type(function).__name__}")
        self.stack[-1] = function(*arguments)

    def _build(self) -> None:
        state, target = self.stack.pop(), self.stack[-1]
        if not isinstance(target, (_NumberType, _Array)):
            raise _RefusedError(f"a state for {type(target).__name__}")
        target.__setstate__(state)

    def _set(self) -> None:
        raise _RefusedError("a set")

    def _bytearray(self) -> None:
        (size,) = struct.unpack("<Q", self.read(8))
        self.stack.append(self.read(size))

    dispatch[pickle.REDUCE[0]] = _reduce
    dispatch[pickle.BUILD[0]] = _build
    dispatch[pickle.BYTEARRAY8[0]] = _bytearray
    dispatch[pickle.SETITEM[0]] = _fill_dict(pickle.SETITEM, keys=slice(-2, -1))
    dispatch[pickle.SETITEMS[0]] = _fill_dict(pickle.SETITEMS, keys=slice(None, None, 2))
    dispatch[pickle.DICT[0]] = _fill_dict(pickle.DICT, keys=slice(None, None, 2))
    dispatch[pickle.EMPTY_SET[0]] = dispatch[pickle.FROZENSET[0]] = _set


def load_numbers(path: Path) -> Any:
    """The content of a pickle, of any protocol and of Python 2 or 3, if it is plain data and arrays of numbers."""
    try:
        return _plain(_Parser(cast(Any, _File(path)), encoding="bytes").load())
    except _RefusedError as refused:
        raise CorpusError(
            f"holds {refused}, which maps do not need. It is not opened, since loading a pickle can run programs. "
            "Import only lists of dicts with numpy arrays, as the paper's code writes them.",
            path,
        ) from refused
    except OSError as error:
        raise CorpusError(f"cannot be read ({error.strerror}).", path) from error
    except Exception as error:  # a damaged pickle can fail in any way that its parser can
        raise CorpusError(
            f"is not a complete pickle ({type(error).__name__}: {str(error)[:80]}). Fetch the file again.", path
        ) from error


def _plain(value: Any) -> Any:
    """Replace substitutes by their arrays, two levels deep: in a list of dicts."""
    if isinstance(value, list):
        return [_plain_dict(item) if isinstance(item, dict) else item for item in value]
    return value


def _plain_dict(example: dict[Any, Any]) -> dict[str, Any]:
    return {_text(key): value.value if isinstance(value, _Array) else value for key, value in example.items()}


def _text(value: Any) -> str:
    """A string, also where Python 2 wrote it as bytes. Nothing else is turned into one: it may be far larger."""
    if isinstance(value, (bytes, memoryview)):
        return bytes(value).decode("utf-8")
    if not isinstance(value, str):
        raise _RefusedError(f"a {type(value).__name__} in place of a string")
    return value
