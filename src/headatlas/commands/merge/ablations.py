"""The shards of an ablation: the scores of all batches in one folder, in which `ablate` resumes.

The order of heads for the removal curves is known when every head has been tried on every example. So the shards
compute scores, and one more run does what needs all of them.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from headatlas.commands.ablate.run import STATE
from headatlas.errors import AtlasError
from headatlas.files import make_folder, write_atomically
from headatlas.results.atlas import write_manifest
from headatlas.results.finished import already_done


def merge_ablations(folders: Sequence[Path], manifests: Sequence[dict[str, Any]], folder: Path) -> Path:
    """Copy the pieces of all shards, which were checked, into one folder, and return it."""
    settings = manifests[0]["settings"] | {"shard": None}
    if already_done(folder, settings):
        return folder
    for shard, manifest in zip(folders, manifests, strict=True):
        pieces = sorted((shard / STATE).rglob("*.safetensors"))
        if len(pieces) != manifest["pieces"]:
            raise AtlasError(
                f"{shard}: has {len(pieces)} of its {manifest['pieces']} pieces. Delete the folder and run it again."
            )
        for piece in pieces:
            target = folder / STATE / piece.relative_to(shard / STATE)
            make_folder(target.parent)
            write_atomically(target, partial(shutil.copyfile, piece))
    beginning = {key: manifests[0][key] for key in ("started", "model", "versions")}
    write_manifest(folder, {"complete": False, "settings": settings, **beginning})
    return folder
