"""Texts shaded by attention, as a page and as a picture.

The darker a word, the more attention it receives within its document. Underlined: part of a phrase that was found;
bold: part of a given keyphrase.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from headatlas.files import make_folder, own_subfolder, write_text, xml_text
from headatlas.results.folder import Results

LINE_LETTERS = 92  # of the SVG
_LETTER, _LINE = 7.8, 24  # pixels of its fixed-width font
_STYLE = (
    "body{font:16px/1.9 Georgia,serif;max-width:46em;margin:2em auto;padding:0 1em;color:#1a1a1a;background:#fff;"
    "overflow-wrap:anywhere}"
    "h1{font-size:1.3em}h2{font-size:1em;font-weight:600;margin-top:2em}i{font-style:normal;padding:.1em .15em;"
    "border-radius:.2em}u{text-decoration-thickness:2px;text-underline-offset:4px}p.note{color:#555;font-size:.9em}"
)
_NOTE = "The darker a word, the more attention it receives in its document. Underlined: found. Bold: a given keyphrase."
_TIGHT = frozenset(".,;:!?)]}%'\"\u201d\u2019")
_OPENING = frozenset("([{\u201c\u2018")


def write_shaded(results: Results) -> Path:
    """Write DIR/shaded.html with all documents of `keyphrase_words`, and DIR/figures/shaded_NAME.svg with the first."""
    words, manifest = results.tables["keyphrase_words"], results.manifest
    path, figures = results.folder / "shaded.html", own_subfolder(results.folder, "figures")
    heads = ", ".join(manifest["heads_chosen"]["names"])
    write_text(path, shaded_html(words, f"Attention received from heads {heads} of {manifest['model']['name']}"))
    make_folder(figures)
    for _, document in list(words.groupby("document", sort=False))[:1]:
        write_text(figures / "shaded_text.svg", shaded_svg(document))
    return path


def shades(weights: pd.Series[float]) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """How dark each word is, 0 to 1: its weight over the document's 95th percentile, at most 1."""
    values = weights.to_numpy(dtype=np.float64)
    top = float(np.quantile(values, 0.95)) if len(values) else 0.0
    return np.clip(values / top, 0, 1) if top > 0 else np.zeros(len(values))


def shaded_html(words: pd.DataFrame, title: str) -> str:
    """A self-contained page."""
    parts = [
        '<!doctype html><html lang="en"><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{escape(title)}</title><style>{_STYLE}</style><h1>{escape(title)}</h1><p class=note>{_NOTE}</p>"
    ]
    for name, document in words.groupby("document", sort=False):
        parts.append(f"<h2>{escape(str(name))}</h2>")
        for _, line in document.assign(shade=shades(document["weight"])).groupby("line", sort=True):
            parts.append(f"<p>{''.join(_html_words(line))}</p>")
    return xml_text("".join(parts) + "</html>\n")


def shaded_svg(words: pd.DataFrame) -> str:
    """One document as a picture, in a fixed-width font so that every browser breaks lines at the same place."""
    boxes: list[str] = []
    column = row = 0
    before: Any = None
    for word in words.assign(shade=shades(words["weight"])).itertuples():
        text = str(word.word)
        gap = 0 if column == 0 or text in _TIGHT or (before and before.word in _OPENING) else 1
        if before is not None and (word.line != before.line or column + gap + len(text) > LINE_LETTERS):
            column, row, gap = 0, row + 1, 0
        column += gap
        x, y, width = 10 + column * _LETTER, 8 + row * _LINE, len(text) * _LETTER
        bold = ' font-weight="700"' if _yes(word.key) else ""
        boxes.append(
            f'<rect x="{x - 1:.1f}" y="{y}" width="{width + 2:.1f}" height="19" rx="3" '
            f'fill="{_colour(word.shade)}"/>'
            f'<text x="{x:.1f}" y="{y + 14}" textLength="{width:.1f}"{bold}>{escape(text)}</text>'
        )
        if _yes(word.found):
            boxes.append(f'<path d="M{x:.1f} {y + 18}h{width:.1f}" stroke="#1a1a1a" stroke-width="1.4"/>')
        column, before = column + len(text), word
    size = f"{20 + LINE_LETTERS * _LETTER:.0f}", f"{16 + (row + 1) * _LINE}"
    return xml_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{size[0]}" height="{size[1]}" font-family="DejaVu Sans Mono,'
        f'monospace" font-size="13" fill="#1a1a1a"><rect width="100%" height="100%" fill="#fff"/>'
        f"{''.join(boxes)}</svg>\n"
    )


def _html_words(line: pd.DataFrame) -> Iterator[str]:
    before = ""
    for word in line.itertuples():
        text = str(word.word)
        if before and text not in _TIGHT and before not in _OPENING:
            yield " "
        inner = escape(text)
        inner = f"<b>{inner}</b>" if _yes(word.key) else inner
        inner = f"<u>{inner}</u>" if _yes(word.found) else inner
        yield f'<i style="background:{_colour(word.shade)}">{inner}</i>'
        before = text


def _colour(shade: Any) -> str:
    """From white to a blue on which dark text is still legible. shade: 0 to 1."""
    red, green, blue = (round(255 + float(shade) * (end - 255)) for end in (120, 170, 225))
    return f"#{red:02x}{green:02x}{blue:02x}"


def _yes(value: Any) -> bool:
    """Whether a cell holds true; an empty one does not."""
    return not pd.isna(value) and bool(value)
