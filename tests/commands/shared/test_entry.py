"""Entries: a command's folder alone says what the command line and the facade know of it."""

from __future__ import annotations

import inspect
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

import headatlas
from headatlas.commands.shared.entry import Panel, function_of, list_entries, load, summary_of

ENTRIES = list_entries()
SOURCE = Path(headatlas.__file__).parent


def python(code, source=SOURCE.parent):
    """Run code with the package of a source folder, and return the lines that it prints."""
    variables = {**os.environ, "PYTHONPATH": str(source), "COLUMNS": "80"}
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=variables)
    return ended.stdout.splitlines()


@pytest.mark.parametrize("name", ENTRIES)
def test_the_overview_repeats_the_first_line_of_each_docstring(name):
    assert summary_of(name) == inspect.getdoc(function_of(name)).split("\n")[0]


@pytest.mark.parametrize("name", ENTRIES)
def test_an_entry_names_what_exists_in_its_own_folder_or_in_the_shared_one(name):
    entry = ENTRIES[name]
    for place in (entry.report, entry.printing):
        assert place.split(".")[0] in {name, "shared"}
        assert callable(load(place))


def test_no_two_commands_have_the_same_place():
    panels = {panel: [entry.place for entry in ENTRIES.values() if entry.panel == panel] for panel in get_args(Panel)}
    assert panels == {panel: list(range(1, len(places) + 1)) for panel, places in panels.items()}


def test_the_facade_has_the_functions_of_commands():
    functions = {name for name in ENTRIES if name in dir(headatlas)} - {"figures"}  # the module of all figures
    assert functions == {name for name in ENTRIES if ENTRIES[name].in_python}
    assert headatlas.survey is function_of("survey")
    assert set(dir(headatlas)) == set(headatlas.__all__)
    with pytest.raises(AttributeError, match="'headatlas' has no attribute 'models_'"):
        _ = headatlas.models_


def test_entries_and_the_names_of_the_facade_import_nothing_heavy():
    heavy = ["torch", "numpy", "pandas", "cyclopts"]
    code = f"import sys, headatlas; dir(headatlas); print([name for name in {heavy} if name in sys.modules])"
    assert python(code) == ["[]"]


def test_a_command_whose_folder_is_deleted_is_gone(tmp_path):
    shutil.copytree(SOURCE, tmp_path / "headatlas", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.rmtree(tmp_path / "headatlas" / "commands" / "draw")
    code = "import headatlas; from headatlas.cli.app import main; print(*headatlas.__all__); main(['--help'])"
    names, *shown = python(code, tmp_path)
    assert {*names.split()} == {*headatlas.__all__} - {"draw"}
    listed = re.findall(r"^│ ([a-z][a-z-]+) ", "\n".join(shown), re.MULTILINE)
    assert listed == [name.replace("_", "-") for name in ENTRIES if name != "draw"]
