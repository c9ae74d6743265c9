"""`merge`: the shards of a survey, an extraction or an ablation become one folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from headatlas.commands.merge.ablations import merge_ablations
from headatlas.commands.merge.checks import check_shards
from headatlas.commands.merge.stores import merge_stores
from headatlas.commands.merge.surveys import merge_surveys
from headatlas.engine.locking import alone_in_out
from headatlas.errors import SettingError
from headatlas.remote import fetch_folder, is_url, local_folder, send
from headatlas.results.atlas import SHARD, Atlas, read_manifest
from headatlas.store.index import INDEX
from headatlas.store.reading import Store


@alone_in_out("merge")
def merge(shards: Sequence[str | Path], *, out: str | Path, progress: bool = True) -> Atlas | Store | Path:
    """Put all shards of a run together: an atlas of a survey's, a store of maps of an extraction's.

    >>> for i in range(1, 5): survey("bert-base-uncased", text="wiki.txt", shard=f"{i}/4", out=f"part{i}")
    ... # doctest: +SKIP
    >>> atlas = merge(["part1", "part2", "part3", "part4"], out="atlas")       # doctest: +SKIP

    Those of an ablation give a folder in which `ablate`, called as for a shard but without one, goes on: it finds the
    scores of all shards there, and is left with the removal curves and the tables.
    """
    folders = [fetch_folder(shard) if is_url(shard) else Path(shard) for shard in shards]
    if not folders:
        raise SettingError("No shard is given. Name the folders of all shards.")
    merged = _merged(folders, local_folder(out), progress)
    send(merged if isinstance(merged, Path) else merged.folder, out)
    return merged


def _merged(folders: Sequence[Path], folder: Path, progress: bool) -> Atlas | Store | Path:
    if (folders[0] / INDEX).exists():
        return merge_stores(folders, folder, progress)
    manifests = [read_manifest(shard, SHARD) for shard in folders]
    check_shards(folders, manifests)
    if "tasks" in manifests[0]["settings"]:
        return merge_ablations(folders, manifests, folder)
    return merge_surveys(folders, manifests, folder)
