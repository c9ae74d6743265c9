"""The atlas page: one file that a browser opens without network, every head to be seen, searched and questioned.

`content` says what is in it, `comparison` what is in that of two atlases; `tables` and `maps` pack the bulky parts,
`assemble` joins them with the scripts in `web`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from headatlas.files import write_text
from headatlas.views.page.assemble import assemble
from headatlas.views.page.comparison import PageComparison, comparison_content
from headatlas.views.page.content import PageAtlas, page_content
from headatlas.views.page.maps import add_examples

LARGEST_PAGE = 3_000_000  # bytes: what is mailed and opened without a thought


def write_page(results: PageAtlas | PageComparison) -> Path:
    """Write DIR/index.html from the tables and examples of an atlas, or from the tables of a comparison."""
    path = results.folder / "index.html"
    write_text(path, page_html(results))
    return path


def page_html(results: PageAtlas | PageComparison, largest: int = LARGEST_PAGE) -> str:
    """The page as text, of at most `largest` bytes where that can be."""
    if isinstance(results, PageComparison):
        return assemble(comparison_content(results))
    return assemble(full_content(results, largest))


def full_content(atlas: PageAtlas, largest: int = LARGEST_PAGE) -> dict[str, Any]:
    """All that the page says, with as many of the atlas's examples as fit into `largest` bytes, but at least one."""
    content = page_content(atlas)
    room = largest - len(assemble(content).encode())
    add_examples(content, atlas, room)
    return content
