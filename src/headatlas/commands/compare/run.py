"""`compare`: two atlases side by side, as a folder with their differences and their matched heads.

Heads are matched on segments that both models read in the same way. Whatever prevents that (a missing model or text,
changed weights, different tokenizers) is a `NotSharedError` with the reason; the rest of the comparison does without.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from headatlas.commands.compare.differences import (
    Manifest,
    Side,
    comparable,
    compared_tables,
    difference_table,
    differing_settings,
    not_compared,
    open_side,
    paired,
    rows_in_one_only,
    same_files,
    side_of,
)
from headatlas.commands.compare.matching import (
    behaviour_match_table,
    cross_distance_table,
    cross_models,
    head_match_table,
    match_summary,
)
from headatlas.commands.compare.options import CompareOptions
from headatlas.corpora.files import describe_files, find_files
from headatlas.corpora.text import TextFormat
from headatlas.encoding.segments import Segment
from headatlas.engine.corpora import Reading
from headatlas.engine.corpora.text import Text
from headatlas.engine.run_folder import RunFolder
from headatlas.errors import AtlasError, ModelError
from headatlas.files import sha256
from headatlas.models.loading import choose_device, load_model
from headatlas.models.model import Model
from headatlas.progress import stage
from headatlas.results.atlas import Atlas, Comparison
from headatlas.results.folder import write_tables
from headatlas.results.tables import TABLES
from headatlas.studies.kept_rows import rows_compared
from headatlas.views.words.about import resampled
from headatlas.wording import counted

Tables = dict[str, pd.DataFrame]
MOST_ROWS = 250_000  # of a table that is compared row by row; the pairs of 708 heads are more


def run_compare(options: CompareOptions) -> Comparison:
    """Compare two finished surveys, match their heads, and write the tables and the manifest.

    An older comparison is replaced when all is done.
    """
    with RunFolder(options.out, "compare") as run:
        _compare(options, run)
        return Comparison(run.folder)


def _compare(options: CompareOptions, run: RunFolder) -> None:
    choose_device(options.placed_on)
    files = None if options.text is None else find_files(options.text, "text")
    atlases = [open_side(side.folder if isinstance(side, Atlas) else side) for side in (options.a, options.b)]
    manifest_a, manifest_b = (atlas.manifest for atlas in atlases)
    with stage("Resampling both atlases"):
        (side_a, problem_a), (side_b, problem_b) = map(side_of, atlases)
    names, left_out = _choose_tables(side_a, side_b, manifest_a, manifest_b)
    with stage(f"Comparing {counted(len(names), 'table')}"):
        tables = {"differences": difference_table(side_a, side_b, names)}
    try:
        texts, reading = choose_reading(manifest_a, manifest_b, files, options.format_of("text"), options.segments)
        matched, about = _matched(manifest_a, manifest_b, texts, reading, options)
        tables |= matched
    except NotSharedError as reason:
        about = {"skipped": str(reason)}
    if "behaviours" in side_a.tables and "behaviours" in side_b.tables:
        tables["behaviour_matches"] = behaviour_match_table(
            side_a.tables["behaviours"], side_b.tables["behaviours"], _pairs(tables.get("cross_distances"))
        )
    rows = write_tables(run.folder, tables)
    rows_a, rows_b = (write_tables(run.folder / end, _of_heads(side)) for end, side in (("a", side_a), ("b", side_b)))
    run.settings = options.settings()
    run.finish(
        a={"folder": str(atlases[0].folder), "model": manifest_a["model"], "tables": rows_a},
        b={"folder": str(atlases[1].folder), "model": manifest_b["model"], "tables": rows_b},
        corpora=_corpora(manifest_a, manifest_b),
        settings_that_differ=differing_settings(manifest_a, manifest_b),
        without_intervals={end: why for end, why in (("a", problem_a), ("b", problem_b)) if why},
        not_compared=left_out,
        rows_in_one_only={
            name: only for name in names if any((only := rows_in_one_only(side_a, side_b, name)).values())
        },
        distances=about,
        tables=rows,
    )


def _matched(
    a: Manifest, b: Manifest, files: Sequence[Path], reading: Reading, options: CompareOptions
) -> tuple[Tables, dict[str, Any]]:
    """The tables of heads matched by distance, and what they were measured on."""
    model_a, model_b = (load_side(manifest, **options.loading) for manifest in (a, b))
    sample = shared_segments(model_a, model_b, files, reading)
    crossing = cross_models(
        (model_a, a["model"]["attention"]),
        (model_b, b["model"]["attention"]),
        sample,
        batch_tokens=options.batch_tokens,
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
        "files": describe_files(files),
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
    left_out = not_compared(every)
    settings = [about["settings"] for about in (about_a, about_b)]
    for table in compared_tables(every):
        name, has = table.name, [table.name in side.tables for side in (a, b)]
        otherwise = [setting for setting in table.settings if settings[0].get(setting) != settings[1].get(setting)]
        if all(has) and otherwise:
            left_out[name] = f"the surveys measured it differently: {', '.join(otherwise)}"
        elif all(has) and not comparable(table, a, b):
            left_out[name] = f"the models do not have the same number of {table.same}"
        elif all(has) and (rows := max(about["tables"][name] for about in (about_a, about_b))) > MOST_ROWS:
            left_out[name] = f"it has {rows:,} rows, more than the {MOST_ROWS:,} that are compared one by one"
        elif all(has):
            names[name] = paired(TABLES.made[name].corpus, about_a, about_b)
        else:
            left_out[name] = f"only {'A' if has[0] else 'B'} has it"
    if not names:
        raise AtlasError("The two atlases have no table in common. Survey both on the same kind of corpus.")
    if a.heads != b.heads:
        left_out["heads one by one"] = "the models do not have the same number of heads in every layer"
    if len(a.heads) != len(b.heads):
        left_out["means of layers"] = "the models do not have the same number of layers"
    return names, left_out


def _of_heads(side: Side) -> Tables:
    """The known tables of a side that name heads: with them the page can be made without the atlas."""
    known = [name for name in side.tables if name in TABLES and {"layer", "head"} <= set(TABLES[name].names)]
    return {name: side.tables[name] for name in known}


def _corpora(a: Manifest, b: Manifest) -> dict[str, dict[str, Any]]:
    shared: Sequence[str] = [name for name in a["corpora"] if name in b["corpora"]]
    return {
        name: {
            "same_files": same_files(name, a, b),
            "paired": paired(name, a, b),
            "resampled": [resampled(name, side["corpora"][name]) for side in (a, b)],
        }
        for name in shared
    }


def _pairs(cross_distances: pd.DataFrame | None) -> dict[tuple[tuple[int, int], tuple[int, int]], float]:
    if cross_distances is None:
        return {}
    columns = (cross_distances[name].tolist() for name in ("layer_a", "head_a", "layer_b", "head_b", "value"))
    return {((la, ha), (lb, hb)): value for la, ha, lb, hb, value in zip(*columns, strict=True)}


class NotSharedError(Exception):
    """Why the heads of two models cannot be compared on the same input."""


def choose_reading(
    a: Manifest, b: Manifest, files: Sequence[Path] | None, text_format: TextFormat, segments: int | None
) -> tuple[Sequence[Path], Reading]:
    """The given text, or the one that A was surveyed on if it still exists; cut as A's survey did."""
    settings = a["settings"]
    if files is None:
        files, text_format = _surveyed_text(a), settings.get("format", {}).get("text", "auto")
    reading = Reading(
        max_tokens=min(side["settings"].get("max_tokens", 128) for side in (a, b)),
        seed=settings["seed"],
        formats={"text": text_format},
        segments=segments or settings.get("segments", 1000),
        segment_style=settings.get("segment_style", "auto"),
        definitions="code" if settings.get("as_published", False) else "ours",
    )
    return files, reading


