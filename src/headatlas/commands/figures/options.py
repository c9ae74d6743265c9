"""`headatlas figures`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from headatlas.commands.shared.command import command
from headatlas.commands.shared.options import MUST_EXIST, Folder, Options, ResultsFolder
from headatlas.errors import SettingError, first_line

EXAMPLE = 'Write, for example, {"layer": "couche"}.'


@dataclass(frozen=True, kw_only=True)
class FiguresOptions(Options):
    """The options of `figures`."""

    folder: ResultsFolder = field(kw_only=False)
    """Folder made by `headatlas survey` or another command that writes tables."""
    out: Folder | None = None
    """Folder to write to. Default: DIR/figures."""
    beside: ResultsFolder | None = None
    """Another folder of `headatlas layers`: draw the layers of both models side by side."""
    words: Annotated[str | Path | None, Parameter(metavar="FILE"), MUST_EXIST] = None
    """Words to write instead of others, for labels in another language: a JSON file such as
    {"layer": "couche", "previous token": "mot précédent"}."""


@command(FiguresOptions)
def figures(options: FiguresOptions) -> list[Path]:
    """Draw the figures of an atlas or a comparison again, as SVG, PNG and PDF.

    Figure 1: heads at work on one input. Figure 2: attention to kinds of tokens and to positions, over layers. Figure
    3: gradients, if the model has a language model head. Figure 4: entropy. Figure 5: the best heads for dependency
    relations, if a treebank was surveyed. Figure 6: the map of heads. A folder of `probe` has figures of the scores of
    probes, of the heads that they use and of layers; one of `layers`, of mixing weights, of differential and cumulative
    scores, and of targets whose prediction changes.

        headatlas figures atlas
        headatlas figures layers-base --beside layers-large
        headatlas figures atlas --words french.json --out figures-fr
    """
    from headatlas.results.atlas import open_results
    from headatlas.views.figures.write import write_beside, write_figures

    results = open_results(options.folder)
    out = None if options.out is None else Path(options.out)
    words = None if options.words is None else _read_words(Path(options.words))
    if options.beside is not None:
        return write_beside(Path(options.folder), Path(options.beside), out, words=words)
    return write_figures(results, out, words=words)


def _read_words(path: Path) -> dict[str, str]:
    from headatlas.files import parse_json
    from headatlas.limits import LARGEST_JSON, read_within

    try:
        words = parse_json(read_within(path, LARGEST_JSON).decode("utf-8"))
    except (OSError, ValueError) as error:
        raise SettingError(f"{path}: not a JSON file ({first_line(error)}). {EXAMPLE}") from error
    if not isinstance(words, dict) or not all(word and isinstance(other, str) for word, other in words.items()):
        raise SettingError(f"{path}: not an object of words and their translations. {EXAMPLE}")
    return words
