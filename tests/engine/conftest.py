"""What the tests of runs share: a tiny model and a few segments for it."""

from __future__ import annotations

import pytest

from whole_runs import TEXTS


@pytest.fixture(scope="module")
def bert(load_tiny):
    return load_tiny("bert")


@pytest.fixture(scope="module")
def segments(bert, segments_for):
    return segments_for(bert.tokenizer, TEXTS)
