"""One look for every figure: fonts, sizes, colours, and files that are the same bytes for the same data."""

from __future__ import annotations

import functools
import inspect
import re
import textwrap
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from io import BytesIO
from pathlib import Path
from typing import Any, cast

import matplotlib.style
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import FixedFormatter

from headatlas.errors import SettingError
from headatlas.files import make_folder, write_atomically, xml_text
from headatlas.progress import moved
from headatlas.results.folder import Results
from headatlas.views.figures.fonts import FONT, FONT_POINTS, fall_back, warn_about_glyphs

# Okabe and Ito (2008): distinct for every common kind of colour vision.
BLUE, VERMILLION, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
ORANGE, SKY, BLACK = "#E69F00", "#56B4E9", "#000000"
INK, FAINT = "#222222", "#8A8A8A"
RED = "#DC3220"  # for what is called red; apart from INK for every common kind of colour vision
COLOURS = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, BLACK)
LOOKS = tuple(zip(COLOURS * 8, "os^DvPX*" * 7, strict=True))
"""Colours with markers, in the order in which series take them."""

TOKEN = "token"  # the id of texts that a model read
FORMATS = ("svg", "png", "pdf")
PNG_DPI = 200
_SCREEN_DPI = 120
_LONGEST_TITLE, _TITLE_LINES = 90, 1.7

HOUSE = "headatlas"
Style = str | Path | Mapping[str, Any] | None
"""Ours where the user has set nothing; one of matplotlib's; settings; or None: nothing but what the user has set."""

_LOOKS: dict[str, Any] = {
    "font.family": FONT,
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.minor.width": 0.4,
    "legend.frameon": False,
}
_SIZES = {  # in parts of font.size, so that everything grows with it
    "axes.titlesize": 1.0,
    "xtick.labelsize": 0.875,
    "ytick.labelsize": 0.875,
    "legend.fontsize": 0.9375,
    "figure.titlesize": 1.0,
}
_NEEDED: dict[str, Any] = {
    "text.parse_math": False,  # words of texts are neither mathematics
    "text.usetex": False,  # nor TeX
    "svg.fonttype": "none",
    "svg.hashsalt": "headatlas",
    "pdf.fonttype": 42,
}
_FONTS = ("font.family", "font.sans-serif", "font.serif", "font.monospace", "font.cursive", "font.fantasy")

_NO_DATE: dict[str, dict[str, None]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}
_SHOWN_AS = {"\n": "⏎", "\r": "↵", "\t": "⇥"}
_BIDI_CONTROLS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


@contextmanager
def applied(style: Style = HOUSE) -> Iterator[None]:
    """Draw in a style. Ours changes only what the user has not set, in matplotlibrc or in rcParams."""
    with matplotlib.rc_context():
        settings: Any = matplotlib.rcParams
        if style == HOUSE:
            settings.update(_house_settings())
        elif style is not None:
            try:
                matplotlib.style.use(style if isinstance(style, str | Path) else dict(style))
            except OSError as error:
                known = ", ".join([HOUSE, *matplotlib.style.available])
                raise SettingError(f"There is no style {style}. Choose from: {known}.") from error
        settings.update(_NEEDED)
        yield


def _house_settings() -> dict[str, Any]:
    """Our settings, without those that the user has changed."""
    now: Any = matplotlib.rcParams
    default: Any = matplotlib.rcParamsDefault
    points = now["font.size"] if now["font.size"] != default["font.size"] else FONT_POINTS
    ours = _LOOKS | {"font.size": points} | {name: share * points for name, share in _SIZES.items()}
    changed = {name for name in ours if now[name] != default[name]}
    changed |= {"font.family"} if any(now[name] != default[name] for name in _FONTS) else set()
    return {name: value for name, value in ours.items() if name not in changed}


def points() -> float:
    """The size of type, while a figure is drawn."""
    return float(matplotlib.rcParams["font.size"])


def ink() -> str:
    """The colour of type, while a figure is drawn: light on dark styles."""
    return str(matplotlib.rcParams["text.color"])


