"""The two atlases with their bootstrap replicates, and whether they were made from the same corpora.

The bootstrap gives each unit of a corpus weights that depend on its id and the seed alone. Two surveys are ``paired``
if the same id means the same unit:

- a sentence of a treebank and a document of a coreference corpus are what the file says they are, whatever the
  tokenizer; if one model's tokenizer makes a sentence too long for it, that sentence counts for the other alone;
- a segment of a text is cut by the tokenizer. Two tokenizers cut different segments that have the same id, so
  texts are paired only if the segments are the same: the same number of segments and tokens, and the same numbers
  left out and cut, for each reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas.commands.compare.differences import Side
from headatlas.commands.survey.reopen import reopen_studies
from headatlas.errors import AtlasError
from headatlas.results.atlas import Atlas, open_atlas

Manifest = Mapping[str, Any]
_NEEDED = {"model": ("name", "heads", "attention"), "settings": ("seed",), "corpora": (), "tables": ()}
_READING = {
    "text": ("text_format", "max_tokens"),
    "treebank": ("treebank_format", "parse_with", "text_format"),
    "coreference": ("coreference_format",),
    "keyphrases": ("keyphrase_format", "max_tokens"),
}
_UNITS = {"text": "segment", "treebank": "sentence", "coreference": "document", "keyphrases": "document"}
"""What the bootstrap resamples in each corpus."""
_NO_MATTER = frozenset({"model", "weights", "random_weights", "attention", "batch_tokens", "corpora", "studies"})


def open_side(folder: str | Path) -> Atlas:
    """Open a finished survey whose manifest says what a comparison needs."""
    atlas = open_atlas(folder)
    manifest = atlas.manifest
    for part, names in _NEEDED.items():
        about = manifest.get(part)
        if not isinstance(about, dict) or any(name not in about for name in names):
            raise AtlasError(
                f"{atlas.folder / 'manifest.json'}: the survey's {part} is missing or incomplete, so it cannot be "
                "compared. Survey again."
            )
    return atlas


def side_of(atlas: Atlas) -> tuple[Side, str | None]:
    """The tables and replicates of an atlas; and why some replicates are missing, if they are."""
    replicates: dict[str, NDArray[np.float64]] = {}
    problem = None
    try:
        for study in reopen_studies(atlas):
            unit = _UNITS[study.corpus]
            if atlas.manifest["corpora"][study.corpus].get(f"{unit}s") == 1:
                problem = f"its {study.corpus} is a single {unit}, so there is nothing to resample."
            else:
                replicates |= study.replicates()
    except AtlasError as error:
        problem = str(error)
    tables = {name: atlas.tables[name] for name in atlas.tables}
    for key, drawn in replicates.items():
        name = key.partition("/")[0]
        if name in tables and drawn.shape[1] != len(tables[name]):
            raise AtlasError(
                f"{atlas.folder}: the table {name} has {len(tables[name])} rows, but the sums in state/ have "
                f"{drawn.shape[1]}. One of them was changed; survey again."
            )
    return Side(tables, replicates, tuple(atlas.manifest["model"]["heads"])), problem


def same_files(corpus: str, a: Manifest, b: Manifest) -> bool:
    """Whether both were surveyed on the same files, in the same order."""
    hashes = [[record["sha256"] for record in side["corpora"][corpus]["files"]] for side in (a, b)]
    return hashes[0] == hashes[1]


def paired(corpus: str, a: Manifest, b: Manifest) -> bool:
    """Whether bootstrap replicates of both weigh the same units alike."""
    if not same_files(corpus, a, b):
        return False
    if any(a["settings"].get(name) != b["settings"].get(name) for name in ("seed", *_READING[corpus])):
        return False
    return corpus != "text" or _apart_from_files(a) == _apart_from_files(b)


def differing_settings(a: Manifest, b: Manifest) -> dict[str, list[Any]]:
    """Settings that differ and may affect the tables: name -> of A, of B."""
    before, after = a["settings"], b["settings"]
    return {
        name: [before.get(name), after.get(name)]
        for name in sorted({*before, *after} - _NO_MATTER)
        if before.get(name) != after.get(name)
    }


def _apart_from_files(manifest: Manifest) -> dict[str, Any]:
    return {name: value for name, value in manifest["corpora"]["text"].items() if name not in ("files", "unknown")}
