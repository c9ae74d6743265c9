"""Environments with packages that add to headatlas: one made by pip, one by hand."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Mapping
from pathlib import Path

import headatlas
from patience import SECONDS

HERE = Path(__file__).parent
PACKAGE = HERE / "headatlas-sinks"


class Environment:
    """A Python with everything that is installed here, and something more."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        venv.create(folder, symlinks=True)
        self.python = folder / "bin" / "python"
        self.site = Path(sysconfig.get_path("purelib", vars={"base": str(folder)}))
        here = {*map(str, (Path(headatlas.__file__).parents[1], HERE.parent)), sysconfig.get_path("purelib")}
        (self.site / "here.pth").write_text("\n".join(sorted(here)), encoding="utf-8")

    def install(self, package: Path) -> None:
        """Install a package with pip, without a network."""
        copy = shutil.copytree(package, self.folder / package.name)  # pip builds in the folder itself
        options = ["--no-deps", "--no-build-isolation", "--no-index", "--quiet"]
        self._run([sys.executable, "-m", "pip", "--python", str(self.python), "install", *options, str(copy)])

    def declare(self, name: str, version: str, groups: Mapping[str, Mapping[str, str]]) -> None:
        """Write what pip leaves behind of a package with entry points."""
        folder = self.site / f"{name.replace('-', '_')}-{version}.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", encoding="utf-8")
        lines = [
            line
            for group, entries in groups.items()
            for line in (f"[{group}]", *(f"{key} = {place}" for key, place in entries.items()))
        ]
        (folder / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")

    def run(self, *commands: tuple[object, ...]) -> list[tuple[int, str]]:
        """Run commands of headatlas in one process; return the exit code and the output of each."""
        words = json.dumps([[str(word) for word in command] for command in commands])
        output = self._run([str(self.python), str(HERE / "commands.py")], words)
        return [(code, text) for code, text in json.loads(output.splitlines()[-1])]

    def _run(self, words: list[str], given: str = "") -> str:
        path = os.pathsep.join(map(str, (Path(headatlas.__file__).parents[1], HERE.parent, HERE)))
        done = subprocess.run(
            words,
            input=given,
            capture_output=True,
            text=True,
            timeout=20 * SECONDS,
            env=os.environ | {"PYTHONPATH": path, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
        )
        assert done.returncode == 0, done.stderr
        assert "leaked" not in done.stderr, done.stderr  # which Python says when workers leave something behind
        return done.stdout
