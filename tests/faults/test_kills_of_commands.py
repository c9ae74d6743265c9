"""Every long command, killed at random moments, ends with what an undisturbed one leaves.

HEADATLAS_KILLS says how often each is killed (30 take some minutes).
"""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import pandas as pd
import pytest

from lives import begin
from long_commands import NAMES, run_command

KILLS = int(os.environ.get("HEADATLAS_KILLS", "1"))


def files_of(folder: Path) -> dict[str, Path]:
    """What a command leaves, but for the sums it may continue from."""
    paths = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}
    return {name: path for name, path in paths.items() if "state" not in Path(name).parts}


def check_equal(left: Path, right: Path) -> None:
    """Both folders hold the same files: tables alike up to rounding, tensors to the bit."""
    files, others = files_of(left), files_of(right)
    assert files.keys() == others.keys()
    for name, path in files.items():
        if path.suffix == ".parquet":
            pd.testing.assert_frame_equal(pd.read_parquet(path), pd.read_parquet(others[name]), rtol=1e-9, atol=1e-12)
        elif path.suffix == ".safetensors":
            assert path.read_bytes() == others[name].read_bytes(), name


@pytest.mark.parametrize("name", NAMES)
def test_kills_at_random_moments_change_nothing(name, typed, tmp_path):
    whole = tmp_path / "whole"
    started = time.monotonic()
    process = begin(run_command, name, typed[name], whole)
    process.join()
    assert process.exitcode == 0
    seconds = time.monotonic() - started
    rng, kills, life = random.Random(name), 0, 0
    while kills < KILLS:
        out = tmp_path / f"life{life}"
        process = begin(run_command, name, typed[name], out)
        process.join(rng.uniform(0.1, 1.1) * seconds)
        if process.exitcode is None:
            os.kill(process.pid, signal.SIGKILL)
            process.join()
        kills += process.exitcode == -signal.SIGKILL
        if process.exitcode == 0:
            check_equal(whole, out)
            life += 1
    out = tmp_path / f"life{life}"
    last = begin(run_command, name, typed[name], out)
    last.join()
    assert last.exitcode == 0
    check_equal(whole, out)
