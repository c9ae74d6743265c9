"""Standard output: what a terminal would obey is escaped, and a disk that is full is told in one line."""

from __future__ import annotations

import errno
import io
import os
import re
import sys

from headatlas.errors import printable

_COLOURS = re.compile(r"(\x1b\[[\d;]*m)")


class Screen(io.TextIOWrapper):
    """A terminal on which tables, findings and names are printed that may come from anybody's files."""

    def __init__(self, terminal: io.TextIOWrapper) -> None:
        super().__init__(terminal.buffer, terminal.encoding, "backslashreplace", line_buffering=True)
        self._terminal = terminal  # which would close the buffer if nobody held it any more

    def write(self, text: str) -> int:
        """Write text; of control characters only colours and tabs reach the terminal."""
        parts = _COLOURS.split(text)
        parts[::2] = ("\t".join(map(printable, part.split("\t"))) for part in parts[::2])
        super().write("".join(parts))
        return len(text)


def guard_output() -> None:
    """Let nothing reach a terminal that it would obey, and write as escapes what standard output cannot encode."""
    if not isinstance(sys.stdout, io.TextIOWrapper):
        return
    sys.stdout.reconfigure(errors="backslashreplace")
    if sys.stdout.isatty():
        sys.stdout = Screen(sys.stdout)


def is_output_full(error: OSError) -> bool:
    """Whether what was written, to no file of ours but to standard output, found no room or no device.

    What is still to be written is then dropped: Python would try again as it ends.
    """
    full = error.filename is None and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO)
    if full:
        try:
            sys.stdout.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return full


def warn(text: str) -> None:
    """Print a warning, in yellow on a terminal."""
    print(f"\x1b[33m{text}\x1b[0m" if sys.stdout.isatty() else text)
