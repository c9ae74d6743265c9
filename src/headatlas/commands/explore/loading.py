"""The page that a browser shows while the model is loaded: the stages, and what went wrong if it cannot be loaded.

Importing torch and loading a model can take a minute. Nothing heavy is imported here, so the server can answer at once.
"""

from __future__ import annotations

import base64
import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from threading import Event
from typing import TYPE_CHECKING, Any

from headatlas.commands.explore.address import web_file

if TYPE_CHECKING:
    from headatlas.commands.explore.live import Explorer

LIBRARIES, ATLAS, MODEL, PREPARE = "Start the libraries", "Read the atlas", "Load the model", "Prepare the page"


@dataclass(frozen=True)
class Site:
    """What is served once the model is loaded."""

    explorer: Explorer
    page: str
    policy: str  # the page's Content-Security-Policy


class Loading:
    """How far the model is loaded. One thread loads it, the server's thread reads this."""

    def __init__(self, name: str, stages: Sequence[str] = (LIBRARIES, MODEL, PREPARE)) -> None:
        self.site: Site | None = None
        self.failure: BaseException | None = None
        self.failure_shown = Event()
        self._name, self._stages, self._stage, self._start = name, stages, 0, time.monotonic()

    def begin(self, stage: str) -> None:
        """Note that a stage begins."""
        self._stage = self._stages.index(stage)

    def state(self) -> dict[str, Any]:
        """Return what the page shows."""
        if self.failure is not None:
            self.failure_shown.set()
        return {
            "stage": self._stage,
            "seconds": int(time.monotonic() - self._start),
            "failure": None if self.failure is None else str(self.failure) or type(self.failure).__name__,
            "ready": self.site is not None,
        }

    def page(self) -> tuple[str, str]:
        """Return the page and its Content-Security-Policy."""
        items = "".join(f"<li>{escape(stage)}</li>" for stage in self._stages)
        script, style = web_file("loading.js"), web_file("loading.css")
        html = web_file("loading.html").format(name=escape(self._name), style=style, stages=items, script=script)
        sources = f"script-src '{_hash(script)}'; style-src '{_hash(style)}'; connect-src 'self'"
        return html, f"default-src 'none'; {sources}; base-uri 'none'; form-action 'none'"


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
