"""The shards of a survey, combined into the atlas that a single run would have written.

Counts equal those of the single run; sums of floats differ only by the order in which they are added. The sentences on
which the best heads are right (figure 5) are missing: which heads are best is known after the merge, and their maps are
not in the sums.
"""

from __future__ import annotations

import shutil
import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

from headatlas.commands.survey.reopen import blank_studies, check_states, read_states, start_studies
from headatlas.commands.survey.run import STATES
from headatlas.commands.survey.studies import all_tables
from headatlas.engine.checkpoint import Checkpoint
from headatlas.files import make_folder, write_atomically
from headatlas.models.stacks import HeadShape
from headatlas.results.atlas import EXAMPLES, Atlas, write_manifest, write_tables
from headatlas.results.finished import already_done
from headatlas.studies import Study
from headatlas.studies.dependencies import Dependencies
from headatlas.studies.study import State
from headatlas.versions import moment, versions

READERS = 2  # threads that read states ahead of the merge
NO_SENTENCES = "the sentences of figure 5 need the model, and shards are merged without it."


def merge_surveys(folders: Sequence[Path], manifests: Sequence[dict[str, Any]], folder: Path) -> Atlas:
    """Combine all shards of a survey, which were checked."""
    started = time.monotonic()
    first = manifests[0]
    settings = first["settings"] | {"shard": None}
    if already_done(folder, settings):
        return Atlas(folder)
    make_folder(folder / STATES)
    manifest: dict[str, Any] = {
        "complete": False,
        "started": moment(),
        "settings": settings,
        "model": first["model"],
        "versions": versions("numba", "pandas"),
        "shards": [str(shard) for shard in folders],
    }
    write_manifest(folder, manifest)
    merged = {name: _merged(folders, name, first) for name in _runs(first)}
    for name, studies in merged.items():
        Checkpoint(folder / STATES / f"{name}.safetensors", settings).save(studies, ())
    controls = merged.get("treebank-control", {}).values()
    control = next((cast(Dependencies, study) for study in controls), None)
    of_corpora = (study for name in first["corpora"] for study in merged[name].values())
    rows = write_tables(folder, all_tables(of_corpora, control))
    examples = folders[0] / EXAMPLES
    write_atomically(folder / EXAMPLES, lambda temporary: shutil.copyfile(examples, temporary))
    manifest |= {
        "complete": True,
        "finished": moment(),
        "seconds": round(time.monotonic() - started, 1),
        "corpora": first["corpora"],
        "studies_skipped": first["studies_skipped"]
        | ({"figure 5": NO_SENTENCES} if "treebank" in first["corpora"] else {}),
        "tables": rows,
    }
    write_manifest(folder, manifest)
    return Atlas(folder)


def _runs(manifest: dict[str, Any]) -> list[str]:
    """Return the names of the state files: one per corpus, and one of the control with random weights."""
    control = ["treebank-control"] if manifest["settings"]["control"] and "treebank" in manifest["corpora"] else []
    return [*manifest["corpora"], *control]


def _merged(folders: Sequence[Path], name: str, manifest: dict[str, Any]) -> dict[str, Study]:
    """Return the studies of one state file with the sums of all shards."""
    corpus = name.removesuffix("-control")
    shape = HeadShape(tuple(manifest["model"]["heads"]))
    merged, shard = (blank_studies(manifest, folders[0])[corpus] for _ in range(2))
    start_studies((*merged.values(), *shard.values()), shape, folders[0])
    for path, content in _read_ahead([folder / STATES / f"{name}.safetensors" for folder in folders]):
        states = check_states(path, content, shard)
        for study_name, study in merged.items():
            shard[study_name].restore(states[study_name])
            study.merge(shard[study_name])
    return merged


def _read_ahead(paths: Sequence[Path]) -> Iterator[tuple[Path, dict[str, State]]]:
    """Yield the states of each shard in order; while one is merged, the next are read and checked."""
    coming: deque[tuple[Path, Future[dict[str, State]]]] = deque()
    with ThreadPoolExecutor(READERS) as readers:
        for path in paths:
            coming.append((path, readers.submit(read_states, path)))
            if len(coming) > READERS:
                first, states = coming.popleft()
                yield first, states.result()
        for path, states in coming:
            yield path, states.result()
