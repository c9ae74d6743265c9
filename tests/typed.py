"""Commands as people type them, run in this process."""

from __future__ import annotations

import io
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass

from headatlas.cli.app import main


@dataclass(frozen=True)
class Typed:
    """How a command ended, and what it printed."""

    exit_code: int
    stdout: str
    stderr: str

    @property
    def output(self) -> str:
        """All that was printed, with the lines of wrapped errors joined."""
        return self.stdout + " ".join(self.stderr.split())


def typed(*words: object) -> Typed:
    """Run `headatlas` with these words after it; anything but an error that users can cause is raised."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main([str(word) for word in words])
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
    return Typed(code, out.getvalue(), err.getvalue())
