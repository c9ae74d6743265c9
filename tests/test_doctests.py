"""The examples in docstrings are true: each one runs, except those marked as needing files that are not here."""

from __future__ import annotations

import doctest
import re
from importlib import import_module
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "headatlas"


def modules_with_examples():
    """Modules with an example that is not skipped; those that load the embedded model carry its mark."""
    for path in sorted(SOURCE.rglob("*.py")):
        lines = re.findall(r"^\s*>>> .*", path.read_text(encoding="utf-8"), re.MULTILINE)
        if examples := [line for line in lines if "+SKIP" not in line]:
            name = ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__")
            marks = [pytest.mark.weights] if any("embedded" in line for line in examples) else []
            yield pytest.param(name, id=name, marks=marks)


@pytest.mark.parametrize("name", modules_with_examples())
def test_examples_of_docstrings_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some write results
    failed, tried = doctest.testmod(import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert tried
    assert not failed
