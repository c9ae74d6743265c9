"""The page in a notebook: one frame that holds everything, so that it works wherever the notebook is opened.

The frame's document is inline (srcdoc) and fetches nothing. It is sandboxed: its script runs, but cannot see the
notebook around it.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from headatlas.errors import SettingError
from headatlas.files import write_text
from headatlas.models.stacks import check_head, parse_head
from headatlas.results.folder import Results
from headatlas.views.attention import Attention, attention, attention_of_maps, is_model
from headatlas.views.page import page_html
from headatlas.views.page.assemble import assemble
from headatlas.views.page.content import model_content
from headatlas.views.page.maps import packed_example

HEIGHT = 760  # pixels
_FRAME_PIXELS, _TOKEN_PIXELS, _FEWEST_TOKENS = 290, 26, 10  # around the picture of a text, and for each of its tokens


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
    model: Any,
    text: str | Sequence[str],
    pair: str | None = None,
    *,
    head: str = "1-1",
    height: int | None = None,
    **options: Any,
) -> NotebookPage:
    """Show all heads on a text in a notebook: lines, matrix, and a grid of every head's map.

    Give a model and a text, or attention maps and the tokens that they are between:

    >>> head_view("embedded", "The cat saw its shadow.", head="2-4")    # doctest: +SKIP
    >>> head_view(network(**inputs, output_attentions=True).attentions, tokens)    # doctest: +SKIP

    Args:
        model: A name or folder, a model of `load_model`, a network of transformers, or (network, tokenizer). Or maps:
            what a network returns as `attentions`, one tensor [1, heads, n, n] or [heads, n, n] per layer; or one
            tensor or array [layers, heads, n, n], [heads, n, n] or [n, n].
        text: The text; with maps, their n tokens.
        pair: A second text, as in ``[CLS] text [SEP] pair [SEP]``.
        head: The head shown first, layer-head from 1.
        height: Of the frame, in pixels; by default as high as the text needs.
        **options: Of `headatlas.attention`: tokenizer, stack, device, dtype, revision, trust_remote_code.

    Returns:
        A page that a notebook shows if it is the last value of a cell.
    """
    if is_model(model):
        if not isinstance(text, str):
            raise SettingError("A model reads a text, but tokens are given. Give the text as one string.")
        return attention(model, text, pair, **options).show(head, height)
    if isinstance(text, str) or pair is not None or options:
        raise SettingError("Maps are shown with their tokens alone. Give one string per token.")
    return attention_of_maps(model, text).show(head, height)


def show_attention(seen: Attention, head: str, height: int | None = None) -> NotebookPage:
    """Show the attention of all heads on a text; see `Attention.show`."""
    layer, number = parse_head(head)
    check_head(layer, number, seen.shape, seen.model["name"])
    content = model_content(seen.model) | {
        "views": ["sentence", "grid"],
        "head": seen.shape.first_heads[layer - 1] + number - 1,
        "examples": [packed_example(seen.example, seen.shape.heads)],
        "examples_kept": 1,
    }
    needed = _FRAME_PIXELS + _TOKEN_PIXELS * max(len(seen.tokens), _FEWEST_TOKENS)
    return NotebookPage(assemble(content), height or min(needed, HEIGHT))
