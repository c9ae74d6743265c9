"""The address of the explorer, and the secret token of one run.

The server's packages are not needed here, so that a run without them can say what to install.
"""

from __future__ import annotations

import html
import os
import secrets
from importlib.resources import files
from pathlib import Path

ADDRESS = "127.0.0.1"


def web_file(name: str) -> str:
    """A page, style or script of the explorer."""
    return (files(__package__) / "web" / name).read_text(encoding="utf-8")


def new_token() -> str:
    """Make a token that nobody can guess."""
    return secrets.token_urlsafe(32)


def is_token(given: str | None, token: str) -> bool:
    """Whether the right token was given, compared in constant time."""
    return given is not None and secrets.compare_digest(given.encode(), token.encode())


def hosts_of(port: int) -> frozenset[str]:
    """Return the names under which a browser reaches this server."""
    return frozenset({f"{ADDRESS}:{port}", f"localhost:{port}"})


def write_redirect(folder: Path, address: str) -> Path:
    """Write a page that redirects to the address, readable by its owner alone.

    Every user of the machine can read the browser's command line, and the address contains the token. So the browser is
    given this file's name instead.
    """
    path = folder / "explore.html"
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(web_file("redirect.html").format(address=html.escape(address)))
    return path
