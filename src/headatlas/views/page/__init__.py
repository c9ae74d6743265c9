"""The atlas page: one file that a browser opens offline, to browse, search and inspect every head.

`content` collects what the page says of an atlas or of a comparison, `tables` and `maps` pack the bulky parts, and
`assemble` joins them with the scripts in `web`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from headatlas.files import write_text
from headatlas.progress import stage
from headatlas.results.atlas import Atlas, Comparison
from headatlas.results.folder import Results
from headatlas.views.page.assemble import assemble
from headatlas.views.page.content import comparison_content, page_content
from headatlas.views.page.maps import add_examples
from headatlas.views.page.seen import add_seen

LARGEST_PAGE = 3_000_000  # bytes: small enough to mail


def write_page(results: Results) -> Path:
    """Write DIR/index.html from the tables, and of an atlas from its examples too."""
    path = results.folder / "index.html"
    with stage("Writing the page"):
        write_text(path, page_html(results))
    return path


def page_html(results: Results, largest: int = LARGEST_PAGE) -> str:
    """The page as text, of at most `largest` bytes if possible."""
    if isinstance(results, Comparison):
        return assemble(comparison_content(results))
    return assemble(full_content(results, largest))


def full_content(results: Results, largest: int = LARGEST_PAGE) -> dict[str, Any]:
    """Everything on the page, with as many of an atlas's examples as fit into `largest` bytes, but at least one."""
    content = page_content(results)
    if isinstance(results, Atlas):
        shown = add_examples(content, results, largest - len(assemble(content).encode()))
        add_seen(content, results, shown)
    return content
