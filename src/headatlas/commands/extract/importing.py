"""`import_maps`: maps that others made, brought into a store."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from headatlas.commands.extract.storing import SHARD_MEGABYTES, Advance, fill_store
from headatlas.commands.survey.settings import ImportSettings
from headatlas.corpora.files import Files, describe_files, find_files
from headatlas.engine.locking import alone_in_out
from headatlas.store.examples import Tensors
from headatlas.store.importing import read_maps
from headatlas.store.index import Index
from headatlas.store.reading import Store
from headatlas.versions import versions


@alone_in_out("extract --import")
def import_maps(
    files: Files,
    *,
    out: str | Path,
    dtype_stored: str = "float16",
    shard_megabytes: int = SHARD_MEGABYTES,
    progress: bool = True,
) -> Store:
    """Bring the paper's released pickles, or .npz files, into a store (see `store.importing` for what they hold).

    >>> store = import_maps("unlabeled_attn.pkl", out="maps")   # doctest: +SKIP
    """
    settings = ImportSettings(dtype_stored, shard_megabytes)
    settings.check()
    paths = find_files(files, "import")
    described = describe_files(paths)
    found = read_maps(paths)
    layers, heads = found.examples[0].maps.shape[:2]
    index = Index(
        level=found.level,
        dtype=dtype_stored,
        states=0,
        shard_bytes=shard_megabytes * 10**6,
        model={
            "name": paths[0].stem + (f" and {len(paths) - 1} more" if len(paths) > 1 else ""),
            "kind": "imported maps",
            "class": "unknown network",
            "attention": "decoder" if found.causal else "encoder",
            "layers": layers,
            "heads": [heads] * layers,
            "special_tokens": {"cls": "[CLS]", "sep": "[SEP]"},
        },
        settings={"imported": [record["sha256"] for record in described]} | asdict(settings),
        corpora={"imported": {"files": described, "left_out": found.left_out}},
        versions=versions(),
        examples=[one.example for one in found.examples],
    )

    def produce(places: range, advance: Advance) -> Iterator[Tensors]:
        for place in places:
            advance(len(found.examples[place].example))
            yield found.examples[place].tensors(dtype_stored)

    return fill_store(Path(out), index, produce, progress=progress)
