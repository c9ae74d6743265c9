"""`ablate`: remove heads of a model on one or several tasks, and leave a folder of tables behind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from headatlas.commands.ablate.labelled import digests_of, label_importance, open_atlas_of
from headatlas.commands.ablate.options import FILES, AblateOptions
from headatlas.commands.ablate.tables import SET_AGREEMENT, SET_CHANGES
from headatlas.commands.ablate.task import Task, check_contract
from headatlas.commands.ablate.task_run import TaskResult, run_task
from headatlas.commands.ablate.tasks import TASKS, needs_of
from headatlas.commands.ablate.tasks.causal import run_causal
from headatlas.commands.shared.options import list_names
from headatlas.corpora.files import describe_files, find_files
from headatlas.engine.run_folder import RunFolder, RunPart
from headatlas.errors import HeadatlasError, PluginError, SettingError, first_line
from headatlas.models.facts import check_length, describe_model, model_identity
from headatlas.models.loading import choose_device
from headatlas.models.model import Model
from headatlas.models.stacks import Stack, parse_heads
from headatlas.plugins import packages_of
from headatlas.progress import stage
from headatlas.results.folder import Results, write_tables
from headatlas.statistics.correlation import fisher_interval, pearson, permuted_within, spearman
from headatlas.statistics.paired import holm
from headatlas.statistics.resampling import permutation_p_value


def run_ablate(options: AblateOptions) -> Results:
    """Remove heads on every task; write the tables, or for a shard the scores of its batches."""
    with RunFolder(options.out, "ablate") as run:
        _ablate(options, run)
        return Results(run.folder)


def _ablate(options: AblateOptions, run: RunFolder) -> None:
    tasks = options.tasks
    needs = {name: needs_of(name) for name in tasks}
    with_folders = {option for name in tasks if needs[name].folders for option in needs[name].data}
    files = {
        name: find_files(getattr(options, name), name, folders=name in with_folders)
        for name in FILES
        if getattr(options, name) is not None
    }
    also = {name: find_files(path, "also") for name, path in (options.also or {}).items()}
    choose_device(options.placed_on)
    head = next((needs[name].head for name in tasks if needs[name].head), None)
    model = options.load(options.model, seed=options.seed, task_head=head, random_weights=options.random_weights)
    stack = _choose_stack(model, options)
    if options.shard is not None:
        _check_sharing(tasks, model)
    check_length(options.max_tokens, model.network, model.tokenizer, model.name)
    removed = parse_heads(list_names(options.heads) or [], model.shapes[stack], model.name)
    described = {name: describe_files(paths) for name, paths in files.items()}
    described_also = {name: describe_files(paths) for name, paths in also.items()}
    hashes = {name: [record["sha256"] for record in records] for name, records in described.items()}
    hashes_also = {name: [record["sha256"] for record in records] for name, records in described_also.items()}
    atlas = None if options.atlas is None else open_atlas_of(model, options.atlas, stack)
    known = {"corpora": hashes, "also": hashes_also, "atlas_tables": digests_of(atlas)}
    if run.finished(model_identity(model, stack) | options.settings() | known):
        return
    run.begin(model=describe_model(model, stack), plugins=packages_of(TASKS, tasks))
    tables: dict[str, list[pd.DataFrame]] = {}
    corpora: dict[str, Any] = {}
    summary: dict[str, Any] = {}
    for name in tasks:
        results = _run_task(name, model, files, also, stack, removed, options, run.part(name))
        for title, result in results.items():
            for table, frame in result.tables.items():
                tables.setdefault(table, []).append(frame)
            read = [record for option in needs[name].reads for record in described.get(option, [])]
            records = described_also.get(title.partition(":")[2], read)
            corpora[title] = {"files": records, **result.about, "left_out": result.left_out}
            summary[title] = result.summary
    if options.shard is not None:
        run.finish(pieces=sum(1 for _ in run.state.rglob("*.safetensors")))
    else:
        frames = {name: pd.concat(parts, ignore_index=True) for name, parts in tables.items()}
        drawing = {"seed": options.seed, "resamplings": options.bootstrap}
        if also:
            frames["set_changes"] = changes_of_sets(frames["ablation"])
            frames["set_agreement"] = agreement_of_sets(frames["set_changes"], summary, **drawing)
        if atlas is not None and "ablation" in frames and "behaviours" in atlas.tables:
            frames["label_importance"] = label_importance(
                frames["ablation"], frames["importance"], atlas.tables["behaviours"], **drawing
            )
        run.finish(keep_state=False, corpora=corpora, summary=summary, tables=write_tables(run.folder, frames))


def _run_task(
    name: str,
    model: Model,
    files: Mapping[str, list[Path]],
    also: Mapping[str, list[Path]],
    stack: Stack,
    removed: Sequence[tuple[int, int]],
    options: AblateOptions,
    part: RunPart,
) -> dict[str, TaskResult]:
    """Remove heads on a task and on its other sets, by title. If a task of another package fails, the error says so."""
    if name == "causal":
        return {name: run_causal(model, files, options, part)}
    try:
        task = _read_task(name, model, files, options, part)
        if not TASKS.is_own(name):
            check_contract(task, name)
        option = next(option for option in needs_of(name).data if option in files)
        others = {key: task.again({**files, option: paths}, options, part.state) for key, paths in also.items()}
        results = {name: run_task(task, stack, removed, options, part)}
        for set_name, other in others.items():
            other.title = f"{name}:{set_name}"
            results[other.title] = run_task(other, stack, removed, options, part.part(f"set-{set_name}"))
        return results
    except HeadatlasError:
        raise
    except Exception as error:
        if TASKS.is_own(name):
            raise
        raise PluginError(
            f"The task '{name}' of the package {TASKS.found[name].source} failed "
            f"({type(error).__name__}: {first_line(error)}). Mend or uninstall the package."
        ) from error


def _read_task(name: str, model: Model, files: Mapping[str, list[Path]], options: AblateOptions, part: RunPart) -> Task:
    """Read a task; one that is trained names its own stages."""
    with nullcontext() if needs_of(name).trained else stage(f"Reading the examples: {name}"):
        return TASKS[name].read(model, files, options, part.state)


def _choose_stack(model: Model, options: AblateOptions) -> Stack:
    stack = model.require_stack(options.attention or model.default_stack)
    if model.is_encoder_decoder and stack != "encoder":
        for name in options.tasks:
            if needs_of(name).head != "sequence-to-sequence":
                raise SettingError(f"--attention {stack}: the task {name} uses the encoder alone. Remove one of them.")
    return stack


def _check_sharing(tasks: Sequence[str], model: Model) -> None:
    """Refuse tasks that are trained here: every machine would train one of its own."""
    for name in tasks:
        needs = needs_of(name)
        if needs.trained and not (needs.head and model.task_head == needs.head):
            remedy = f", or give a model with a head for {needs.head}." if needs.head else "."
            raise SettingError(
                f"--shard is not available for {name}: what is trained differs from machine to machine. Run it "
                f"without --shard{remedy}"
            )


NULL_QUANTILE = 0.95


def changes_of_sets(ablation: pd.DataFrame) -> pd.DataFrame:
    """One row per pair of sets, measure and head: the change on either set."""
    frames: list[pd.DataFrame] = []
    for first, second in combinations(dict.fromkeys(ablation["task"]), 2):
        rows_a, rows_b = (ablation[ablation["task"] == name] for name in (first, second))
        merged = rows_a.merge(rows_b, on=["measure", "layer", "head"], suffixes=("_a", "_b"))
        frames.append(merged.assign(set_a=first, set_b=second)[list(SET_CHANGES.names)])
    return pd.concat(frames, ignore_index=True)


def agreement_of_sets(
    changes: pd.DataFrame, summaries: Mapping[str, Mapping[str, Any]], *, seed: int, resamplings: int
) -> pd.DataFrame:
    """Do the same heads matter on two sets of examples (in-domain and out, matched and mismatched)? One row per pair.

    Each head is a point: the change without it on one set and on the other. The interval of their correlation resamples
    heads. What is left if heads are not the same is the correlation after permuting the heads of one set within their
    layers, which keeps whatever layers have in common. summaries: of each set, as in the manifest.
    """
    frame = pd.DataFrame(list(_agreements(changes, summaries, seed, resamplings)))
    return frame.assign(p_holm=holm(frame["p_value"].to_numpy(dtype=np.float64)))[list(SET_AGREEMENT.names)]


def _agreements(
    changes: pd.DataFrame, summaries: Mapping[str, Mapping[str, Any]], seed: int, resamplings: int
) -> Iterator[dict[str, object]]:
    for (first, second, measure), rows in changes.groupby(["set_a", "set_b", "measure"], sort=False):
        a, b = (rows[column].to_numpy(dtype=np.float64) for column in ("change_a", "change_b"))
        drawn = np.random.default_rng([seed, 13]).integers(len(a), size=(resamplings, len(a)))
        by_rank, linear = float(spearman(a, b)), float(pearson(a, b))
        low, high = fisher_interval(by_rank, spearman(a[drawn], b[drawn]), len(a))
        pearson_low, pearson_high = fisher_interval(linear, pearson(a[drawn], b[drawn]), len(a))
        permuted = b[permuted_within(rows["layer"].to_numpy(dtype=np.int64), resamplings, seed)]
        null = spearman(np.broadcast_to(a, permuted.shape), permuted)
        known = not np.isnan(by_rank)
        halves = summaries[str(first)]["change_of_halves"]
        yield {
            "set_a": first,
            "set_b": second,
            "measure": measure,
            "spearman": by_rank,
            "low": low,
            "high": high,
            "pearson": linear,
            "pearson_low": pearson_low,
            "pearson_high": pearson_high,
            "null_mean": float(np.mean(null)) if known else np.nan,
            "null_high": float(np.quantile(null, NULL_QUANTILE)) if known else np.nan,
            "p_value": permutation_p_value(by_rank, null) if known else np.nan,
            "halves": np.nan if halves is None or measure != summaries[str(first)]["harm_measured_by"] else halves,
            "count": len(a),
        }
