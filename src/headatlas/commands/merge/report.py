"""What `merge` prints when it ends."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from headatlas.commands.extract.report import store_report
from headatlas.commands.merge.options import MergeOptions
from headatlas.commands.shared.ending import report_atlas
from headatlas.commands.shared.printing import FigureOptions
from headatlas.commands.shared.report import Item, Written
from headatlas.results.atlas import Atlas
from headatlas.store.reading import Store


def report_merge(merged: Atlas | Store | Path, options: MergeOptions, printing: FigureOptions) -> Iterator[Item]:
    """Say what the shards became: an atlas, a folder of maps, or the scores of an ablation."""
    if isinstance(merged, Atlas):
        yield from report_atlas(merged, options, printing)
    elif isinstance(merged, Path):
        ablate = f"headatlas ablate ... --out {options.out}", "as before but without --shard, for tables and curves"
        yield Written(merged, "the scores of all shards", next=(ablate,))
    else:
        yield from store_report(merged)
