"""`headatlas merge`, in Python `headatlas.merge`: options and entry point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from headatlas.commands.shared.command import command
from headatlas.commands.shared.completing import complete_results
from headatlas.commands.shared.options import MUST_EXIST, SEVERAL, UNRECORDED, Folder, Options, PythonOnly
from headatlas.errors import SettingError

if TYPE_CHECKING:
    from headatlas.results.atlas import Atlas
    from headatlas.store.reading import Store


SHARDS = Parameter(metavar="DIR...", completer=complete_results)


@dataclass(frozen=True, kw_only=True)
class MergeOptions(Options):
    """The options of `merge`."""

    shards: Annotated[Sequence[str | Path], SEVERAL, SHARDS, MUST_EXIST, UNRECORDED] = field(kw_only=False)
    """Folders or URLs of all shards, in any order."""
    out: Folder = "merged"
    """Folder or URL to write to, for example s3://bucket/atlas."""
    progress: PythonOnly = True
    """Show progress."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.shards:
            raise SettingError("No shard is given. Name the folders of all shards.")


@command(MergeOptions)
def merge(options: MergeOptions) -> Atlas | Store | Path:
    """Combine the shards of a survey, an extraction or an ablation into one folder.

    Needs neither the model nor the corpora. The shards of a survey give the tables that one run would have written, and
    those of an extraction its maps. The shards of an ablation give its scores: run the command again without --shard on
    the merged folder for tables and curves.

        headatlas survey bert-base-uncased --text wiki.txt --shard 1/2 --out part1
        headatlas survey bert-base-uncased --text wiki.txt --shard 2/2 --out part2
        headatlas merge part1 part2 --out atlas

    In Python: headatlas.merge(["part1", "part2"], out="atlas")
    """
    from headatlas.commands.merge.run import run_merge  # imported here because it needs torch

    return run_merge(options)
