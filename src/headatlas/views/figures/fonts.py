"""Fonts for texts in any script, and how wide texts are."""

from __future__ import annotations

import functools
import logging
from collections.abc import Iterable, Sequence

import matplotlib
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ft2font import FT2Font
from matplotlib.text import Text

from headatlas.errors import printable

FONT = "DejaVu Sans"
FONT_POINTS = 8.0

# Tried in this order, where installed, for characters that DejaVu lacks.
_FALLBACK_FONTS = (
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Source Han Sans SC",
    "PingFang SC",
    "Hiragino Sans",
    "Apple SD Gothic Neo",
    "Microsoft YaHei",
    "Yu Gothic",
    "Malgun Gothic",
    "WenQuanYi Zen Hei",
    "Noto Emoji",
    "Symbola",
    "Noto Sans Devanagari",
    "Noto Sans Thai",
    "Arial Unicode MS",
    "Nirmala UI",
    "Unifont",
)

_MOST_NAMED = 12  # characters that a warning names
_warned: set[str] = set()  # characters that a warning has named already
_log = logging.getLogger(__name__)


def width_in_ems(text: str) -> float:
    """How wide a text is in units of the font size; a character that DejaVu lacks counts as a full square."""
    return sum(_advance(character) for character in text)


@functools.cache
def _advance(character: str) -> float:
    if ord(character) not in _font_characters():
        return 1.0
    font = FT2Font(font_manager.findfont(FONT))
    font.set_size(FONT_POINTS, 72)
    return float(font.load_char(ord(character)).linearHoriAdvance / 65536 / FONT_POINTS)


def fall_back(texts: Sequence[Text], all_axes: Iterable[Axes]) -> None:
    """Give texts and labels of ticks beyond ASCII further fonts; say once which characters no installed font has."""
    for text in texts:
        if not text.get_text().isascii():
            text.set_fontfamily(families_for([text.get_text()], text.get_fontfamily()))
    labels = [(axis, _tick_texts(axis)) for axes in all_axes for axis in (axes.xaxis, axes.yaxis)]
    for axis, names in labels:
        if not "".join(names).isascii():
            axis.set_tick_params(labelfontfamily=families_for(names))
    warn_about_glyphs([*(text.get_text() for text in texts), *(name for _, names in labels for name in names)])


def _tick_texts(axis: Axis) -> list[str]:
    return [text.get_text() for text in axis.get_ticklabels()]


def families_for(texts: Iterable[str], first: Iterable[str] = ()) -> list[str]:
    """The fonts in use, DejaVu, and installed fonts that have the characters that DejaVu lacks."""
    families = first or matplotlib.rcParams["font.family"]
    return list(dict.fromkeys([*families, FONT, *_fallbacks(_beyond_font(texts))[0]]))


def _beyond_font(texts: Iterable[str]) -> frozenset[str]:
    """Characters that need another font than DejaVu."""
    known = _font_characters()
    return frozenset(character for text in texts for character in text if ord(character) not in known) - {"\n"}


def warn_about_glyphs(texts: Iterable[str]) -> None:
    """Say once which characters no installed font has."""
    _, lacking = _fallbacks(_beyond_font(texts))
    new = sorted(lacking - _warned)
    _warned.update(new)
    if new:
        more = f" and {len(new) - _MOST_NAMED} more" if len(new) > _MOST_NAMED else ""
        _log.warning(
            "No installed font has %s%s: boxes are drawn in their place. Install one that has them, such as Noto Sans "
            "CJK for Chinese, Japanese and Korean or Noto Emoji, or write .svg, which keeps the characters.",
            " ".join(map(printable, new[:_MOST_NAMED])),
            more,
        )


@functools.cache
def _fallbacks(characters: frozenset[str]) -> tuple[tuple[str, ...], frozenset[str]]:
    """Installed fonts that have these characters, the preferred ones first, and the characters that none has."""
    left, chosen = set(characters), []
    if left:
        installed = sorted(set(font_manager.get_font_names()) - {FONT})
        for name in (*(name for name in _FALLBACK_FONTS if name in installed), *installed):
            if covered := {character for character in left if ord(character) in _characters_of(name)}:
                chosen.append(name)
                left -= covered
            if not left:
                break
    return tuple(chosen), frozenset(left)


@functools.cache
def _characters_of(name: str) -> frozenset[int]:
    """The characters a font has glyphs for; none if it cannot be read, or has only boxes (Last Resort)."""
    if name.startswith("Last Resort"):
        return frozenset()
    path = next((font.fname for font in font_manager.fontManager.ttflist if font.name == name), "")
    try:
        return frozenset(font_manager.get_font(path).get_charmap())
    except (OSError, RuntimeError, ValueError):
        return frozenset()


@functools.cache
def _font_characters() -> frozenset[int]:
    return frozenset(font_manager.get_font(font_manager.findfont(FONT)).get_charmap())
