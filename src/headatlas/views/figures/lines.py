"""Attention as lines between two columns of the same words: heads at work (figure 1) and on relations (figure 5).

Tokens are not shown as they are spelt, because byte-level tokenizers write `ĠIn` for ` In`: figure 1 shows words.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from numpy.typing import NDArray

from headatlas.encoding.template import SPECIAL
from headatlas.errors import SettingError
from headatlas.results.example import Example, RelationExample
from headatlas.studies.clear_mentions import DIRECTION as MENTION_TO_ANTECEDENT
from headatlas.studies.coreference_findings import AMONG
from headatlas.studies.coreference_findings import labels as coreference_labels
from headatlas.studies.dependency_findings import above
from headatlas.views.figures.fonts import width_in_ems
from headatlas.views.figures.style import RED, TOKEN, Picture, drawable, ink, points, styled
from headatlas.views.words.patterns import characteristic_heads

Weights = NDArray[np.floating[Any]]

LIGHTEST = 0.01
MOST_RELATIONS = 8
VISIBLE = 0.15  # of the attention on each true pair
LONGEST_TOKEN = 16
MAPS_A_ROW = 4

_PITCHES = 1.35  # from one token to the next, in sizes of type
_LINES_INCHES = 0.95
_NARROWEST_INCHES = 2.1
_BOLDER = 1.12
_BESIDE_RED_LINES = "#606060"
_TALLEST_INCHES = 200.0
_WHO = {
    "dependent_to_head": "{relation} dependents attend to their heads",
    "head_to_dependent": "heads attend to their {relation} dependents",
    "mention_to_antecedent": "mentions attend to their antecedents",
}


@dataclass(frozen=True)
class Panel:
    """One head at work: a map [n, n] (row = from) over its n tokens, under a caption.

    `red` tokens are red in both columns, with the lines that leave them; of `red_lines`, pairs (from, to), the line and
    its two ends are. Tokens in `hidden` are left out with every line from or to them.
    """

    caption: str
    tokens: Sequence[str]
    weights: Weights
    red: Collection[int] = frozenset()
    red_lines: Collection[tuple[int, int]] = frozenset()
    hidden: Collection[int] = frozenset()

    def __post_init__(self) -> None:
        size, shape = len(self.tokens), np.shape(self.weights)
        if shape != (size, size):
            raise SettingError(f"{size} tokens need a map [{size}, {size}], not {list(shape)}.")

    @property
    def shown(self) -> list[int]:
        """The tokens that are not hidden."""
        return [index for index in range(len(self.tokens)) if index not in self.hidden]

    @property
    def texts(self) -> list[str]:
        """The tokens that are not hidden, as they can be drawn."""
        return [drawable(self.tokens[index], LONGEST_TOKEN) for index in self.shown]


def attention_lines(axes: Axes, panel: Panel, font_points: float | None = None) -> LineCollection:
    """Draw lines from the left column (attending) to the right (attended), the darker the more attention.

    Hidden tokens leave no gap. Lines under 1 % are not drawn.
    """
    weights, shown, texts = np.asarray(panel.weights), panel.shown, panel.texts
    is_red = np.zeros(weights.shape, dtype=bool)
    is_red[list(panel.red)] = True
    for start, end in panel.red_lines:
        is_red[start, end] = True
    visible = np.ix_(shown, shown)
    lines = _lines(weights[visible], is_red[visible], _BESIDE_RED_LINES if panel.red_lines else ink())
    axes.add_collection(lines, autolim=False)
    axes.set_xlim(-0.04, 1.04)
    axes.set_ylim(max(1, len(shown)) - 0.5, -0.5)
    axes.set_axis_off()
    sides = (
        (-0.05, "right", {*panel.red, *(start for start, _ in panel.red_lines)}),
        (1.05, "left", {*panel.red, *(end for _, end in panel.red_lines)}),
    )
    for row, (index, text) in enumerate(zip(shown, texts, strict=True)):
        for x, side, chosen in sides:
            axes.text(
                x,
                row,
                text,
                ha=side,
                va="center_baseline",
                fontsize=font_points,
                gid=TOKEN,
                color=RED if index in chosen else ink(),
                weight="bold" if index in chosen else "normal",
                parse_math=False,
            )
    return lines


def _lines(weights: Weights, is_red: NDArray[np.bool_], usual: str) -> LineCollection:
    """A line for each weight of at least 1 %, the darker the larger; red and dark ones lie on top."""
    start, end = np.nonzero(weights >= LIGHTEST)
    order = np.lexsort((weights[start, end], is_red[start, end]))
    start, end = start[order], end[order]
    segments = np.stack([np.stack([np.zeros_like(start), start], 1), np.stack([np.ones_like(end), end], 1)], 1)
    colours = np.empty((len(start), 4))
    colours[:, :3] = np.where(is_red[start, end][:, None], to_rgb(RED), to_rgb(usual))
    colours[:, 3] = weights[start, end].clip(0, 1)
    return LineCollection(list(segments.astype(float)), colors=colours, linewidths=1.1, capstyle="round")


@styled
def attention_lines_figure(
    tokens: Sequence[str],
    maps: Sequence[tuple[str, Weights]],
    *,
    red: Collection[int] = frozenset(),
    hidden: Collection[int] = frozenset(),
) -> Figure:
    """Several heads side by side over the same tokens, each under its caption (figure 1)."""
    return _panels_figure([Panel(caption, tokens, weights, red, hidden=hidden) for caption, weights in maps])


@styled
def panels_figure(panels: Sequence[Panel]) -> Figure:
    """Heads side by side, each over its own tokens, in even rows of at most four, each as high as it needs."""
    return _panels_figure(panels)


def _panels_figure(panels: Sequence[Panel]) -> Figure:
    """Heads side by side, each over its own tokens, in even rows of at most four, each as high as it needs."""
    if not panels:
        raise SettingError("A figure of attention lines needs at least one head.")
    rows = math.ceil(len(panels) / MAPS_A_ROW)
    columns = math.ceil(len(panels) / rows)
    in_rows = [panels[first : first + columns] for first in range(0, len(panels), columns)]
    lengths = [max(1, *(len(panel.shown) for panel in row)) for row in in_rows]
    letter = points()
    pitch = min(_PITCHES * letter / 72, _TALLEST_INCHES / sum(lengths))
    shown = 72 * pitch / _PITCHES  # points of the tokens
    bolder = _BOLDER if any(panel.red or panel.red_lines for panel in panels) else 1
    widest = max([2.0, *(width_in_ems(text) for panel in panels for text in panel.texts)])
    panel_inches = max(_NARROWEST_INCHES, _LINES_INCHES + 2 * widest * shown / 72 * bolder + 0.3)
    captions = [[_wrapped(panel.caption, panel_inches) for panel in row] for row in in_rows]
    heights = [
        length * pitch + (1 + max(caption.count("\n") for caption in row)) * letter * 1.3 / 72 + 0.25
        for length, row in zip(lengths, captions, strict=True)
    ]
    figure = Picture(figsize=(columns * panel_inches, sum(heights)), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.08, h_pad=0.05)  # type: ignore[union-attr, call-arg]
    grid = figure.add_gridspec(rows, columns, height_ratios=lengths)
    for r, row in enumerate(in_rows):
        for c, panel in enumerate(row):
            axes = figure.add_subplot(grid[r, c])
            attention_lines(axes, panel, shown)
            axes.set_ylim(lengths[r] - 0.5, -0.5)
            axes.set_title(captions[r][c], parse_math=False, pad=5)
    return figure


def _wrapped(caption: str, inches: float) -> str:
    """A caption in lines that fit over its panel."""
    unbroken = drawable(caption, 400).replace(" %", "\N{NO-BREAK SPACE}%")
    return textwrap.fill(unbroken, width=max(12, int(inches / (0.62 * points() / 72)) - 2))


def clearest(examples: Sequence[RelationExample], tables: Mapping[str, pd.DataFrame]) -> list[RelationExample]:
    """One example per relation, those first whose best head leads its baseline most, and the clearest of coreference.

    The lead is that of the choice on other documents. Heads that may not be named (`dependency_findings.above`), and
    relations whose lines would hardly be visible, are skipped.
    """
    visible = {example.relation: example for example in reversed(examples) if _faintest(example) >= VISIBLE}
    mentions = [example for example in visible.values() if example.direction == MENTION_TO_ANTECEDENT]
    if "coreference_best" not in tables or not list(coreference_labels(tables)):
        mentions = []
    mentions = [replace(example, remark=_by_candidates(example, tables["coreference"])) for example in mentions]
    ranked: list[str] = []
    if "dependency_best" in tables:
        named = above(tables["dependency_best"])
        lead = (named["held_out"] - named["baseline_held_out"]).sort_values(ascending=False, kind="stable")
        ranked = named.loc[lead.index, "relation"].tolist()
    relations = [visible[relation] for relation in ranked if relation in visible]
    return relations[: MOST_RELATIONS - len(mentions)] + mentions


def _by_candidates(example: RelationExample, heads: pd.DataFrame) -> str:
    """How often the example's head finds an antecedent, among each kind of candidates."""
    same = heads[(heads["layer"] == example.layer) & (heads["head"] == example.head)]
    scores = same[same["mention_type"] == "all"].set_index("candidates")["accuracy"]
    return ", ".join(f"{100 * scores[name]:.1f} % among {words}" for name, words in AMONG.items() if name in scores)


