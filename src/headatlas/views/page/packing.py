"""Bulky data as text that a page can carry: zlib, then base64; the browser's own DecompressionStream undoes it."""

from __future__ import annotations

import base64
import zlib

SMALL, FAST = 6, 1  # levels: for a file that is kept, and for an answer that somebody waits for


def pack(data: bytes, level: int = SMALL) -> str:
    """Compressed bytes in the letters of base64."""
    return base64.b64encode(zlib.compress(data, level)).decode("ascii")
