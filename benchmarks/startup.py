"""`headatlas --help` against its promise of half a second."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.measuring import Result

SECONDS = 0.5


def measure(quick: bool) -> Result:
    """Median time of the command over half a second."""
    command = [str(Path(sys.executable).with_name("headatlas")), "--help"]
    times = []
    for _ in range(5 if quick else 15):
        start = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        times.append(time.perf_counter() - start)
    seconds = statistics.median(times)
    return Result("startup", seconds / SECONDS, 1.0, also={"seconds": round(seconds, 3)})