def load_side(manifest: Manifest, **loading: Any) -> Model:
    """The model that was surveyed, with the same weights."""
    about = manifest["model"]
    random = about.get("random_weights")
    revision = about.get("commit") or about.get("revision")
    seed, kind = (random["seed"], random["kind"]) if random else (0, None)
    try:
        model = load_model(about["name"], revision=revision, random_weights=kind, seed=seed, **loading)
    except ModelError as error:
        raise NotSharedError(f"a model can no longer be loaded: {error}") from error
    if model.source.get("weights_sha256") != about.get("weights_sha256"):
        raise NotSharedError(f"the weights of {about['name']} have changed since the survey.")
    shape = model.shapes.get(about["attention"])
    if shape is None or list(shape.heads) != about["heads"]:
        raise NotSharedError(f"{about['name']} does not have the heads that were surveyed.")
    return model


def shared_segments(a: Model, b: Model, files: Sequence[Path], reading: Reading) -> Sequence[Segment]:
    """Segments that are the same for both tokenizers, token by token."""
    if a.tokenizer.get_vocab() != b.tokenizer.get_vocab():
        raise NotSharedError("the two models do not share a tokenizer: their vocabularies differ.")
    samples = [Text().read(files, model.tokenizer, reading).segments for model in (a, b)]
    if not _same(*samples):
        raise NotSharedError(
            "the two models do not share a tokenizer: they have the same vocabulary but split the text differently."
        )
    return samples[0]


def _same(a: Sequence[Segment], b: Sequence[Segment]) -> bool:
    return len(a) == len(b) and all(
        of_a.id == of_b.id and np.array_equal(of_a.ids, of_b.ids) for of_a, of_b in zip(a, b, strict=True)
    )


def _surveyed_text(manifest: Manifest) -> list[Path]:
    if "text" not in manifest["corpora"]:
        raise NotSharedError("A was not surveyed on a text; give one with --text.")
    files = []
    for record in manifest["corpora"]["text"]["files"]:
        path = Path(record["file"])
        if not path.is_file():
            raise NotSharedError(f"{path}, which A was surveyed on, no longer exists; give a text with --text.")
        if sha256(path) != record["sha256"]:
            raise NotSharedError(f"{path} has changed since A was surveyed on it; give a text with --text.")
        files.append(path)
    return files