def styled(draw: Callable[..., Figure]) -> Callable[..., Figure]:
    """Make a drawing function one for people: it takes results, or tables, and what its figure should look like.

    The parameters of the drawing function are tables by name, or facts that `headatlas.views.figures.facts` finds.
    If it has a parameter `ax`, it can draw into a panel of another figure.
    """
    signature = inspect.signature(draw)

    @functools.wraps(draw)
    def drawn(*data: Any, **options: Any) -> Figure:
        looks = Looks(**{name: options.pop(name) for name in [*options] if name in _LOOK_NAMES})
        if looks.ax is not None and "ax" not in signature.parameters:
            raise SettingError(f"{draw.__name__} draws several panels, so it takes no ax. Omit ax.")
        title = ""
        if len(data) == 1 and isinstance(data[0], Results | str | Path):
            from headatlas.views.figures.facts import facts_for, open_data, title_of  # which need this module

            results = open_data(data[0])
            title = title_of(results, signature.parameters)
            data, options = (), facts_for(results, signature.parameters, draw.__name__) | options
        into = {} if looks.ax is None else {"ax": looks.ax}
        return looks.draw(functools.partial(draw, *data, **options, **into), title)

    drawn.__doc__ = f"{inspect.getdoc(draw)}\n\n{_explain(signature)}"
    looks = [field for field in fields(Looks) if field.name != "ax" or "ax" in signature.parameters]
    keywords = [inspect.Parameter(look.name, inspect.Parameter.KEYWORD_ONLY, default=look.default) for look in looks]
    given = inspect.Parameter("results", inspect.Parameter.POSITIONAL_ONLY)
    vars(drawn)["__signature__"] = inspect.Signature([given, *keywords], return_annotation="Figure")
    return drawn


@dataclass(frozen=True)
class Looks:
    """What a figure should look like; see `_EXPLAINED`."""

    ax: Axes | None = None
    title: str | None = None
    size: tuple[float, float] | None = None
    style: Style = HOUSE
    words: Mapping[str, str] | None = None

    def draw(self, draw: Callable[[], Figure], title: str = "") -> Figure:
        """Draw a figure, give it a title, and fonts for all of its texts. title: the one that it has by default."""
        if self.ax is not None and self.size is not None:
            raise SettingError("The size is that of your own figure. Omit size, or omit ax.")
        with applied(self.style), quiet_about_glyphs():
            before: set[Artist] = set()
            if self.ax is not None:
                around = {*figure_of(self.ax).findobj(Text), *figure_of(self.ax).axes}
                before = around - {self.ax, *self.ax.findobj(Text)}  # whose labels exist before they are written
            figure = draw()
            if self.ax is not None and self.title:
                self.ax.set_title(self.title, loc="left", pad=_height_above(self.ax))
            elif self.ax is None and (self.title or (title and self.title is None and not figure.get_suptitle())):
                _set_title(figure, drawable(self.title or title, _LONGEST_TITLE))
            if self.size is not None:
                figure.set_size_inches(self.size)
            texts = [text for text in figure.findobj(Text) if text not in before and text.get_text()]
            axes = [axes for axes in figure.axes if axes not in before]
            if self.words:
                glossary = self.words if isinstance(self.words, Glossary) else Glossary(self.words)
                glossary.translate(texts, axes)
                if glossary is not self.words and not glossary.met:
                    glossary.refuse_unmet()
            fall_back(texts, axes)
        return figure


def _set_title(figure: Figure, title: str) -> None:
    """Write a title over a figure, which grows by it; over its legend, if one stands above all panels."""
    width, height = figure.get_size_inches()
    figure.set_size_inches(width, height + _TITLE_LINES * points() / 72)
    if figure.legends:
        figure.legends[0].set_title(title)
        figure.legends[0].set_alignment("left")
    else:
        figure.suptitle(title, x=0.01, ha="left")


def _height_above(axes: Axes) -> float:
    """How much room a title leaves to the panel below it, in points: a legend may stand there."""
    figure_of(axes).draw_without_rendering()
    legend, top = axes.get_legend(), axes.get_window_extent().y1
    above = legend.get_window_extent().y1 - top if legend is not None and legend.get_window_extent().y0 >= top else 0
    return float(matplotlib.rcParams["axes.titlepad"] + 72 * above / figure_of(axes).dpi)


_EXPLAINED = {
    "ax": "Draw into this panel of a figure of your own, which is returned.",
    "title": "The title. Default: the model and its corpus, if results are given. Pass an empty text for none.",
    "size": "Width and height in inches.",
    "style": 'The style: "headatlas" changes only what you have not set in rcParams; one of matplotlib\'s, or settings '
    "of your own; None for nothing but what you have set.",
    "words": "Words to write instead of others, for labels in another language. At least one must occur.",
}
_LOOK_NAMES = frozenset(_EXPLAINED)


