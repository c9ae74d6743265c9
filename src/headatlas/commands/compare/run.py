"""`compare`: two atlases side by side, a folder with their differences and their matched heads at the end."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from headatlas.commands.compare.crossing import cross_models
from headatlas.commands.compare.differences import Side, comparable, difference_table, rows_in_one_only
from headatlas.commands.compare.matching import (
    behaviour_match_table,
    cross_distance_table,
    head_match_table,
    match_summary,
)
from headatlas.commands.compare.measures import DISTANCE_SETTINGS, DISTANCES, MEASURES, NOT_COMPARED
from headatlas.commands.compare.options import CompareOptions
from headatlas.commands.compare.shared import NotSharedError, Reading, choose_reading, load_side, shared_segments
from headatlas.commands.compare.sides import Manifest, differing_settings, open_side, paired, same_files, side_of
from headatlas.corpora.files import describe_files, find_files
from headatlas.errors import AtlasError
from headatlas.models.loading import choose_device
from headatlas.results.atlas import Atlas, write_tables
from headatlas.results.comparison import Comparison, open_comparison, write_comparison_manifest
from headatlas.studies.kept_rows import rows_compared
from headatlas.versions import moment, versions

Tables = dict[str, pd.DataFrame]


def run_compare(options: CompareOptions) -> Comparison:
    """Compare two finished surveys, match their heads, and write the tables and the manifest."""
    started = time.monotonic()
    choose_device(options.placed_on)
    files = None if options.text is None else find_files(options.text, "text")
    folder = Path(options.out)
    _refuse_other(folder)
    atlases = [open_side(side.folder if isinstance(side, Atlas) else side) for side in (options.a, options.b)]
    manifest_a, manifest_b = (atlas.manifest for atlas in atlases)
    (side_a, problem_a), (side_b, problem_b) = map(side_of, atlases)
    names, left_out = _choose_tables(side_a, side_b, manifest_a, manifest_b)
    tables = {"differences": difference_table(side_a, side_b, names)}
    try:
        reading = choose_reading(manifest_a, manifest_b, files, options.format_of("text"), options.segments)
        found, about = _matched(manifest_a, manifest_b, reading, options)
        tables |= found
    except NotSharedError as reason:
        about = {"skipped": str(reason)}
    if "behaviours" in side_a.tables and "behaviours" in side_b.tables:
        tables["behaviour_matches"] = behaviour_match_table(
            side_a.tables["behaviours"], side_b.tables["behaviours"], _pairs(tables.get("cross_distances"))
        )
    rows = write_tables(folder, tables)
    rows_a, rows_b = (write_tables(folder / end, _of_heads(side)) for end, side in (("a", side_a), ("b", side_b)))
    write_comparison_manifest(
        folder,
        {
            "finished": moment(),
            "seconds": round(time.monotonic() - started, 1),
            "a": {"folder": str(atlases[0].folder), "model": manifest_a["model"], "tables": rows_a},
            "b": {"folder": str(atlases[1].folder), "model": manifest_b["model"], "tables": rows_b},
            "corpora": _corpora(manifest_a, manifest_b),
            "settings_that_differ": differing_settings(manifest_a, manifest_b),
            "without_intervals": {end: why for end, why in (("a", problem_a), ("b", problem_b)) if why},
            "not_compared": left_out,
            "rows_in_one_only": {
                name: only for name in names if any((only := rows_in_one_only(side_a, side_b, name)).values())
            },
            "distances": about,
            "versions": versions("numba", "pandas", "scipy"),
            "tables": rows,
        },
    )
    return open_comparison(folder)


def _matched(a: Manifest, b: Manifest, reading: Reading, options: CompareOptions) -> tuple[Tables, dict[str, Any]]:
    """The tables of heads matched by distance, and what they were measured on."""
    model_a, model_b = (load_side(manifest, **options.loading) for manifest in (a, b))
    sample = shared_segments(model_a, model_b, reading)
    crossing = cross_models(
        (model_a, a["model"]["attention"]),
        (model_b, b["model"]["attention"]),
        sample,
        batch_tokens=options.batch_tokens,
        show_progress=options.progress,
    )
    heads = sum(shape.total for shape in crossing.shapes)
    compared = sum(len(rows_compared(len(segment), heads)) for segment in sample)
    tokens = sum(map(len, sample))
    matches = head_match_table(crossing)
    tables = {
        "head_matches": matches,
        "match_summary": match_summary(matches, crossing, compared / tokens),
        "cross_distances": cross_distance_table(crossing),
    }
    about = {
        "files": describe_files(reading.files),
        "segments": len(sample),
        "tokens": tokens,
        "max_tokens": reading.max_tokens,
        "seed": reading.seed,
        "device": str(model_a.device),
        "dtype": str(model_a.dtype).removeprefix("torch."),
    }
    return tables, about


def _choose_tables(a: Side, b: Side, about_a: Manifest, about_b: Manifest) -> tuple[dict[str, bool], dict[str, str]]:
    """The tables to compare, with whether they are paired; and what is not compared, with the reason."""
    names: dict[str, bool] = {}
    every = dict.fromkeys([*a.tables, *b.tables])
    left_out = {name: why for name, why in NOT_COMPARED.items() if name.partition(":")[0] in every}
    left_out |= {name: "there is no rule for comparing it" for name in every if name not in {*MEASURES, *NOT_COMPARED}}
    otherwise = [name for name in DISTANCE_SETTINGS if about_a["settings"].get(name) != about_b["settings"].get(name)]
    for name, measures in MEASURES.items():
        there = [name in side.tables for side in (a, b)]
        if all(there) and name in DISTANCES and otherwise:
            left_out[name] = f"the surveys measured distances otherwise: {', '.join(otherwise)} differ"
        elif all(there) and not comparable(measures, a, b):
            left_out[name] = f"the models do not have as many {measures.same}"
        elif all(there):
            names[name] = paired(measures.corpus, about_a, about_b)
        elif any(there):
            left_out[name] = f"only {'A' if there[0] else 'B'} has it"
    if not names:
        raise AtlasError("The two atlases have no table in common. Survey both on the same kind of corpus.")
    if a.heads != b.heads:
        left_out["heads one by one"] = "the models do not have as many heads in every layer"
    if len(a.heads) != len(b.heads):
        left_out["means of layers"] = "the models do not have as many layers"
    return names, left_out


def _of_heads(side: Side) -> Tables:
    """What a side says of each head: with it the page can be made again when the atlas is gone."""
    return {name: frame for name, frame in side.tables.items() if {"layer", "head"} <= set(frame.columns)}


def _corpora(a: Manifest, b: Manifest) -> dict[str, dict[str, bool]]:
    shared: Sequence[str] = [name for name in a["corpora"] if name in b["corpora"]]
    return {name: {"same_files": same_files(name, a, b), "paired": paired(name, a, b)} for name in shared}


def _pairs(cross_distances: pd.DataFrame | None) -> dict[tuple[tuple[int, int], tuple[int, int]], float]:
    if cross_distances is None:
        return {}
    columns = (cross_distances[name].tolist() for name in ("layer_a", "head_a", "layer_b", "head_b", "value"))
    return {((la, ha), (lb, hb)): value for la, ha, lb, hb, value in zip(*columns, strict=True)}


def _refuse_other(folder: Path) -> None:
    """A folder that holds something else is left alone; an older comparison is replaced."""
    if (folder / "manifest.json").exists():
        try:
            open_comparison(folder)
        except AtlasError as error:
            raise AtlasError(
                f"{folder}: holds something other than a comparison. Choose another --out folder."
            ) from error
