"""One look for every figure: fonts, sizes, colours, and files that are the same bytes for the same data."""

from __future__ import annotations

import functools
import logging
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import matplotlib.style
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ft2font import FT2Font
from matplotlib.text import Text

from headatlas.errors import SettingError, printable
from headatlas.files import make_folder, write_atomically, xml_text
from headatlas.progress import moved

P = ParamSpec("P")
R = TypeVar("R")

# Okabe and Ito (2008): distinct for every common kind of colour vision.
BLUE, VERMILLION, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
ORANGE, SKY, BLACK = "#E69F00", "#56B4E9", "#000000"
INK, FAINT = "#222222", "#8A8A8A"
COLOURS = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, BLACK)
LOOKS = tuple(zip(COLOURS * 8, "os^DvPX*" * 7, strict=True))
"""Colours with markers, in the order in which series take them."""

FONT = "DejaVu Sans"
FONT_POINTS = 8.0
FORMATS = ("svg", "png", "pdf")
PNG_DPI = 200

_RC: dict[str, Any] = {
    "font.family": FONT,
    "font.size": FONT_POINTS,
    "text.color": INK,
    "text.parse_math": False,
    "axes.titlesize": FONT_POINTS,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.labelsize": FONT_POINTS - 1,
    "ytick.labelsize": FONT_POINTS - 1,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.minor.width": 0.4,
    "legend.fontsize": FONT_POINTS - 0.5,
    "legend.frameon": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "headatlas",
    "pdf.fonttype": 42,
}

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

_NO_DATE: dict[str, dict[str, None]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}
_SHOWN_AS = {"\n": "⏎", "\r": "↵", "\t": "⇥"}
_BIDI_CONTROLS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


@contextmanager
def house_style() -> Iterator[None]:
    """Our settings on top of matplotlib's defaults, whatever the user's matplotlibrc says."""
    with matplotlib.style.context(["default", _RC]):
        yield


def styled(draw: Callable[P, R]) -> Callable[P, R]:
    """Run a drawing function in the house style."""

    @functools.wraps(draw)
    def draw_in_style(*args: P.args, **kwargs: P.kwargs) -> R:
        with house_style():
            return draw(*args, **kwargs)

    return draw_in_style


def single_panel(width: float, height: float) -> tuple[Figure, Axes]:
    """Make a figure with one plot; sizes are in inches."""
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots()


def say(axes: Axes, text: str = "no values") -> None:
    """Write in the middle of a plot why it is empty."""
    axes.text(0.5, 0.5, text, ha="center", va="center", transform=axes.transAxes, color=FAINT)


def save_figure(figure: Figure, stem: Path, formats: Sequence[str] = FORMATS) -> list[Path]:
    """Write `stem` + `.svg`, `.png`, `.pdf`: SVG keeps text as text, PDF embeds TrueType, neither holds a date."""
    if unknown := [name for name in formats if name not in FORMATS]:
        raise SettingError(f"Unknown figure format {unknown[0]!r}. Choose from {', '.join(FORMATS)}.")
    make_folder(stem.parent)
    paths = []
    if set(formats) - {"svg"}:  # an SVG keeps its characters, for the viewer's fonts
        _warn_about_glyphs(text.get_text() for text in figure.findobj(Text))
    for name in formats:
        path = stem.with_name(f"{stem.name}.{name}")
        with house_style(), _quiet_about_glyphs():
            write_atomically(path, functools.partial(_save, figure, name))
        moved()
        paths.append(path)
    return paths


def picture_file(path: Path) -> tuple[Path, str]:
    """The stem and format of a figure to write, as `save_figure` takes them; SettingError if it cannot be written."""
    form = path.suffix.lower().removeprefix(".")
    if form not in FORMATS:
        raise SettingError(f"{path}: unknown figure format. End the name in .{', .'.join(FORMATS)}.")
    if not path.parent.is_dir():
        raise SettingError(f"{path}: the folder {path.parent} does not exist. Create it, or choose another.")
    return path.with_suffix(""), form


def _save(figure: Figure, name: str, path: Path) -> None:
    figure.savefig(path, format=name, dpi=PNG_DPI, metadata=_NO_DATE[name])
    if name == "svg":
        path.write_text(xml_text(path.read_text(encoding="utf-8")), encoding="utf-8")


@contextmanager
def _quiet_about_glyphs() -> Iterator[None]:
    """Silence matplotlib's warning for each missing glyph: `_warn_about_glyphs` names all of them at once."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from")
        warnings.filterwarnings("ignore", message=r"Matplotlib currently does not support")
        yield


def drawable(token: str, longest: int) -> str:
    """A token as a figure can show it: one line, nothing that XML forbids or that reverses the text, cut if too long.

    >>> drawable("\\n", 20), drawable(" ", 20), drawable("Donaudampfschifffahrt", 10)
    ('⏎', '␣', 'Donaudamp…')
    """
    text = "".join(map(_visible, token))
    if not text.strip():
        return "␣" * max(1, min(len(text), longest))
    text = text.strip()
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _visible(character: str) -> str:
    if character in _SHOWN_AS:
        return _SHOWN_AS[character]
    category = unicodedata.category(character)
    if category == "Cc":
        return f"\\x{ord(character):02x}"
    if category in ("Cs", "Zl", "Zp") or character in _BIDI_CONTROLS or ord(character) & 0xFFFE == 0xFFFE:
        return "\N{REPLACEMENT CHARACTER}"
    return character


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


def families_for(texts: Iterable[str]) -> list[str]:
    """DejaVu, followed by installed fonts that have the characters it lacks."""
    return [FONT, *_fallbacks(_beyond_font(texts))[0]]


def _beyond_font(texts: Iterable[str]) -> frozenset[str]:
    """Characters that need another font than DejaVu."""
    known = _font_characters()
    return frozenset(character for text in texts for character in text if ord(character) not in known) - {"\n"}


def _warn_about_glyphs(texts: Iterable[str]) -> None:
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
