"""Bulky data as text that a page can carry: zlib, then base64; the browser's own DecompressionStream undoes it."""

from __future__ import annotations

import base64
import zlib


def pack(data: bytes) -> str:
    """Compressed bytes in the letters of base64."""
    return base64.b64encode(zlib.compress(data, 6)).decode("ascii")
