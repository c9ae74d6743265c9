"""The page in a notebook: one frame that holds everything, so that it works wherever the notebook is opened.

The frame's document is inline (srcdoc) and fetches nothing. It is sandboxed: its script runs, but cannot see the
notebook around it.
"""

from __future__ import annotations

from html import escape
from pathlib import Path

from headatlas.files import write_text
from headatlas.models.heads import check_head, parse_head
from headatlas.models.loading import open_model
from headatlas.models.model import Model, describe_model
from headatlas.models.stacks import Stack
from headatlas.results.folder import Results
from headatlas.views.figures.sentence import check_texts, read_sentence, sentence_example
from headatlas.views.page import page_html
from headatlas.views.page.assemble import assemble
from headatlas.views.page.content import model_content
from headatlas.views.page.maps import packed_example

HEIGHT = 760  # pixels


class NotebookPage:
    """A page that a notebook shows if it is the last value of a cell."""

    def __init__(self, html: str, height: int = HEIGHT) -> None:
        self.html = html
        self.height = height

    def save(self, path: str | Path) -> Path:
        """Write the page to a file for a browser."""
        write_text(Path(path), self.html)
        return Path(path)

    def _repr_html_(self) -> str:
        style = f"width:100%;height:{self.height}px;border:1px solid #8886;border-radius:8px"
        return (
            f'<iframe srcdoc="{escape(self.html)}" sandbox="allow-scripts allow-downloads" '
            f'title="Attention heads" style="{style}"></iframe>'
        )

    def __repr__(self) -> str:
        return f"NotebookPage of {len(self.html.encode()):,} bytes; a notebook shows it, .save('page.html') keeps it"


def show_atlas(atlas: Results, height: int = HEIGHT) -> NotebookPage:
    """Show the page of an atlas or a comparison in a notebook."""
    return NotebookPage(page_html(atlas), height)


def head_view(
    model: str | Model,
    text: str,
    pair: str | None = None,
    *,
    head: str = "1-1",
    stack: Stack | None = None,
    height: int = HEIGHT,
    device: str = "auto",
    revision: str | None = None,
    trust_remote_code: bool = False,
) -> NotebookPage:
    """All heads of a model on a text, for a notebook: lines, matrix, and a grid of every head's map.

    >>> head_view("embedded", "The cat saw its shadow.", head="2-4")    # doctest: +SKIP

    head: the head shown first, layer-head from 1.
    pair: a second text, as in ``[CLS] text [SEP] pair [SEP]``.
    stack: the stack of heads of an encoder-decoder: "encoder" (default) or "decoder".
    """
    layer, number = parse_head(head)
    check_texts(text, pair)
    model = open_model(model, device=device, revision=revision, trust_remote_code=trust_remote_code)
    stack = model.choose_stack(stack)
    shape = model.shapes[stack]
    check_head(layer, number, shape, model.name)
    example = sentence_example(model, read_sentence(model, text, pair), stack)
    content = model_content(describe_model(model, stack)) | {
        "views": ["sentence", "grid"],
        "head": sum(shape.heads[: layer - 1]) + number - 1,
        "examples": [packed_example(example, shape.heads)],
        "examples_kept": 1,
    }
    return NotebookPage(assemble(content), height)
