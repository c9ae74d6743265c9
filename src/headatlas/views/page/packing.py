"""Bulky data as text inside a page: zlib, then base64; the browser's DecompressionStream unpacks it."""

from __future__ import annotations

import base64
import zlib

SMALL, FAST = 6, 1  # levels: for a file, and for an answer that somebody waits for


def pack(data: bytes, level: int = SMALL) -> str:
    """Bytes compressed and written in base64."""
    return base64.b64encode(zlib.compress(data, level)).decode("ascii")
