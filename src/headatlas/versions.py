"""When, and by which versions, a result was made."""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from importlib.metadata import version

_DECIDE_NUMBERS = (
    *("headatlas", "torch", "transformers", "tokenizers", "safetensors"),
    *("numpy", "numba", "pandas", "scipy", "scikit-learn", "snowballstemmer"),
)


def versions(*more: str) -> dict[str, str]:
    """Versions of Python, headatlas, the libraries that results depend on, and `more` packages."""
    return {"python": platform.python_version()} | {name: version(name) for name in (*_DECIDE_NUMBERS, *more)}


def moment() -> str:
    """The time now, in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")
