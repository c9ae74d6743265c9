"""The work of `merge`: check that the shards are those of one run, and combine them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headatlas.commands.merge.ablations import merge_ablations
from headatlas.commands.merge.options import MergeOptions
from headatlas.commands.merge.stores import merge_stores
from headatlas.commands.merge.surveys import merge_surveys
from headatlas.encoding.shards import Shard
from headatlas.engine.settings import differences
from headatlas.errors import AtlasError
from headatlas.remote import fetch_folder, is_url, local_folder, send
from headatlas.results.atlas import SHARD, Atlas, read_manifest
from headatlas.store.index import INDEX
from headatlas.store.reading import Store, open_store


def run_merge(options: MergeOptions) -> Atlas | Store | Path:
    """Combine the shards; open the result if it has been merged before."""
    folders = [fetch_folder(shard) if is_url(shard) else Path(shard) for shard in options.shards]
    merged = _merge(folders, local_folder(options.out), options.progress)
    send(merged if isinstance(merged, Path) else merged.folder, options.out)
    return merged


def _merge(folders: Sequence[Path], folder: Path, progress: bool) -> Atlas | Store | Path:
    if (folders[0] / INDEX).exists():
        stores = [open_store(shard) for shard in folders]
        check_shards(
            folders, [{"complete": store.index.complete, "settings": store.index.settings} for store in stores]
        )
        return merge_stores(stores, folder, progress)
    manifests = [read_manifest(shard, SHARD) for shard in folders]
    check_shards(folders, manifests)
    if "tasks" in manifests[0]["settings"]:
        return merge_ablations(folders, manifests, folder)
    return merge_surveys(folders, manifests, folder)


def check_shards(folders: Sequence[Path], manifests: Sequence[dict[str, Any]]) -> None:
    """Refuse shards that are unfinished, of another run, missing, or given twice."""
    places: dict[Shard, Path] = {}
    first = manifests[0]["settings"]
    for folder, manifest in zip(folders, manifests, strict=True):
        settings = manifest["settings"]
        if not isinstance(settings.get("shard"), str):
            raise AtlasError(f"{folder}: is not a shard. Make shards with --shard 1/2 and so on.")
        if not manifest.get("complete"):
            raise AtlasError(f"{folder}: this shard has not finished. Run its command again to resume it.")
        if differing := differences(first, settings | {"shard": first["shard"]}):
            raise AtlasError(f"{folder}: is a shard of another run than {folders[0]} ({'; '.join(differing)}).")
        shard = Shard.parse(settings["shard"])
        if shard in places:
            raise AtlasError(f"{folder}: is shard {shard}, and so is {places[shard]}. Name each shard once.")
        places[shard] = folder
    totals = {shard.of for shard in places}
    if len(totals) > 1:
        raise AtlasError(f"Shards of {' and of '.join(map(str, sorted(totals)))} cannot be combined.")
    if missing := sorted(set(range(1, totals.pop() + 1)) - {shard.number for shard in places}):
        shown = ", ".join(map(str, missing[:20])) + (", ..." if len(missing) > 20 else "")
        raise AtlasError(f"Of the shards, {len(missing)} are missing: {shown}. Run them, or name their folders too.")
