"""Standard output: control characters are escaped, and a full disk is reported in one line."""

from __future__ import annotations

import errno
import io
import os
import re
import sys

from headatlas.errors import printable

_COLOURS = re.compile(r"(\x1b\[[\d;]*m)")


class Screen(io.TextIOWrapper):
    """A terminal for tables, findings and names that may come from untrusted files."""

    def __init__(self, terminal: io.TextIOWrapper) -> None:
        super().__init__(terminal.buffer, terminal.encoding, "backslashreplace", line_buffering=True)
        self._terminal = terminal  # if it were collected, it would close the buffer

    def write(self, text: str) -> int:
        """Write text; colours and tabs are the only control characters that reach the terminal."""
        parts = _COLOURS.split(text)
        parts[::2] = ("\t".join(map(printable, part.split("\t"))) for part in parts[::2])
        super().write("".join(parts))
        return len(text)


def guard_output() -> None:
    """Escape control characters on a terminal, and whatever standard output cannot encode."""
    if not isinstance(sys.stdout, io.TextIOWrapper):
        return
    sys.stdout.reconfigure(errors="backslashreplace")
    if sys.stdout.isatty():
        sys.stdout = Screen(sys.stdout)


def is_output_full(error: OSError) -> bool:
    """Whether standard output, not a file, has no space left or no device.

    The rest of the output is then dropped; otherwise Python would try to write it again as it exits.
    """
    full = error.filename is None and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO)
    if full:
        try:
            sys.stdout.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return full
