"""`ablate`: remove heads of a model on one or several tasks, and leave a folder of tables behind."""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from headatlas.choices import AblationKind, TaskHead
from headatlas.commands.ablate.causal_run import run_causal
from headatlas.commands.ablate.choosing import make_task
from headatlas.commands.ablate.classification import Pooling
from headatlas.commands.ablate.settings import AblationSettings, check_tasks
from headatlas.commands.ablate.shard_run import check_sharing, run_share
from headatlas.commands.ablate.task_run import run_task
from headatlas.corpora.coreference.read import CoreferenceFormat
from headatlas.corpora.files import Files, describe_files, find_files
from headatlas.corpora.keyphrases.read import KeyphraseFormat
from headatlas.corpora.text import TextFormat
from headatlas.corpora.treebanks.read import TreebankFormat
from headatlas.engine.locking import alone_in_out
from headatlas.engine.pieces import Pieces
from headatlas.engine.stopping import ctrl_c
from headatlas.errors import SettingError
from headatlas.files import make_folder
from headatlas.models.heads import check_head, parse_head
from headatlas.models.identity import describe_model
from headatlas.models.loading import choose_device, choose_dtype, open_model
from headatlas.models.model import Model, check_length
from headatlas.models.stacks import Stack
from headatlas.remote import local_folder, send
from headatlas.results.atlas import ATLAS, SHARD, Atlas, write_manifest, write_tables
from headatlas.results.finished import already_done
from headatlas.versions import moment, versions

STATE = "state"  # folder of what is finished, while a run lasts
_HEADS: dict[str, TaskHead] = {
    "classification": "classification",
    "keyphrases": "token-classification",
    "translation": "sequence-to-sequence",
}


