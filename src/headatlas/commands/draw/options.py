"""`headatlas draw`, in Python `headatlas.draw`: options and entry point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from headatlas.choices import Stack
from headatlas.commands.shared.command import command
from headatlas.commands.shared.models import LoadOptions, ModelName
from headatlas.commands.shared.options import SEVERAL, Heads

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, kw_only=True)
class DrawOptions(LoadOptions):
    """The options of `draw`."""

    model: ModelName = field(kw_only=False)
    text: str = field(kw_only=False)
    """The sentence to look at, in quotes."""
    pair: str | None = field(default=None, kw_only=False)
    """A second sentence, as in [CLS] TEXT [SEP] PAIR [SEP]."""
    head: Heads
    """One or several heads, counted from 1: 8-10 is layer 8, head 10."""
    out: Annotated[str | Path | None, Parameter(metavar="FILE")] = None
    """File to save the picture to: .png, .svg or .pdf. Default: named after the heads, .png; in Python, none."""
    words: Annotated[bool, Parameter(negative="--tokens")] = True
    """Draw lines between words (to a split word the sum over its tokens, from it the mean), or between tokens."""
    hide_special: bool = False
    """Omit [CLS], [SEP] and other special tokens, with their lines."""
    red: Annotated[str | Sequence[str], SEVERAL, Parameter(metavar="WORD...")] = ()
    """Words to mark in red, with the lines that leave them."""
    attention: Stack | None = None
    """Attention to draw in an encoder-decoder model. Default: encoder."""


@command(DrawOptions)
def draw(options: DrawOptions) -> Figure:
    """Draw what heads attend to in a sentence: the darker a line, the more attention.

    The left column attends to the right one. Lines under 1 % are not drawn. A word that the tokenizer does not know
    stands after the token that the model saw in its place, such as [UNK].

        headatlas draw bert-base-uncased "She wrote a long letter." --head 8-10
        headatlas draw embedded "The cat saw its shadow." --head 2-4 5-1 --red its
        headatlas draw embedded "Kim left." "She was tired." --head 4-7 --tokens --out kim.pdf

    In Python, the figure is returned: headatlas.draw("embedded", "The cat sat.", head="2-4").savefig("cat.png")
    """
    from headatlas.commands.draw.run import run_draw

    return run_draw(options)
