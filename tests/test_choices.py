"""The choices of options, which a command must be able to list at once."""

from __future__ import annotations

import subprocess
import sys


def test_choices_are_listed_without_importing_numpy_or_torch():
    code = "import sys, headatlas.choices; print(sorted({'numpy', 'torch', 'pandas', 'transformers'} & {*sys.modules}))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
