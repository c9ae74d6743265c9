"""headatlas merge"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headatlas.cli.options import OutFolder


def merge(
    shards: Annotated[
        list[str], typer.Argument(metavar="DIR...", help="The folders of all shards, in any order; or their URLs.")
    ],
    out: OutFolder,
    figures: Annotated[bool, typer.Option(help="Draw the figures and write the page of a survey at the end.")] = True,
) -> None:
    """Put the shards of a survey, an extraction or an ablation together, without model or corpora.

    Each shard is a run of its own, on any machine, with the same settings. A survey gives the tables of the single run,
    an extraction its maps. Of an ablation the scores are put together: run it once more without --shard on the
    merged folder for its tables and curves.

    **Examples**

    `headatlas survey bert-base-uncased --text wiki.txt --shard 1/2 --out part1`

    `headatlas survey bert-base-uncased --text wiki.txt --shard 2/2 --out part2`

    `headatlas merge part1 part2 --out atlas`
    """
    from headatlas.cli.places import send_results
    from headatlas.commands.merge.run import merge as run
    from headatlas.store.reading import Store

    merged = run(shards, out=out)
    if isinstance(merged, Path):
        typer.echo(f"Scores:  {out}")
        typer.echo(f"Next:    headatlas ablate ... --out {out}, as before but without --shard, for tables and curves")
        return
    if isinstance(merged, Store):
        from headatlas.cli.extract import tell_store

        tell_store(merged)
        return
    from headatlas.cli.endings import finish

    finish(merged, draw=figures)
    send_results(merged.folder, out)
