"""One point per head over the layers, with the layer means as a line (figures 2, 3 and 4)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator

from headatlas.studies.labels import MOSTLY
from headatlas.studies.positions import NEXT, PREVIOUS
from headatlas.studies.token_kinds import FIRST, KIND_NAMES
from headatlas.tables import EXPECTED
from headatlas.views.figures.style import BLUE, FAINT, GREEN, PURPLE, VERMILLION, drawable, say, stacked_panels, styled

_KIND_LOOKS = {
    "cls": (BLUE, "o"),
    "sep": (VERMILLION, "s"),
    "first": (VERMILLION, "o"),
    "period_comma": (GREEN, "^"),
    "other": (PURPLE, "D"),
    "sep_to_sep": (PURPLE, "D"),
    "other_to_sep": (BLUE, "v"),
}
DASHED = (0, (4, 3))
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_LONGEST_LABEL = 36
_LEGEND_LETTERS = 38  # what fits beside three markers in the narrowest figure
_HALF_SPREAD = 0.32
_PANEL_INCHES = 1.75


@dataclass(frozen=True)
class Series:
    """What one colour and marker stand for: a label and the rows of one kind, with columns layer, head, value."""

    label: str
    points: pd.DataFrame
    colour: str
    marker: str


@styled
def token_kinds_figure(
    token_kinds: pd.DataFrame, labels: Mapping[str, str] | None = None, ax: Axes | None = None
) -> Figure:
    """Figure 2: attention to the separators and punctuation above; below, where the attention to `[SEP]` comes from.

    A dashed line of its colour is at what uniform attention would give each kind.

    `labels` names the model's tokens, such as `{"cls": "<s>", "sep": "</s>"}`. A kind the model lacks is left out.
    """
    names = {**KIND_NAMES, **(labels or {})}
    names |= {"sep_to_sep": f"{names['sep']} → {names['sep']}", "other_to_sep": f"other → {names['sep']}"}
    names["first"] = FIRST.target
    panels = [
        _series(token_kinds, "kind", {kind: (names[kind], *_KIND_LOOKS[kind]) for kind in kinds})
        for kinds in (("cls", "sep", "first", "period_comma"), ("sep_to_sep", "other_to_sep"))
    ]
    figure, drawn = _panels(panels, token_kinds, ax)
    for axes, series in drawn:
        _draw(axes, series, "mean attention", most=1.0)
        for group in series if EXPECTED in token_kinds else ():
            axes.axhline(group.points[EXPECTED].mean(), color=group.colour, linewidth=0.7, linestyle=DASHED, zorder=1)
    drawn[-1][0].set_xlabel("layer (dashed lines: uniform attention)")
    return figure


@styled
def positions_figure(positions: pd.DataFrame, ax: Axes | None = None) -> Figure:
    """Figure 2 of section 3.1: attention to the previous, current and next token, with a line at one half."""
    looks = {
        PREVIOUS.key: (PREVIOUS.label, BLUE, "^"),
        0: ("current token", GREEN, "o"),
        NEXT.key: (NEXT.label, VERMILLION, "s"),
    }
    series = _series(positions, "offset", looks)
    figure, ((axes, _),) = _panels([series], positions, ax)
    axes.axhline(MOSTLY, color=FAINT, linewidth=0.7, linestyle=DASHED, zorder=0)
    _draw(axes, series, "mean attention", most=1.0, least_top=0.55)
    return figure


@styled
def gradients_figure(
    gradients: pd.DataFrame, labels: Mapping[str, str] | None = None, ax: Axes | None = None
) -> Figure:
    """Figure 3: how much the loss would change with the attention to each kind of token."""
    names = {**KIND_NAMES, **(labels or {})}
    looks = {kind: (names[kind], *_KIND_LOOKS[kind]) for kind in KIND_NAMES}
    series = _series(gradients, "kind", looks)
    figure, ((axes, _),) = _panels([series], gradients, ax)
    _draw(axes, series, "mean |∂L/∂a|")
    return figure


@styled
def entropy_figure(entropy: pd.DataFrame, labels: Mapping[str, str] | None = None, ax: Axes | None = None) -> Figure:
    """Figure 4: how broadly each head attends, from all tokens and from `[CLS]`, beside uniform attention."""
    names = {**KIND_NAMES, **(labels or {})}
    looks = {"all": ("from all tokens", BLUE, "o"), "cls": (f"from {names['cls']}", VERMILLION, "s")}
    panels = [_series(entropy, "source", {source: looks[source]}) for source in ("all", "cls")]
    figure, drawn = _panels(panels, entropy, ax)
    for axes, series in drawn:
        uniform = max((float(group.points[EXPECTED].mean()) for group in series), default=math.nan)
        _draw(axes, series, "entropy (nats)", least_top=0.0 if math.isnan(uniform) else 1.12 * uniform)
        if not math.isnan(uniform):
            axes.axhline(uniform, color=FAINT, linewidth=0.7, linestyle=DASHED, zorder=0)
            axes.annotate(
                f"uniform attention: {uniform:.2f}",
                (1, uniform),
                xycoords=("axes fraction", "data"),
                xytext=(0, 2),
                textcoords="offset points",
                ha="right",
                va="bottom",
                fontsize="small",
            )
    return figure


def _series(frame: pd.DataFrame, column: str, looks: Mapping[Any, tuple[str, str, str]]) -> list[Series]:
    """The series that have any value but 0, such as the next token of causal models, in the order of `looks`."""
    valued = frame[frame["value"].notna()]
    candidates = [
        Series(drawable(label, _LONGEST_LABEL), valued[valued[column] == key], colour, marker)
        for key, (label, colour, marker) in looks.items()
    ]
    return [group for group in candidates if group.points["value"].any()]


def _panels(
    panels: Sequence[list[Series]], frame: pd.DataFrame, ax: Axes | None
) -> tuple[Figure, list[tuple[Axes, list[Series]]]]:
    """A figure as wide as its layers need, with panels under one another that share the layer axis.

    A panel without series is left out, but for one if none has any.
    """
    shown = [panel for panel in panels if panel] or [[]]
    layers = np.arange(1, int(frame["layer"].max()) + 1) if len(frame) else np.arange(1, 2)
    width = min(9.5, max(4.2, 1.4 + 0.25 * len(layers)))
    height = _PANEL_INCHES + 0.1 * (width - 4.2)
    figure, all_axes = stacked_panels(len(shown), width, 0.55 + (height + 0.2) * len(shown), ax)
    if ax is None:
        figure.get_layout_engine().set(h_pad=0.05, hspace=0.06)  # type: ignore[union-attr, call-arg]
    ticks = _thinned(layers)
    for axes in all_axes:
        axes.set_xlim(layers[0] - 0.6, layers[-1] + 0.6)
        axes.set_xticks(ticks)
        axes.set_xticks(layers if len(layers) <= 100 else [], minor=True)
    all_axes[-1].set_xlabel("layer")
    return figure, list(zip(all_axes, shown, strict=True))


def _thinned(layers: np.ndarray[tuple[int], np.dtype[np.int64]]) -> list[int]:
    """Layers to label: all up to 16, else multiples of a step."""
    step = next(step for step in (1, 2, 4, 5, 10, 20, 50, 100, len(layers)) if len(layers) / step <= 16)
    return [int(layer) for layer in layers if layer % step == 0 or (layer == 1 and step > 2)]


def _draw(axes: Axes, series: Sequence[Series], label: str, *, most: float = math.inf, least_top: float = 0.0) -> None:
    """All series of one panel; the legend is above it, clear of the points."""
    largest = max((float(group.points["value"].max()) for group in series), default=0.0)
    top = max(min(1.06 * largest, 1.02 * most), least_top) or 1.0
    axes.set_ylim(0, top)
    axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
    axes.set_ylabel(label + _powers_of_ten(axes, top))
    if not series:
        say(axes)
        return
    axes.legend(
        handles=[_draw_group(axes, group, depth) for depth, group in enumerate(series)],
        loc="lower left",
        bbox_to_anchor=(0, 1),
        ncols=len(series) if sum(len(group.label) for group in series) <= _LEGEND_LETTERS else 1,
        borderaxespad=0.3,
        columnspacing=1.2,
        handlelength=1.7,
    )


def _powers_of_ten(axes: Axes, top: float) -> str:
    """Label very small values in units of a power of ten, and say which (gradients are about 1e-4)."""
    exponent = math.floor(math.log10(top))
    if exponent >= -2:
        return ""
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value * 10.0**-exponent:g}"))
    return f" (\N{MULTIPLICATION SIGN} 10{str(exponent).translate(_SUPERSCRIPTS)})"


_MEAN_LOOK: dict[str, Any] = {"linewidth": 1.2, "markersize": 4.2, "markeredgecolor": "white", "markeredgewidth": 0.5}


def _draw_group(axes: Axes, series: Series, depth: int) -> Line2D:
    """One point per head, side by side within a layer in their order, and the layer means as the line returned."""
    points = series.points
    both: dict[str, Any] = {"marker": series.marker, "label": series.label, "clip_on": False}
    dots: dict[str, Any] = {"s": _point_area(points), "c": series.colour, "alpha": 0.55, "linewidths": 0}
    axes.scatter(_spread(points), points["value"], zorder=2 + 0.1 * depth, **dots, **both)
    means = points.groupby("layer")["value"].mean().sort_index()
    (line,) = axes.plot(means.index, means, color=series.colour, zorder=3 + 0.1 * depth, **_MEAN_LOOK, **both)
    return line


def _point_area(points: pd.DataFrame) -> float:
    """Points squared; smaller where many heads share a figure."""
    return float(np.clip(1500 / max(1, len(points)), 4.5, 9.0))


def _spread(points: pd.DataFrame) -> pd.Series[float]:
    """Each head's place on the layer axis: its layer, moved by its rank among the layer's heads."""
    heads = points.groupby("layer")["head"]
    rank, count = heads.rank(method="dense") - 1, heads.transform("nunique")
    shift = np.where(count > 1, (2 * rank / (count - 1).clip(lower=1) - 1) * _HALF_SPREAD, 0.0)
    return points["layer"] + shift
