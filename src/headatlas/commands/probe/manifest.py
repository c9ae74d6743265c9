"""What the manifest of a probing run says of its model, sentences and word vectors."""

from __future__ import annotations

from typing import Any

from headatlas.commands.probe.sources import Pair, also_in_train, describe_part
from headatlas.corpora.files import PARTS
from headatlas.probes.vectors import WordVectors
from headatlas.versions import moment, versions


def begun_manifest(
    pair: Pair, vectors: WordVectors | None, labels: str, settings: dict[str, Any], skipped: dict[str, str]
) -> dict[str, Any]:
    """The manifest of a run that has just begun. skipped: probes that cannot run, and why."""
    corpora = {part: describe_part(getattr(pair, part)) | {"label_set": labels} for part in PARTS}
    corpora["eval"]["also_in_train"] = also_in_train(pair)
    if vectors is not None:
        for part in PARTS:
            sentences = [example.words or () for example in getattr(pair, part).examples]
            corpora[part]["without_vector"] = vectors.unknown(sentences)
    return {
        "complete": False,
        "started": moment(),
        "settings": settings,
        "model": pair.train.model,
        "vectors": vectors.about if vectors else None,
        "corpora": {"treebank": corpora["train"], "eval": corpora["eval"]},
        "studies_skipped": skipped,
        "versions": versions("numba", "pandas", "scipy"),
    }
