"""Which heads go: named ones, or the share that a model needs least.

Least needed is what `headatlas ablate` found: the smallest importance (Michel et al. 2019, section 4.1), or the least
harm when removed alone. Heads that share weights go together, and are ranked by the sum of their values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from headatlas.choices import PruneBy
from headatlas.commands.ablate.importance import example_importance
from headatlas.commands.ablate.task import Task
from headatlas.commands.ablate.token_prediction import MaskedLM, NextToken
from headatlas.corpora.text import TextFormat, read_text
from headatlas.encoding.segments import sample_segments
from headatlas.engine.progress import TokenProgress
from headatlas.errors import AtlasError, SettingError
from headatlas.models.heads import check_head, parse_head
from headatlas.models.model import Model
from headatlas.models.pruning import Head
from headatlas.models.stacks import HeadShape
from headatlas.results.atlas import open_atlas

BY: tuple[PruneBy, ...] = get_args(PruneBy)


def named_heads(names: Sequence[str], shape: HeadShape, model: str) -> list[Head]:
    """Heads by names such as 8-10, each of which exists, once and in order."""
    heads = sorted({parse_head(name) for name in names})
    for layer, head in heads:
        check_head(layer, head, shape, model)
    return heads


def least_needed(values: Mapping[Head, float], bound: Sequence[tuple[Head, ...]], share: float) -> list[Head]:
    """About this share of all heads, those of the smallest values first; heads that are bound together all or none.

    Taken while the number removed comes nearer to the share.
    """
    wanted = share * len(values)
    chosen: list[Head] = []
    for heads in sorted(bound, key=lambda heads: sum(values[head] for head in heads)):
        if wanted - len(chosen) < len(heads) / 2:
            break
        chosen += heads
    if not chosen:
        raise SettingError(f"--share {share} of {len(values)} heads is not one head. Use a larger share.")
    return sorted(chosen)


def values_of_tables(folder: str | Path, by: PruneBy, task: str | None, model: Model) -> dict[Head, float]:
    """What an ablation of this very model found of each head; the larger, the more it is needed."""
    found = open_atlas(folder)
    if by not in found.tables:
        raise AtlasError(
            f"{folder}: has no table {by!r}. Make one with: headatlas ablate {model.name} --task ... --out DIR"
        )
    weights = model.source.get("weights_sha256") or model.source.get("commit")
    if found.manifest.get("settings", {}).get("weights") != weights:
        other = found.manifest.get("model", {}).get("name", "another model")
        raise AtlasError(f"{folder}: is an ablation of other weights ({other}) than those of {model.name}.")
    table = found.tables[by]
    tasks = list(dict.fromkeys(table["task"]))
    if task is None and len(tasks) > 1:
        raise SettingError(f"{folder} holds several tasks. Choose one with --task: {', '.join(tasks)}.")
    if task is not None and task not in tasks:
        raise SettingError(f"{folder} does not hold the task {task}. It holds: {', '.join(tasks)}.")
    rows = table[table["task"] == (task or tasks[0])]
    if by == "ablation":
        rows = rows[rows["measure"] == rows["measure"].iloc[0]]
    need = rows["value"] if by == "importance" else -rows["change"]
    values = dict(zip(zip(rows["layer"].tolist(), rows["head"].tolist(), strict=True), need.tolist(), strict=True))
    total = model.shapes[model.default_stack].total
    if len(values) != total or need.isna().any():
        raise AtlasError(
            f"{folder}: its table {by!r} knows {need.count()} of the model's {total} heads. Ablate all of them."
        )
    return values


def importance_on_text(
    model: Model,
    files: Sequence[Path],
    text_format: TextFormat,
    *,
    examples: int,
    max_tokens: int,
    batch_tokens: int,
    seed: int,
    progress: bool,
) -> tuple[dict[Head, float], dict[str, Any]]:
    """The importance of each head in predicting the masked or next tokens of a text, and what was read and left out."""
    sample = sample_segments(
        read_text(list(files), text_format), model.tokenizer, count=examples, max_tokens=max_tokens, seed=seed
    )
    task: Task
    if model.language_model == "causal":
        task = NextToken(model, sample.segments, batch_tokens=batch_tokens)
    else:
        task = MaskedLM(model, sample.segments, batch_tokens=batch_tokens, seed=seed)
    stack = model.default_stack
    with TokenProgress("importance", sum(batch.size for batch in task.batches), show=progress) as bar:
        means = example_importance(task, stack, bar.advance).mean(0)  # [L, H]
    values = {(layer + 1, head + 1): float(means[layer, head]) for layer, head in model.shapes[stack].places}
    return values, {"task": task.name, **task.about, "left_out": sample.left_out | task.left_out}
