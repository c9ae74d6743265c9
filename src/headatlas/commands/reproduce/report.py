"""What `reproduce` prints when it ends."""

from __future__ import annotations

from collections.abc import Iterator

from headatlas.commands.reproduce.document import REPORT
from headatlas.commands.shared.report import Item, Written, terminal_width
from headatlas.results.atlas import Atlas
from headatlas.results.rendering import render
from headatlas.views.published.views import counts, view_of
from headatlas.wording import counted


def report_reproduce(atlas: Atlas, *_: object) -> Iterator[Item]:
    """Give published and measured numbers, and how many agree."""
    yield render(view_of(atlas, "reproduction"), "terminal", terminal_width()).removesuffix("\n")
    yield f"\n{counts(atlas.tables['reproduction'])}"
    rule = f"headatlas table {atlas.folder} reproduction --raw", "the rule behind every verdict"
    made = f"{REPORT}, {counted(len(atlas.tables), 'table')}, figures"
    yield Written(atlas.folder, made, atlas.folder / "index.html", atlas.manifest["tables"], next=(rule,))
