"""Are the heads whose behaviour is known the ones that matter?

Labels come from a survey of the same model. A head matters by |change|, the size of the change of the score without it,
and by importance. The mean of the heads with a label is compared with that of the others, and their difference with
what remains if labels are permuted over the heads of each layer: layers differ in both, which would make any label
look important. P-values are corrected for all rows of a task (Holm).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headatlas.commands.ablate.tables import LABEL_IMPORTANCE
from headatlas.errors import SettingError
from headatlas.files import sha256
from headatlas.models.model import Model
from headatlas.models.stacks import Stack
from headatlas.results.atlas import Atlas, open_atlas
from headatlas.statistics.correlation import permuted_within
from headatlas.statistics.paired import Floats, holm
from headatlas.studies.findings import Head, heads_in
from headatlas.studies.labels import labels_of

ANY = "any label"
TABLES_READ = ("behaviours", "dependency_best", "coreference_best")
FEWEST_LABELLED = 5  # heads with a label, and without, for a row of its own
NULL_RANGE = (0.025, 0.975)


def open_atlas_of(model: Model, folder: str | Path, stack: Stack) -> Atlas:
    """Open a survey; refuse one of another model."""
    atlas = open_atlas(folder)
    surveyed: dict[str, Any] = atlas.manifest.get("model", {})
    same = all(surveyed.get(key) == model.source.get(key) for key in ("weights_sha256", "random_weights"))
    if not same or surveyed.get("attention") != stack:
        raise SettingError(
            f"{folder}: is an atlas of {surveyed.get('name')} with other weights than {model.name}. "
            f"Survey this model first: headatlas survey {model.name} --treebank FILE --out DIR"
        )
    return atlas


def digests_of(atlas: Atlas | None) -> dict[str, str]:
    """Checksums of what `ablate` reads from a survey: a run must not resume with other heads under the same path."""
    if atlas is None:
        return {}
    files = {name: atlas.folder / "tables" / f"{name}.parquet" for name in TABLES_READ}
    return {name: sha256(path) for name, path in files.items() if path.is_file()}


def labels_by_name(behaviours: pd.DataFrame) -> dict[str, set[Head]]:
    """The heads with each label; states are not labels. The first entry has the heads with any."""
    heads = {str(label): set(heads_in(rows)) for label, rows in labels_of(behaviours).groupby("label", sort=True)}
    return {ANY: set().union(*heads.values()), **heads}


def label_importance(
    ablation: pd.DataFrame, importance: pd.DataFrame, behaviours: pd.DataFrame, *, seed: int, resamplings: int
) -> pd.DataFrame:
    """One row per task, label and way to matter, if enough heads have the label and enough have not."""
    labels = labels_by_name(behaviours)
    frames = []
    for task in dict.fromkeys(ablation["task"]):
        changes = ablation[ablation["task"] == task]
        ways = {f"|change| of {name}": rows.assign(value=rows["change"].abs()) for name, rows in _by_measure(changes)}
        ways["importance"] = importance[importance["task"] == task]
        rows = [row for way, heads in ways.items() for row in _compare(way, heads, labels, seed, resamplings)]
        frame = pd.DataFrame(rows, columns=[name for name in LABEL_IMPORTANCE.names if name not in ("task", "p_holm")])
        p_holm = holm(frame["p_value"].to_numpy(dtype=np.float64))
        frames.append(frame.assign(task=task, p_holm=p_holm)[list(LABEL_IMPORTANCE.names)])
    return pd.concat(frames, ignore_index=True)


def _by_measure(rows: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    for measure, of_measure in rows.groupby("measure", sort=False):
        yield str(measure), of_measure


def _compare(
    way: str, rows: pd.DataFrame, labels: dict[str, set[Head]], seed: int, resamplings: int
) -> Iterator[dict[str, object]]:
    heads, values = heads_in(rows), rows["value"].to_numpy(dtype=np.float64)
    places = permuted_within(rows["layer"].to_numpy(dtype=np.int64), resamplings, seed)
    for label, labelled_heads in labels.items():
        labelled = np.array([head in labelled_heads for head in heads])
        if min(labelled.sum(), (~labelled).sum()) < FEWEST_LABELLED and label != ANY:
            continue
        row: dict[str, object] = {
            "label": label,
            "measure": way,
            "labelled": labelled.sum(),
            "others": (~labelled).sum(),
        }
        if not labelled.any() or labelled.all():
            yield row
            continue
        null = _lead(values, labelled[places])
        lead = float(_lead(values, labelled))
        low, high = np.quantile(null, NULL_RANGE)
        as_large = np.sum(np.abs(null - null.mean()) >= abs(lead - null.mean()) * (1 - 1e-9))
        yield row | {
            "mean_labelled": values[labelled].mean(),
            "mean_others": values[~labelled].mean(),
            "lead": lead,
            "null_low": low,
            "null_high": high,
            "p_value": (1 + as_large) / (1 + resamplings),
        }


def _lead(values: Floats, labelled: NDArray[np.bool_]) -> Floats:
    """How far the mean of the labelled heads is above that of the others. labelled: [..., heads]."""
    return np.asarray(labelled @ values / labelled.sum(-1) - ~labelled @ values / (~labelled).sum(-1))
