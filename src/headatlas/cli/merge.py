"""headatlas merge"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def merge(
    shards: Annotated[list[Path], typer.Argument(metavar="DIR...", help="The folders of all shards, in any order.")],
    out: Annotated[Path, typer.Option(help="The atlas folder to make.")],
    figures: Annotated[bool, typer.Option(help="Draw the figures and write the page at the end.")] = True,
) -> None:
    """Put the shards of a survey together: the tables of the single run, without its model or corpora.

    Each shard is a run of its own, on any machine, with the same settings.

    **Examples**

    `headatlas survey bert-base-uncased --text wiki.txt --shard 1/2 --out part1`

    `headatlas survey bert-base-uncased --text wiki.txt --shard 2/2 --out part2`

    `headatlas merge part1 part2 --out atlas`
    """
    from headatlas.cli.report import finish
    from headatlas.surveying.merging import merge as run

    finish(run(shards, out=out), draw=figures)
