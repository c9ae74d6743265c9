"""The bounds on what is held of a file can be raised, all together."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

CODE = "from headatlas.limits import LARGEST_NPZ, LONGEST_LINE; print(LONGEST_LINE, LARGEST_NPZ)"


def run(given: str | None) -> subprocess.CompletedProcess[str]:
    set_ = {} if given is None else {"HEADATLAS_LIMITS": given}
    return subprocess.run(
        [sys.executable, "-c", CODE], capture_output=True, text=True, check=False, env=os.environ | set_
    )


@pytest.mark.parametrize(("given", "line"), [(None, 1_000_000), ("2.5", 2_500_000), ("1000000", 10**12)])
def test_all_are_raised_by_one_factor(given, line):
    assert run(given).stdout.split() == [str(line), str(1000 * line)]


@pytest.mark.parametrize("given", ["", "many", "0.5", "nan", "inf", "-3"])
def test_a_factor_that_is_none_is_refused(given):
    assert f"HEADATLAS_LIMITS={given} in the environment: give a number from 1" in run(given).stderr
