"""Whether folders are all the shards of one run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headatlas.encoding.shards import Shard
from headatlas.engine.settings import differences
from headatlas.errors import AtlasError


def check_shards(folders: Sequence[Path], manifests: Sequence[dict[str, Any]]) -> None:
    """Refuse shards that are not finished, of another run, missing, or there twice."""
    places: dict[Shard, Path] = {}
    first = manifests[0]["settings"]
    for folder, manifest in zip(folders, manifests, strict=True):
        if not isinstance(manifest["settings"].get("shard"), str):
            raise AtlasError(f"{folder}: is not a shard. Make shards with --shard 1/2 and so on.")
        if not manifest.get("complete"):
            raise AtlasError(f"{folder}: this shard has not finished. Run its command again to continue it.")
        own = manifest["settings"] | {"shard": first["shard"]}
        if differing := differences(first, own):
            raise AtlasError(f"{folder}: is a shard of another run than {folders[0]} ({'; '.join(differing)}).")
        shard = Shard.parse(manifest["settings"]["shard"])
        if shard in places:
            raise AtlasError(f"{folder}: is shard {shard}, and so is {places[shard]}. Name each shard once.")
        places[shard] = folder
    of = {shard.of for shard in places}
    if len(of) > 1:
        raise AtlasError(f"Shards of {' and of '.join(map(str, sorted(of)))} cannot be put together.")
    if missing := sorted(set(range(1, of.pop() + 1)) - {shard.number for shard in places}):
        shown = ", ".join(map(str, missing[:20])) + (", ..." if len(missing) > 20 else "")
        raise AtlasError(f"Of the shards, {len(missing)} are missing: {shown}. Run them, or name their folders too.")
