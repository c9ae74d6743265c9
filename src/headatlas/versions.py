"""When, and by which versions, a result was made."""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from importlib.metadata import version


def versions(*more: str) -> dict[str, str]:
    """Versions of Python, headatlas, what runs the models, and `more` packages."""
    packages = ("headatlas", "torch", "transformers", "tokenizers", "numpy", *more)
    return {"python": platform.python_version(), **{name: version(name) for name in packages}}


def moment() -> str:
    """The time now, in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")