def _explain(signature: inspect.Signature) -> str:
    """The Args section of a figure: its tables, then the looks that all figures share."""
    tables = [name for name in signature.parameters if name != "ax"]
    given = f"results: Results, such as an atlas, or their folder. Or what is drawn: {', '.join(tables)}."
    looks = [f"{name}: {text}" for name, text in _EXPLAINED.items() if name != "ax" or "ax" in signature.parameters]
    wrap = functools.partial(textwrap.fill, width=100, initial_indent=" " * 4, subsequent_indent=" " * 8)
    return "\n".join(["Args:", *map(wrap, [given, *looks]), "", "Returns:", "    The figure."])


class Glossary(dict[str, str]):
    """Words to write instead of others in labels; `met` are those that have been replaced in any figure so far."""

    def __init__(self, words: Mapping[str, str]) -> None:
        super().__init__(words)
        self.met: set[str] = set()

    def translate(self, texts: Iterable[Text], all_axes: Iterable[Axes]) -> None:
        """Replace words in labels, the longest first. Tokens stay as the model reads them."""
        phrases = "|".join(map(re.escape, sorted(self, key=len, reverse=True)))
        pattern = re.compile(rf"(?<!\w)(?:{phrases})(?!\w)")

        def replaced(text: str) -> str:
            self.met.update(pattern.findall(text))
            return pattern.sub(lambda found: self[found[0]], text)

        for text in texts:
            if text.get_gid() != TOKEN:
                text.set_text(replaced(text.get_text()))
        for axis in (axis for axes in all_axes for axis in (axes.xaxis, axes.yaxis)):
            formatter = axis.get_major_formatter()
            if isinstance(formatter, FixedFormatter):
                formatter.seq = list(map(replaced, formatter.seq))

    def refuse_unmet(self) -> None:
        """Raise SettingError if there is a word that has occurred in no label."""
        for word in self.keys() - self.met:
            raise SettingError(f"No label has {word!r}. headatlas.figures.label_words(figure) lists those of a figure.")


def label_words(figure: Figure) -> list[str]:
    """The texts of a figure that `words` may replace, each once, in the order in which they are drawn."""
    figure.draw_without_rendering()
    texts = [text.get_text() for text in figure.findobj(Text) if text.get_gid() != TOKEN and text.get_visible()]
    return [text for text in dict.fromkeys(texts) if re.search(r"[^\W\d]", text)]


def single_panel(width: float, height: float, ax: Axes | None = None) -> tuple[Figure, Axes]:
    """Make a figure with one plot, or take a panel of another; sizes are in inches."""
    figure, (axes,) = stacked_panels(1, width, height, ax)
    return figure, axes


def stacked_panels(count: int, width: float, height: float, ax: Axes | None = None) -> tuple[Figure, list[Axes]]:
    """Make a figure with plots under one another that share the x axis, or take a panel of another if one is enough."""
    if ax is None:
        figure = Picture(figsize=(width, height), layout="constrained")
        return figure, list(figure.subplots(count, 1, sharex=True, squeeze=False)[:, 0])
    if count > 1:
        raise SettingError(f"This figure has {count} panels with these data, and one ax is given. Omit ax.")
    return figure_of(ax), [ax]


def figure_of(axes: Axes) -> Figure:
    """The figure of a panel, also of one in a figure within a figure."""
    return cast(Figure, axes.figure).figure


class Picture(Figure):
    """A figure that a notebook shows, also if pyplot has not been imported there."""

    def _repr_png_(self) -> bytes:
        content = BytesIO()
        with applied(None), quiet_about_glyphs():
            self.savefig(content, format="png", dpi=_SCREEN_DPI)
        return content.getvalue()


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
        warn_about_glyphs(text.get_text() for text in figure.findobj(Text))
    for name in formats:
        path = stem.with_name(f"{stem.name}.{name}")
        with applied(None), quiet_about_glyphs():
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
def quiet_about_glyphs() -> Iterator[None]:
    """Silence matplotlib's warning for each missing glyph: `warn_about_glyphs` names all of them at once."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from")
        warnings.filterwarnings("ignore", message=r"Matplotlib currently does not support")
        warnings.filterwarnings("ignore", message=r"constrained_layout not applied")  # a legend of very many labels
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
