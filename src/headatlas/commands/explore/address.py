"""Where the explorer is found, and the token of one run: what nobody else on this machine can know.

The server's packages are not needed here, so that a run without them can say what to install.
"""

from __future__ import annotations

import html
import os
import secrets
from pathlib import Path

ADDRESS = "127.0.0.1"
REDIRECT = """<!DOCTYPE html>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0;url={address}">
<title>headatlas</title>
<p><a href="{address}" rel="noreferrer">Open the explorer</a></p>
"""


def new_token() -> str:
    """A word that nobody guesses."""
    return secrets.token_urlsafe(32)


def is_token(given: str | None, token: str) -> bool:
    """Whether the right token was given, compared in a time that tells nothing of it."""
    return given is not None and secrets.compare_digest(given.encode(), token.encode())


def hosts_of(port: int) -> frozenset[str]:
    """What a browser calls this server."""
    return frozenset({f"{ADDRESS}:{port}", f"localhost:{port}"})


def write_redirect(folder: Path, address: str) -> Path:
    """Write a page that leads to the address, readable by its owner alone.

    A browser is a program with a command line, which every user of the machine can read; the address has the token in
    it. So the browser is given this file's name instead.
    """
    path = folder / "explore.html"
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(REDIRECT.format(address=html.escape(address)))
    return path
