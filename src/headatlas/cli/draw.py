"""headatlas draw"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from headatlas.cli.options import Attention, Device, ModelName, Revision, TrustRemoteCode


def draw(
    model: ModelName,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The sentence to look at, in quotes.")],
    head: Annotated[
        list[str],
        typer.Option(metavar="LAYER-HEAD...", help="One head or several, counted from 1: 8-10 is layer 8, head 10."),
    ],
    pair: Annotated[
        Optional[str],  # noqa: UP045
        typer.Argument(metavar="TEXT2", help="A second sentence, as in [CLS] TEXT [SEP] TEXT2 [SEP]."),
    ] = None,
    out: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(metavar="FILE", help="The picture: .png, .svg or .pdf. Default: named after the heads, .png."),
    ] = None,
    words: Annotated[
        bool,
        typer.Option(
            "--words/--tokens",
            help="Lines between words (to a split word the sum over its tokens, from it the mean) or between tokens.",
        ),
    ] = True,
    hide_special: Annotated[
        bool, typer.Option("--hide-special", help="Leave out [CLS], [SEP] and their like, with their lines.")
    ] = False,
    red: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(metavar="WORD...", help="Words to mark, with the lines that leave them."),
    ] = None,
    attention: Attention = None,
    device: Device = "auto",
    revision: Revision = None,
    trust_remote_code: TrustRemoteCode = False,
) -> None:
    """Draw what heads attend to in a sentence: lines between words, the darker the more attention.

    The left column attends, the right one is attended to. Lines under 1 % are not drawn.

    **Examples**

    `headatlas draw bert-base-uncased "She wrote a long letter to her friend." --head 8-10`

    `headatlas draw embedded "The cat saw its shadow." --head 2-4 5-1 --red its --hide-special --out its.pdf`

    `headatlas draw embedded "Kim left." "She was tired." --head 4-7 --tokens`
    """
    from headatlas.models.heads import parse_head
    from headatlas.views.figures.style import picture_file, save_figure

    names = ["-".join(map(str, parse_head(name))) for name in head]
    stem, form = picture_file(out or Path(f"head_{'_'.join(names)}.png"))
    from headatlas.commands.draw.run import draw as run

    figure = run(
        model,
        text,
        pair,
        head=names,
        words=words,
        hide_special=hide_special,
        red=red or (),
        stack=attention,  # type: ignore[arg-type]
        device=device,
        revision=revision,
        trust_remote_code=trust_remote_code,
    )
    (path,) = save_figure(figure, stem, (form,))
    typer.echo(path)