@alone_in_out("ablate")
def ablate(
    model: str | Model,
    *,
    task: str | Sequence[str],
    out: str | Path,
    text: Files | None = None,
    data: Files | None = None,
    train: Files | None = None,
    pairs: Files | None = None,
    treebank: Files | None = None,
    coreference: Files | None = None,
    eval: Files | None = None,
    atlas: str | Path | None = None,
    kind: AblationKind = "zero",
    examples: int = 300,
    max_tokens: int = 128,
    batch_tokens: int = 4096,
    columns: Sequence[str] | None = None,
    sets: Sequence[str] | None = None,
    train_share: float = 0.5,
    pooling: Pooling = "mean",
    heads: Sequence[str] | None = None,
    curves: bool = True,
    steps: int = 10,
    random_orders: int = 5,
    controls: int = 4,
    words: int = 200,
    bootstrap: int = 1000,
    seed: int = 0,
    stack: Stack | None = None,
    device: str = "auto",
    dtype: str = "float32",
    revision: str | None = None,
    text_format: TextFormat = "auto",
    treebank_format: TreebankFormat = "auto",
    coreference_format: CoreferenceFormat = "auto",
    keyphrase_format: KeyphraseFormat = "auto",
    trust_remote_code: bool = False,
    shard: str | None = None,
    progress: bool = True,
) -> Atlas:
    """Find out which heads a model needs, by removing them, and return the folder of tables.

    >>> found = ablate("bert-base-uncased", task="masked-lm", text="wiki.txt", out="ablation")   # doctest: +SKIP
    >>> found.tables["ablation"].nsmallest(5, "change")                                          # doctest: +SKIP

    A run that was stopped goes on where it stood; one that has finished is opened.
    task: masked-lm, next-token (with `text`), classification, translation (with `data`), minimal-pairs (with `pairs`),
        keyphrases (a tagger made by `keyphrases`, with `data`),
        probe (trained on `treebank`, scored on `eval`), causal (with `atlas` and `treebank` or `coreference`), or
        several of them.
    kind: what stands in for a removed head: zero, its mean output, or its output at another token (resample).
    examples: at most so many are scored.
    columns: of `data`: text, label; or text, text, label; or source, target.
    train, train_share: where a classifier is trained, other files to train it on, else this share of `data`.
    heads: remove only these, such as "3-1", and draw no curves; by default all.
    steps, random_orders: of the removal curves.
    words, controls: of the causal test: pairs of words a relation, and other heads of the layer to compare with.
    stack: of an encoder-decoder: encoder (default), decoder or cross.
    shard: "2/8" scores the second eighth of the batches and leaves the scores in the folder, for `merge`.
    """
    started = time.monotonic()
    folder, tasks = local_folder(out), [task] if isinstance(task, str) else list(task)
    chosen = AblationSettings(
        kind=kind,
        examples=examples,
        max_tokens=max_tokens,
        batch_tokens=batch_tokens,
        columns=tuple(columns) if columns else None,
        sets=tuple(sets) if sets else None,
        train_share=train_share,
        pooling=pooling,
        heads=tuple(heads) if heads else None,
        curves=curves,
        steps=steps,
        random_orders=random_orders,
        controls=controls,
        words=words,
        bootstrap=bootstrap,
        seed=seed,
        text_format=text_format,
        treebank_format=treebank_format,
        coreference_format=coreference_format,
        keyphrase_format=keyphrase_format,
        shard=shard,
    )
    chosen.check()
    given = {
        "text": text, "data": data, "train": train, "pairs": pairs,
        "treebank": treebank, "coreference": coreference, "eval": eval,
    }  # fmt: skip
    files = {
        name: find_files(named, name, folders=name == "data" and "keyphrases" in tasks)
        for name, named in given.items()
        if named is not None
    }
    check_tasks(tasks, [*files, *(["atlas"] if atlas is not None else [])])
    choose_device(device), choose_dtype(dtype)
    model = open_model(
        model,
        revision=revision,
        device=device,
        dtype=dtype,
        seed=seed,
        task_head=next((_HEADS[name] for name in tasks if name in _HEADS), None),
        trust_remote_code=trust_remote_code,
    )
    stack = _choose_stack(model, stack, tasks)
    if shard is not None:
        check_sharing(tasks, model)
    kind_of_folder = ATLAS if shard is None else SHARD
    check_length(max_tokens, model.longest_input, model.name)
    removed = [parse_head(name) for name in heads or ()]
    for layer, head in removed:
        check_head(layer, head, model.shapes[stack], model.name)
    described = {name: describe_files(paths) for name, paths in files.items()}
    decisive = {
        "model": model.name,
        "weights": model.source.get("weights_sha256") or model.source.get("commit"),
        "dtype": str(model.dtype).removeprefix("torch."),
        "attention": stack,
        "tasks": tasks,
        "atlas": None if atlas is None else str(atlas),
        "corpora": {name: [record["sha256"] for record in records] for name, records in described.items()},
        **{name: list(value) if isinstance(value, tuple) else value for name, value in asdict(chosen).items()},
    }
    if already_done(folder, decisive, kind_of_folder):
        send(folder, out)
        return Atlas(folder)
    make_folder(folder)
    manifest: dict[str, Any] = {
        "complete": False,
        "started": moment(),
        "settings": decisive,
        "model": describe_model(model, stack),
        "versions": versions("pandas", "scikit-learn", "scipy"),
    }
    write_manifest(folder, manifest, kind_of_folder)
    tables: dict[str, list[pd.DataFrame]] = {}
    corpora: dict[str, Any] = {}
    summary: dict[str, Any] = {}
    with ctrl_c() as stop:
        pieces = Pieces(folder / STATE, stop.is_set)
        for name in tasks:
            if name == "causal":
                found = run_causal(model, files, atlas or "", chosen, progress, pieces.of(name))
            else:
                task_made = make_task(name, model, files, chosen, folder / STATE / name, progress)
                run = run_task if shard is None else run_share
                found = run(task_made, stack, removed, chosen, progress, pieces.of(name))
            for table, frame in found.tables.items():
                tables.setdefault(table, []).append(frame)
            corpora[name] = {"files": _files_of(described, found.reads), **found.about, "left_out": found.left_out}
            summary[name] = found.summary
    if shard is not None:
        kept = sum(1 for _ in (folder / STATE).rglob("*.safetensors"))
        write_manifest(folder, manifest | {"complete": True, "finished": moment(), "pieces": kept}, kind_of_folder)
        send(folder, out)
        return Atlas(folder)
    rows = write_tables(folder, {name: pd.concat(frames, ignore_index=True) for name, frames in tables.items()})
    manifest |= {
        "complete": True,
        "finished": moment(),
        "seconds": round(time.monotonic() - started, 1),
        "corpora": corpora,
        "summary": summary,
        "tables": rows,
    }
    write_manifest(folder, manifest)
    shutil.rmtree(folder / STATE, ignore_errors=True)
    send(folder, out)
    return Atlas(folder)


def _choose_stack(model: Model, stack: Stack | None, tasks: Sequence[str]) -> Stack:
    chosen = model.require_stack(stack or model.default_stack)
    if model.is_encoder_decoder and chosen != "encoder" and tasks != ["translation"]:
        raise SettingError(f"--attention {chosen}: of an encoder-decoder's tasks only translation uses its {chosen}.")
    return chosen


def _files_of(described: Mapping[str, list[dict[str, Any]]], reads: Sequence[str]) -> list[dict[str, Any]]:
    return [record for name in reads for record in described.get(name, [])]
