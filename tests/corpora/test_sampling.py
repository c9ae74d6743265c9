"""Samples depend on the seed and on keys, not on order or on a generator's state."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headatlas.corpora.sampling import draw, rng_of, stable_hash

KEYS = st.lists(st.text(), unique=True, max_size=20)


@given(KEYS, st.integers(0, 25), st.integers())
def test_at_most_so_many_in_their_order(items: list[str], count: int, seed: int) -> None:
    chosen = draw(items, count, seed)
    assert len(chosen) == min(count, len(items))
    assert chosen == [item for item in items if item in chosen]
    assert draw(items, None, seed) == items


@given(KEYS, st.integers(0, 25), st.integers(0, 5))
def test_keys_decide_whatever_the_order(items: list[str], count: int, seed: int) -> None:
    chosen = set(draw(items, count, seed, key=str))
    assert set(draw(items[::-1], count, seed, key=str)) == chosen
    assert chosen <= set(draw(items, count + 1, seed, key=str))


@given(KEYS, st.integers(1, 10), st.text())
def test_an_item_added_displaces_at_most_one(items: list[str], count: int, more: str) -> None:
    before, after = (set(draw(some, count, 0, key=str)) for some in (items, [more, *(set(items) - {more})]))
    assert len(before - after) <= 1 if more not in items else before == after


def test_every_item_has_the_same_chance() -> None:
    times = [0] * 10
    for seed in range(2000):
        for item in draw(range(10), 3, seed):
            times[item] += 1
    assert times == [pytest.approx(600, abs=90)] * 10


def test_the_hash_is_blake2b() -> None:
    expected = int.from_bytes(hashlib.blake2b(b"0 a", digest_size=8).digest(), "big")
    assert stable_hash("0 a") == expected
    assert 0 <= stable_hash("\udcff") < 2**64


def test_a_generator_follows_from_its_parts() -> None:
    assert rng_of(1, "mask").random() == rng_of(1, "mask").random() != rng_of(2, "mask").random()
