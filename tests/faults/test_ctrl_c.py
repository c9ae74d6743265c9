"""Ctrl-C typed at a terminal in every command that runs for long: acknowledged, honoured, continued; and the lock.

Each command is held in the middle of its work until Ctrl-C has been typed, so nothing here depends on speed.
"""

from __future__ import annotations

import importlib
import os
import pty
import re
import select
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest

from headatlas.engine.guards import STOPPING, lock_folder
from lives import begin, children_of
from long_commands import NAMES, run_command

CTRL_C = b"\x03"
HOLDING = "holding still"
PATIENCE = 600.0  # seconds until a run that hangs is given up
HOLD_IN = {  # what each command is in the middle of
    "survey": "engine.job.Observer.observe",
    "extract": "commands.extract.run.observe_maps",
    "fit-mlm": "commands.fit_mlm.training.Trainer.step",
    "reproduce": "engine.job.Observer.observe",
    "compare": "commands.compare.run.cross_models",
    "keyphrases": "commands.keyphrases.run.word_weights",
    "ablate": "commands.ablate.task_run.batch_importance",
    "probe": "commands.probe.run.run_job",
    "layers": "commands.layers.run.TaskRun",
    "prune": "commands.prune.run.pruned_copy",
    "merge": "commands.merge.run.write_tables",
}
AT_ONCE = {"prune", "compare"}  # save nothing on the way, so the first Ctrl-C ends them
CONTINUES = re.compile("the same command (continues|resumes)")


def on_terminal(terminal: str, held_in: str | None, patient: bool, *command: Any) -> None:
    """A command that owns a terminal, held at a given point."""
    os.setsid()
    screen = os.open(terminal, os.O_RDWR)  # which makes it the terminal that Ctrl-C is typed at
    for stream in (0, 1, 2):
        os.dup2(screen, stream)
    sys.stdout, sys.stderr = (os.fdopen(number, "w", buffering=1) for number in (1, 2))
    os.environ |= {"COLUMNS": "100", "TERM": "dumb"}
    if held_in is not None:
        _hold(held_in, patient)
    run_command(*command)


def _hold(place: str, patient: bool) -> None:
    """Make a function wait, before it works, until Ctrl-C was pressed (patient) or interrupts."""
    from headatlas.engine import guards

    *path, name = place.split(".")
    try:
        owner: Any = importlib.import_module(".".join(["headatlas", *path]))
    except ModuleNotFoundError:
        owner = getattr(importlib.import_module(".".join(["headatlas", *path[:-1]])), path[-1])
    work: Callable[..., Any] = getattr(owner, name)

    def held(*args: Any, **options: Any) -> Any:
        print(HOLDING, file=sys.stderr, flush=True)
        while not (patient and guards._current is not None and guards._current.is_set()):
            time.sleep(0.01)
        return work(*args, **options)

    setattr(owner, name, held)


class Terminal:
    """A terminal with a command in it."""

    def __init__(self, *given: Any) -> None:
        self._ours, theirs = pty.openpty()
        self.process = begin(on_terminal, os.ttyname(theirs), *given)
        self._theirs, self.screen = theirs, ""

    def wait_for(self, words: str) -> None:
        """Read until some words are on the screen."""
        self._read_until(lambda: words in self.screen)

    def type(self, keys: bytes) -> None:
        os.write(self._ours, keys)

    def end(self) -> int | None:
        """The exit code, once the command has ended."""
        self._read_until(lambda: not self.process.is_alive())
        self._read(0.1)
        os.close(self._ours)
        os.close(self._theirs)
        return self.process.exitcode

    def _read_until(self, done: Callable[[], bool]) -> None:
        given_up = time.monotonic() + PATIENCE
        while not done():
            self._read(0.05)
            if time.monotonic() > given_up or (not self.process.is_alive() and not self._read(0.2) and not done()):
                self.process.kill()
                pytest.fail(f"ended with {self.process.exitcode}, or hangs; on the screen:\n{self.screen}")

    def _read(self, seconds: float) -> bool:
        if not select.select([self._ours], [], [], seconds)[0]:
            return False
        found = os.read(self._ours, 65536).decode("utf-8", "replace")
        self.screen += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", found)
        return True


@pytest.mark.parametrize("name", NAMES)
def test_one_stops_at_the_next_safe_point_or_at_once(name, typed, tmp_path):
    terminal = Terminal(HOLD_IN[name], True, name, typed[name], tmp_path / "out")
    terminal.wait_for(HOLDING)
    terminal.type(CTRL_C)
    assert terminal.end() == 130, terminal.screen
    assert ("Stopped at once." if name in AT_ONCE else STOPPING) in terminal.screen
    assert bool(CONTINUES.search(terminal.screen)) == (name not in AT_ONCE)
    assert "Traceback" not in terminal.screen


@pytest.mark.parametrize("name", sorted(set(NAMES) - AT_ONCE))
def test_a_second_stops_at_once_and_the_same_command_continues(name, typed, tmp_path):
    out = tmp_path / "out"
    terminal = Terminal(HOLD_IN[name], False, name, typed[name], out)
    terminal.wait_for(HOLDING)
    terminal.type(CTRL_C)
    terminal.wait_for(STOPPING)
    terminal.type(CTRL_C)
    assert terminal.end() == 130, terminal.screen
    assert re.search(rf"Stopped at once\. Everything saved so far stays; {CONTINUES.pattern}\.", terminal.screen)
    assert "Traceback" not in terminal.screen
    again = Terminal(None, False, name, typed[name], out)
    assert again.end() == 0, again.screen


def test_one_while_workers_start_is_honoured(typed, tmp_path):
    arguments = [*typed["survey"], "--workers", "2"]
    terminal = Terminal(None, False, "survey", arguments, tmp_path / "out")
    while not children_of(terminal.process.pid):  # the server, which imports what workers need
        terminal._read(0.01)
    terminal.type(CTRL_C)
    assert terminal.end() == 130, terminal.screen
    assert STOPPING in terminal.screen
    assert CONTINUES.search(terminal.screen)
    assert "Traceback" not in terminal.screen


@pytest.mark.parametrize("name", NAMES)
def test_a_second_run_into_the_same_folder_is_refused_at_once(name, typed, tmp_path):
    out = tmp_path / "out"
    with lock_folder(out, "survey"):
        refused = Terminal("models.loading.load_model", False, name, typed[name], out)
        assert refused.end() == 1, refused.screen
        assert list(out.iterdir()), "the folder of the first is left alone"
    message = " ".join(refused.screen.split())
    assert f"process {os.getpid()} (headatlas survey, since" in message
    assert HOLDING not in message, "no model was loaded for it"
