"""headatlas compare"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from headatlas.cli.options import BatchTokens, Device, NumberType


def compare(
    a: Annotated[Path, typer.Argument(metavar="A", help="An atlas folder, made by `headatlas survey`.")],
    b: Annotated[Path, typer.Argument(metavar="B", help="Another one. Differences are B - A.")],
    out: Annotated[Path, typer.Option(help="The folder to make; an older comparison in it is replaced.")],
    text: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(
            metavar="FILE...",
            help="What both models read to match their heads by distance. Default: the text that A was surveyed on.",
        ),
    ] = None,
    segments: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(help="How many segments of it. Default: as many as A's survey."),
    ] = None,
    text_format: Annotated[
        str, typer.Option(help="Of --text: documents, wikitext, paragraphs, or auto (see `headatlas survey --help`).")
    ] = "auto",
    batch_tokens: BatchTokens = 4096,
    device: Device = "auto",
    dtype: NumberType = "float32",
    trust_remote_code: Annotated[
        bool,
        typer.Option("--trust-remote-code", help="Run Python code that comes with a model. Only if you trust it."),
    ] = False,
    figures: Annotated[bool, typer.Option(help="Draw the figures at the end.")] = True,
) -> None:
    """Put two atlases side by side: base and fine-tuned, cased and uncased, trained and random, small and large.

    Every number that both have, with an interval for the difference; heads matched by what they do, and, where both
    models share a tokenizer, by how they attend to the same text.

    **Examples**

    `headatlas compare atlas-base atlas-tuned --out base-and-tuned`

    `headatlas compare atlas atlas-random --text wiki.txt --segments 200 --out trained-and-random`

    `headatlas table base-and-tuned head_matches --sort own --rows 10`
    """
    from headatlas.cli.endings import finish_comparison
    from headatlas.commands.compare.run import compare as run

    comparison = run(
        a,
        b,
        out=out,
        text=text or None,
        segments=segments,
        text_format=text_format,  # type: ignore[arg-type]
        batch_tokens=batch_tokens,
        device=device,
        dtype=dtype,
        trust_remote_code=trust_remote_code,
    )
    finish_comparison(comparison, draw=figures)
