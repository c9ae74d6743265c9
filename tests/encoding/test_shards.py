"""Shares of a corpus: every input is in exactly one, and always in the same."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headatlas.encoding.shards import Shard
from headatlas.errors import SettingError


@given(names=st.lists(st.text(), unique=True), of=st.integers(1, 9))
def test_every_input_is_in_one_share_whatever_the_others_are(names, of):
    inputs = [SimpleNamespace(id=name) for name in names]
    shares = [Shard(number, of).of_segments(inputs) for number in range(1, of + 1)]
    assert sorted(one.id for share in shares for one in share) == sorted(names)
    for number, share in enumerate(shares, 1):
        assert all(Shard(number, of).of_segments([one]) == [one] for one in share)


def test_shares_are_fixed_for_all_time_and_about_equal():
    names = [f"0.{document}.{chunk}" for document in range(4) for chunk in range(3)]
    assert [place for place, name in enumerate(names) if Shard(1, 2).holds(name)] == [0, 1, 2, 3, 5, 6, 7, 11]
    sizes = [sum(Shard(number, 4).holds(f"0.{place}.0") for place in range(4000)) for number in range(1, 5)]
    assert min(sizes) > 900


@pytest.mark.parametrize("text", ["", "2", "0/4", "5/4", "1/0", "-1/4", "1/4/2", "a/b", "1 / 4", "1/99999999999"])
def test_what_is_not_a_share_is_refused(text):
    with pytest.raises(SettingError, match=r"Write i/n"):
        Shard.parse(text)
