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

if TYPE_CHECKING:
    from headatlas.commands.explore.live import Explorer

LIBRARIES, ATLAS, MODEL, PREPARE = "Start the libraries", "Read the atlas", "Load the model", "Prepare the page"
STYLE = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1b2330; --faint: #5d6878; --rule: #d8dee7; --accent: #005f96; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #141a23; --ink: #e8edf4; --faint: #9aa7b8; --rule: #2d3745; --accent: #6cc0f0; }
}
body {
  margin: 0; min-height: 100vh; display: grid; place-content: center; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif;
}
main { width: min(420px, 86vw); }
h1 { font-size: 22px; margin: 0 0 18px; overflow-wrap: anywhere; }
ol { list-style: none; margin: 0; padding: 0; }
li { padding: 5px 0 5px 30px; color: var(--faint); position: relative; }
li::before { content: "○"; position: absolute; left: 4px; }
li.done::before { content: "✓"; color: var(--accent); }
li.now { color: var(--ink); font-weight: 600; }
li.now::before { content: "●"; color: var(--accent); }
.bar { height: 4px; border-radius: 2px; margin: 18px 0 12px; background: var(--rule); overflow: hidden; }
.bar i { display: block; height: 100%; width: 30%; border-radius: 2px; background: var(--accent); }
@media (prefers-reduced-motion: no-preference) { .bar i { animation: run 1.4s ease-in-out infinite alternate; } }
@keyframes run { to { margin-left: 70%; } }
p { color: var(--faint); margin: 0; overflow-wrap: anywhere; }
.failed .bar { display: none; }
.failed p { color: var(--ink); margin-top: 18px; white-space: pre-wrap; }
"""
SCRIPT = """
const main = document.querySelector("main");
async function look() {
  try {
    const state = await (await fetch("state")).json();
    if (state.ready) return location.reload();
    document.querySelectorAll("li").forEach((item, place) => {
      item.className = place < state.stage ? "done" : place === state.stage ? "now" : "";
    });
    main.classList.toggle("failed", state.failure !== null);
    document.querySelector("p").textContent = state.failure ?? `${state.seconds} s`;
    if (state.failure === null) setTimeout(look, 300);
  } catch {
    main.className = "failed";
    document.querySelector("p").textContent = "The server has stopped. The terminal says why.";
  }
}
look();
"""
PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Loading {name}</title>
<style>{style}</style>
<main aria-live="polite"><h1>Loading {name}</h1><ol>{stages}</ol><div class="bar"><i></i></div><p></p></main>
<script>{script}</script>
</html>
"""


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
        html = PAGE.format(name=escape(self._name), style=STYLE, stages=items, script=SCRIPT)
        sources = f"script-src '{_hash(SCRIPT)}'; style-src '{_hash(STYLE)}'; connect-src 'self'"
        return html, f"default-src 'none'; {sources}; base-uri 'none'; form-action 'none'"


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
