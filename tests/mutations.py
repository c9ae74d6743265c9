"""Valid files made bad: bytes flipped, lines and columns lost, numbers that no one would write; and plain rubbish.

`mutated` draws what a careless tool, a broken download or an attacker could leave of a file. HEADATLAS_FUZZ says how
many are tried on each reader (thousands take minutes and find what the usual number does not).
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from safetensors import numpy as safetensors_numpy

from headatlas.checksums import pack_tensors
from headatlas.errors import LONGEST_MESSAGE, HeadatlasError
from headatlas.files import safetensors_metadata
from patience import cpu_seconds

TRIES = int(os.environ.get("HEADATLAS_FUZZ", "60"))
many = settings(
    max_examples=TRIES,
    derandomize="HEADATLAS_FUZZ" not in os.environ,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
some = settings(many, max_examples=max(1, TRIES // 6))  # where each try takes long

NUMBERS = [b"-1", b"0", b"1", b"-0", b"2147483648", b"99999999999999999999", b"1" * 5000, b"1e400", b"nan", b"0x1"]
NUMBERS += [b"", b"1.5", "٣".encode(), "²".encode(), b"null", b"true", b"[]", b"{}", b'"x"']
PIECES = [
    b"\0",
    b"\xff",
    b"\xc3",
    b"\r",
    b"\n",
    b"\r\n",
    b"\n\n",
    b"\t",
    b" ",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"\x1f\x8b",
]
PIECES += [
    "\u2028".encode(),
    "\u0085".encode(),
    "\u200b".encode(),
    b"#",
    b"# = \n",
    b"# newdoc\n",
    b"\\ud800",
    b"\\u0000",
]
PIECES += [
    b'"',
    b"'",
    b",",
    b"=",
    b"|",
    b"-",
    b"_",
    b"*",
    b"(",
    b")",
    b"(" * 3000,
    b"[" * 3000,
    b'{"a":' * 3000,
    b"1-2",
    b"1.1",
]


@st.composite
def mutated(draw: st.DrawFn, samples: list[bytes]) -> bytes:
    """A sample after a few accidents, or rubbish."""
    if draw(st.integers(0, 9)) == 0:
        return draw(st.binary(max_size=200))
    content = draw(st.sampled_from(samples))
    for _ in range(draw(st.integers(1, 4))):
        content = draw(st.sampled_from(_ACCIDENTS))(draw, content)
    return content


@contextmanager
def only_headatlas_errors() -> Iterator[None]:
    """Anything but an error that says what to do, in a few words that can be printed, is a failure.

    So is a reader that finds no end: these files have a few kilobytes.
    """
    try:
        with cpu_seconds():
            yield
    except HeadatlasError as error:
        _check_message(str(error))


def _check_message(message: str) -> None:
    assert 10 < len(message) <= LONGEST_MESSAGE
    message.encode()


def _place(draw: st.DrawFn, content: bytes) -> int:
    return draw(st.integers(0, len(content)))


def _flip(draw: st.DrawFn, content: bytes) -> bytes:
    place = _place(draw, content)
    return content[:place] + bytes([draw(st.integers(0, 255))]) + content[place + 1 :]


def _cut(draw: st.DrawFn, content: bytes) -> bytes:
    return content[: _place(draw, content)]


def _lose(draw: st.DrawFn, content: bytes) -> bytes:
    place = _place(draw, content)
    return content[:place] + content[place + draw(st.integers(1, 30)) :]


def _repeat(draw: st.DrawFn, content: bytes) -> bytes:
    place, size = _place(draw, content), draw(st.integers(1, 60))
    return content[:place] + content[place : place + size] * draw(st.integers(2, 5)) + content[place + size :]


def _insert(draw: st.DrawFn, content: bytes) -> bytes:
    place = _place(draw, content)
    return content[:place] + draw(st.sampled_from(PIECES)) + content[place:]


def _renumber(draw: st.DrawFn, content: bytes) -> bytes:
    numbers = list(re.finditer(rb"-?\d+(\.\d+)?", content))
    if not numbers:
        return content
    start, end = draw(st.sampled_from(numbers)).span()
    return content[:start] + draw(st.sampled_from(NUMBERS)) + content[end:]


def _edit_line(draw: st.DrawFn, content: bytes) -> bytes:
    """A line lost, doubled, emptied, moved to the end, or with a column lost or added."""
    lines = content.split(b"\n")
    place = draw(st.integers(0, len(lines) - 1))
    columns = lines[place].split(b"\t")
    column = draw(st.integers(0, len(columns) - 1))
    made: list[list[bytes]] = [[], [lines[place]] * 2, [b""], [lines[place][::-1]]]
    made += [
        [b"\t".join(columns[:column] + columns[column + 1 :])],
        [b"\t".join([*columns[:column], b"_", *columns[column:]])],
    ]
    return b"\n".join(lines[:place] + draw(st.sampled_from(made)) + lines[place + 1 :])


def _line_ends(draw: st.DrawFn, content: bytes) -> bytes:
    return content.replace(b"\n", draw(st.sampled_from([b"\r\n", b"\r", b" ", b"\n\n", b""])))


_ACCIDENTS: list[Callable[[st.DrawFn, bytes], bytes]] = [
    _flip, _flip, _cut, _lose, _repeat, _insert, _insert, _renumber, _renumber, _edit_line, _edit_line, _line_ends,
]  # fmt: skip


@st.composite
def damaged_json(draw: st.DrawFn, content: bytes) -> bytes:
    """A JSON text that is still JSON, with one value lost or replaced by one of another type."""
    found = json.loads(content)
    places = list(_places(found))
    within, key = draw(st.sampled_from(places))
    if draw(st.booleans()):
        del within[key]
    else:
        within[key] = draw(st.sampled_from([None, True, -1, 0, 1.5, 10**30, "", "x" * 5000, [], {}, [[]], {"a": {}}]))
    return json.dumps(found, separators=(",", ":")).encode()


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every key of every object and place of every list, with what holds it."""
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from _places(value[key])


@st.composite
def damaged_safetensors(draw: st.DrawFn, content: bytes) -> bytes:
    """A safetensors file with damage anywhere, or with a header of the right length that tells something else.

    Where the file has a checksum, it is sometimes made to fit again, as one who means harm would do.
    """
    size = int.from_bytes(content[:8], "little")
    header, numbers = json.loads(content[8 : 8 + size]), content[8 + size :]
    words = header.get("__metadata__", {})
    damaged = [name for name, text in words.items() if text[:1] in "[{" and len(text) > 2]
    match draw(st.sampled_from(["anywhere", "header", "words"])):
        case "words" if damaged:
            name = draw(st.sampled_from(damaged))
            text = words[name].encode()
            words[name] = draw(mutated([text]) | damaged_json(text)).decode("utf-8", "replace")
            made = json.dumps(header, separators=(",", ":")).encode()
        case "anywhere":
            return _with_fitting_checksum(draw, draw(mutated([content])))
        case _:
            made = draw(damaged_json(json.dumps(header, separators=(",", ":")).encode()))
    return _with_fitting_checksum(draw, len(made).to_bytes(8, "little") + made + numbers)


def _with_fitting_checksum(draw: st.DrawFn, content: bytes) -> bytes:
    if draw(st.booleans()):
        with suppress(Exception):  # what the library cannot read has no checksum that fits
            metadata = safetensors_metadata(content)
            if metadata.pop("sha256", None):
                return pack_tensors(safetensors_numpy.load(content), metadata)
    return content
