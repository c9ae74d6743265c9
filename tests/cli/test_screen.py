"""Standard output: escapes in place of what a terminal would obey or an encoding lacks, one line where it is full."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from headatlas.cli import app as cli
from headatlas.cli.app import Screen
from headatlas.commands.shared.report import wrapped
from headatlas.engine.run_folder import write_manifest
from headatlas.results.folder import write_tables
from headatlas.results.tables import TABLES

ATTACK = "obj\x1b]0;owned\x07\x9b2J"


@pytest.fixture
def atlas(tmp_path):
    """An atlas with a relation that would change a terminal's title."""
    row = {"relation": ATTACK, "direction": "dependent_to_head", "layer": 1, "head": 2, "accuracy": 0.5}
    row |= {"low": 0.4, "high": 0.6, "held_out": 0.5, "p_value": 0.1, "p_value_offset": 0.1, "count": 9}
    dtypes = TABLES["dependency_best"].dtypes
    frame = pd.DataFrame({name: [row.get(name, 0 if kind != "str" else ATTACK)] for name, kind in dtypes.items()})
    rows = write_tables(tmp_path, {"dependency_best": frame})
    about = {"tables": rows, "model": {"name": ATTACK, "heads": [2]}}
    write_manifest(tmp_path, {"command": "survey", "complete": True, **about})
    return tmp_path


def test_a_terminal_gets_colours_and_no_other_control():
    buffer = io.BytesIO()
    screen = Screen(io.TextIOWrapper(buffer, encoding="utf-8"))
    assert screen.write(f"\x1b[33mNot run\x1b[0m:\t{ATTACK} \udce9é\n") == len(ATTACK) + 22
    assert buffer.getvalue().decode() == "\x1b[33mNot run\x1b[0m:\tobj\\x1b]0;owned\\x07\\x9b2J \\udce9é\n"


def test_reports_are_broken_between_words_on_a_terminal_alone(monkeypatch):
    line, table = "\n  - Head 3-1 finds the verb of 78 % of objects.", "one line of a table\nand another"
    monkeypatch.setenv("COLUMNS", "24")
    assert wrapped(line) == line
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert wrapped(line) == "\n  - Head 3-1 finds the\n    verb of 78 % of\n    objects."
    assert wrapped(table) == table
    assert wrapped("s3://a-bucket/with-a-very-long-name") == "s3://a-bucket/with-a-very-long-name"


@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")
@pytest.mark.parametrize("form", ["terminal", "csv"])
def test_a_table_on_a_terminal(atlas, form):
    leader, follower = os.openpty()
    command = [sys.executable, "-m", "headatlas.cli.app", "table", str(atlas), "dependency_best", "--raw"]
    done = subprocess.run([*command, "--format", form], stdout=follower, stderr=subprocess.PIPE, check=False)
    os.close(follower)
    shown = os.read(leader, 1 << 16).decode()
    os.close(leader)
    assert done.returncode == 0, done.stderr
    assert "owned" in shown
    assert not any(control in shown for control in ("\x1b]", "\x07", "\x9b"))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_output_is_told_in_one_line(atlas, unbuffered):
    command = [sys.executable, "-m", "headatlas.cli.app", "table", str(atlas), "dependency_best", "--raw"]
    environment = os.environ | {"PYTHONUNBUFFERED": unbuffered}
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False, env=environment)
    assert done.returncode == 1
    assert done.stderr == "Error: the output cannot be written (No space left on device). Free some space.\n"


def test_too_little_memory_is_told_in_one_line(tmp_path, monkeypatch, capsys):
    def fill(*_, **__):
        raise MemoryError("Unable to allocate 9 TiB")

    monkeypatch.setattr("headatlas.results.atlas.open_results", fill)
    monkeypatch.setattr(sys, "argv", ["headatlas", "figures", str(tmp_path)])
    with pytest.raises(SystemExit, match="1"):
        cli.main()
    assert capsys.readouterr().err.startswith("Error: Out of memory in headatlas figures. Use a smaller")


def test_a_file_name_that_is_not_utf_8(tiny_folder, tmp_path, monkeypatch, capsys):
    """It is surveyed, and every later command reads what the survey wrote of it."""
    name = os.fsdecode(b"lat\xe9n.txt")
    try:
        (tmp_path / name).write_text("the old man saw a dog, and it ran.\n" * 20, encoding="utf-8")
    except (OSError, UnicodeError):
        pytest.skip("the file system takes UTF-8 alone")
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["headatlas", *map(str, arguments)])
        cli.main()
        return capsys.readouterr().out

    options = ["--segments", 4, "--max-tokens", 16, "--device", "cpu", "--bootstrap", 10, "--no-figures"]
    for out in ("a", "b"):
        assert "lat\\udce9n.txt" in run("survey", tiny_folder("bert"), "--text", name, "--out", out, *options)
    assert "offset" in run("table", "a", "positions", "--rows", 2)
    assert "index.html" in run("page", "a")
    assert "lat\\\\udce9n.txt" in (tmp_path / "a" / "manifest.json").read_text(encoding="utf-8")
    assert "Wrote c/ (" in run("compare", "a", "b", "--out", "c", "--no-figures")
    run("survey", tiny_folder("bert"), "--text", name, "--out", "a", *options)  # finished: opened again
