"""Several values after one option."""

import pytest

from headatlas.cli.arguments import spread


@pytest.mark.parametrize(
    ("typed", "parsed"),
    [
        ("survey m --text a b c --out x", "survey m --text a --text b --text c --out x"),
        ("survey m --text a --text b", "survey m --text a --text b"),
        ("survey m --out x --studies p e --seed 1", "survey m --out x --studies p --studies e --seed 1"),
        ("survey --text a m --out x", "survey --text a m --out x"),
        ("extract --import a b --out x", "extract --import a --import b --out x"),
        ("survey --maps x --studies p e", "survey --maps x --studies p --studies e"),
        ("figures atlas", "figures atlas"),
        ("--help", "--help"),
        ("", ""),
    ],
)
def test_spread(typed, parsed):
    assert spread(typed.split()) == parsed.split()
