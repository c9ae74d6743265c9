"""The embedded sample: original documents with coreference, shipped with the package (see README.md beside this)."""

from __future__ import annotations

from pathlib import Path


def sample_text() -> Path:
    """The sample as plain text: one sentence a line, an empty line between documents."""
    return Path(__file__).with_name("sample.txt")
