"""python -m benchmarks NAME [--quick] prints one JSON line; NAME `all` runs every one and writes the table."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.measuring import SkippedError, replace_measured

NAMES = (
    *("surface", "long", "memory", "gradients", "dependencies", "similarity"),
    *("store", "probes", "layers", "ablation", "pruning", "fit_mlm", "startup", "page", "explore", "workers", "large"),
    *("keyphrases", "calibration", "heads", "still"),
)
TABLE = Path(__file__).with_name("README.md")


def main() -> None:
    """Run one benchmark or all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("name", choices=[*NAMES, "all"])
    parser.add_argument("--quick", action="store_true", help="fewer rounds: within 45 s on two cores")
    arguments = parser.parse_args()
    lines = []
    for name in NAMES if arguments.name == "all" else [arguments.name]:
        try:
            line = importlib.import_module(f"benchmarks.{name}").measure(arguments.quick).line()
        except SkippedError as reason:
            print(json.dumps({"name": name, "skipped": str(reason)}), flush=True)
            continue
        print(json.dumps(line), flush=True)
        lines.append(line)
    if arguments.name == "all" and not arguments.quick:
        _write_table(lines)


def _write_table(lines: list[dict[str, Any]]) -> None:
    usual = ("name", "ratio", "goal", "holds", "bound")
    rows = [
        f"| `{line['name']}` | {line['ratio']} | {line['bound']} {line['goal']} | "
        + ("yes | " if line["holds"] else "**no** | ")
        + "; ".join(f"{key} {value}" for key, value in line.items() if key not in usual)
        + " |"
        for line in lines
    ]
    machine = (
        f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores ({_processor()}), Python {platform.python_version()}"
    )
    table = "\n".join(
        [f"Measured {machine}.", "", "| name | ratio | goal | holds | also |", "| --- | --- | --- | --- | --- |", *rows]
    )
    replace_measured(TABLE, table)


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else ():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or "unknown"


if __name__ == "__main__":
    main()
