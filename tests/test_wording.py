"""Numbers as people read them."""

import math

import pytest

from headatlas.wording import counted, fine_percent, megabytes, percent


@pytest.mark.parametrize(
    ("number", "words"), [(0, "0 documents"), (1, "1 document"), (2, "2 documents"), (12345, "12,345 documents")]
)
def test_counts_have_a_singular(number, words):
    assert counted(number, "document") == words


def test_a_share_that_does_not_exist_is_said_in_words():
    assert percent(0.567) == "57 %"
    assert percent(math.nan) == "not measured"


@pytest.mark.parametrize(
    ("share", "words"), [(0, "0.0 %"), (0.577, "57.7 %"), (0.05, "5.0 %"), (0.0004, "under 0.1 %"), (1, "100.0 %")]
)
def test_a_small_share_is_not_written_as_none(share, words):
    assert fine_percent(share) == words


@pytest.mark.parametrize(("size", "words"), [(9, "0.0 kB"), (41_000, "41.0 kB"), (1.3e6, "1.3 MB"), (2.5e9, "2.5 GB")])
def test_sizes_have_a_unit_that_suits_them(size, words):
    assert megabytes(size) == words
