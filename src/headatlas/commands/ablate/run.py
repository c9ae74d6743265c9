"""`ablate`: remove heads of a model on one or several tasks, and leave a folder of tables behind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from headatlas.choices import TaskHead
from headatlas.commands.ablate.causal import run_causal
from headatlas.commands.ablate.classification import Classification
from headatlas.commands.ablate.keyphrases import KeyphraseTagging
from headatlas.commands.ablate.minimal_pairs import MinimalPairs
from headatlas.commands.ablate.options import CORPUS_OF_TASK, TRAINED_ON, AblateOptions
from headatlas.commands.ablate.probe import ProbeParsing
from headatlas.commands.ablate.task import Task
from headatlas.commands.ablate.task_run import run_task
from headatlas.commands.ablate.token_prediction import MaskedLM, NextToken
from headatlas.commands.ablate.translation import Translation
from headatlas.commands.shared.heads import parse_heads
from headatlas.commands.shared.options import list_names
from headatlas.corpora.files import describe_files, find_files
from headatlas.engine.run_folder import RunFolder
from headatlas.errors import SettingError
from headatlas.models.identity import describe_model, model_identity
from headatlas.models.loading import choose_device
from headatlas.models.model import Model, check_length
from headatlas.models.stacks import Stack
from headatlas.results.folder import Results, write_tables

READERS: dict[str, Callable[[Model, Mapping[str, list[Path]], AblateOptions, Path], Task]] = {
    MaskedLM.name: MaskedLM.read,
    NextToken.name: NextToken.read,
    Classification.name: Classification.read,
    MinimalPairs.name: MinimalPairs.read,
    Translation.name: Translation.read,
    KeyphraseTagging.name: KeyphraseTagging.read,
    ProbeParsing.name: ProbeParsing.read,
}
"""Task -> how it is made of a model, files, options and a folder for what its training leaves behind."""

_HEADS: dict[str, TaskHead] = {
    "classification": "classification",
    "keyphrases": "token-classification",
    "translation": "sequence-to-sequence",
}


def run_ablate(options: AblateOptions) -> Results:
    """Remove heads on every task; write the tables, or for a shard the scores of its batches."""
    with RunFolder(options.out, "ablate") as run:
        _ablate(options, run)
        return Results(run.folder)


def _ablate(options: AblateOptions, run: RunFolder) -> None:
    tasks = options.tasks
    files = {
        name: find_files(getattr(options, name), name, folders=name == "data" and "keyphrases" in tasks)
        for name in dict.fromkeys([*CORPUS_OF_TASK.values(), *TRAINED_ON.values(), "coreference"])
        if getattr(options, name) is not None
    }
    choose_device(options.placed_on)
    head = next((_HEADS[name] for name in tasks if name in _HEADS), None)
    model = options.load(options.model, seed=options.seed, task_head=head)
    stack = _choose_stack(model, options)
    if options.shard is not None:
        _check_sharing(tasks, model)
    check_length(options.max_tokens, model.longest_input, model.name)
    removed = parse_heads(list_names(options.heads) or [], model.shapes[stack], model.name)
    described = {name: describe_files(paths) for name, paths in files.items()}
    hashes = {name: [record["sha256"] for record in records] for name, records in described.items()}
    if run.finished(model_identity(model, stack) | options.settings() | {"corpora": hashes}):
        return
    run.begin(model=describe_model(model, stack))
    tables: dict[str, list[pd.DataFrame]] = {}
    corpora: dict[str, Any] = {}
    summary: dict[str, Any] = {}
    for name in tasks:
        part = run.part(name)
        if name == "causal":
            result = run_causal(model, files, options, part)
        else:
            result = run_task(READERS[name](model, files, options, part.state), stack, removed, options, part)
        for table, frame in result.tables.items():
            tables.setdefault(table, []).append(frame)
        records = [record for option in result.reads for record in described.get(option, [])]
        corpora[name] = {"files": records, **result.about, "left_out": result.left_out}
        summary[name] = result.summary
    if options.shard is not None:
        run.finish(pieces=sum(1 for _ in run.state.rglob("*.safetensors")))
    else:
        frames = {name: pd.concat(parts, ignore_index=True) for name, parts in tables.items()}
        run.finish(keep_state=False, corpora=corpora, summary=summary, tables=write_tables(run.folder, frames))


def _choose_stack(model: Model, options: AblateOptions) -> Stack:
    stack = model.require_stack(options.attention or model.default_stack)
    if model.is_encoder_decoder and stack != "encoder" and options.tasks != ["translation"]:
        raise SettingError(f"--attention {stack}: of an encoder-decoder's tasks only translation uses its {stack}.")
    return stack


def _check_sharing(tasks: Sequence[str], model: Model) -> None:
    """Refuse tasks that are trained here: every machine would train one of its own."""
    brought = {"classification"} if model.task_head == "classification" else set()
    if trained := [task for task in tasks if task in set(TRAINED_ON) - brought]:
        raise SettingError(
            f"--shard is not available for {trained[0]}: what is trained differs from machine to machine. Run it "
            "without --shard" + (", or give a model with a classifier." if trained[0] == "classification" else ".")
        )