def _faintest(example: RelationExample) -> float:
    """The smallest weight on one of its pairs."""
    turned = example.direction == "head_to_dependent"
    return min(float(example.weights[(head, word) if turned else (word, head)]) for word, head in example.pairs)


@styled
def relations_figure(clear_examples: Sequence[RelationExample]) -> Figure:
    """Figure 5: heads on sentences in which they find a relation, side by side, in even rows of at most four."""
    return _panels_figure([relation_panel(example) for example in clear_examples])


@styled
def heads_figure(
    example: Example | None, tables: Mapping[str, pd.DataFrame], labels: Mapping[str, str] | None = None
) -> Figure:
    """Figure 1: the characteristic heads on the words of one input."""
    chosen = characteristic_heads(tables, labels)
    if example is None or not chosen:
        raise SettingError("There is nothing to draw in figure 1: no example, or no head that does something clear.")
    units, texts = units_of(example.tokens, example.word_of, example.words)
    maps = np.stack([example.maps[head.layer - 1, head.head - 1] for head in chosen])
    weights = between_units(maps, units, len(texts))
    return _panels_figure([Panel(head.caption, texts, of) for head, of in zip(chosen, weights, strict=True)])


def relation_panel(example: RelationExample) -> Panel:
    """The lines to draw for an example, under a caption that says who attends to whom."""
    if example.direction not in _WHO:
        raise SettingError(f"Direction {example.direction!r} is unknown. Use one of: {', '.join(_WHO)}.")
    score = example.remark or ("" if example.accuracy is None else f"{100 * example.accuracy:.1f} %")
    share = score and f" ({score})"
    caption = f"Head {example.layer}-{example.head}: {_WHO[example.direction].format(relation=example.relation)}"
    turned = example.direction == "head_to_dependent"
    lines = frozenset((head, dependent) if turned else (dependent, head) for dependent, head in example.pairs)
    return Panel(caption + share, example.words, example.weights, red_lines=lines)


def units_of(tokens: Sequence[str], word_of: Sequence[int], words: Sequence[str]) -> tuple[list[int], list[str]]:
    """The unit of each token, numbered from 0, and what each is called: a word by its text, a special token by itself.

    >>> units_of(["[CLS]", "Ġun", "real", "."], [-1, 0, 0, 1], ["unreal", "."])
    ([0, 1, 1, 2], ['[CLS]', 'unreal', '.'])
    """
    units: list[int] = []
    texts: list[str] = []
    before = SPECIAL
    for token, word in zip(tokens, word_of, strict=True):
        if word == SPECIAL or word != before:
            texts.append(token if word == SPECIAL else words[word])
        units.append(len(texts) - 1)
        before = word
    return units, texts


def between_units(maps: NDArray[np.floating[Any]], units: Sequence[int], count: int) -> NDArray[np.float32]:
    """Attention between units: to one the sum over its tokens, from it the mean. maps: [heads, tokens, tokens]."""
    import torch

    from headatlas.statistics.words import word_attention

    weights = torch.from_numpy(np.asarray(maps, dtype=np.float32))[None]
    attention: NDArray[np.float32] = word_attention(weights, torch.tensor([units]), count)[0].numpy()
    return attention
