"""What `reproduce` prints when it ends."""

from __future__ import annotations

from collections.abc import Iterator

from headatlas.commands.reproduce.document import REPORT
from headatlas.results.atlas import Atlas
from headatlas.results.rendering import render
from headatlas.views.published.views import counts, view_of


def report_reproduce(atlas: Atlas, *_: object) -> Iterator[str]:
    """Give published and measured numbers, and how many agree."""
    yield render(view_of(atlas, "reproduction"), "terminal").removesuffix("\n")
    yield f"\nWrote {atlas.folder / REPORT}, tables and figures. Open {atlas.folder / 'index.html'} in a browser."
    yield counts(atlas.tables["reproduction"])
