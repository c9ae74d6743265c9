"""`prune`: cut heads out of a model's weights, check and measure what is left, and save it.

Without names, the heads that a model needs least go, as `headatlas ablate` measures it: those with the smallest
importance (Michel et al. 2019, section 4.1), or those that harm least when removed alone. Heads that share weights go
together, and are ranked by the sum of their values.

DIR/config.json, model.safetensors, tokenizer files    the model
DIR/headatlas_pruning.json    which heads of which model were kept
DIR/manifest.json             how they were chosen, sizes, measured speed and memory, versions
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from headatlas.choices import PruneBy
from headatlas.commands.ablate.importance import example_importance
from headatlas.commands.ablate.tasks.token_prediction import MaskedLM, NextToken
from headatlas.commands.prune.measuring import check_same, compare_memory, compare_speed, sizes
from headatlas.commands.prune.options import PruneOptions
from headatlas.commands.shared.options import list_names
from headatlas.corpora.files import describe_files, find_files
from headatlas.corpora.sample import sample_text
from headatlas.corpora.text import read_text
from headatlas.encoding.batches import Batch, make_batch
from headatlas.encoding.segments import sample_segments
from headatlas.engine.run_folder import RunFolder
from headatlas.errors import AtlasError, SettingError
from headatlas.files import others_write
from headatlas.models.facts import check_length, describe_model, model_identity
from headatlas.models.head_layouts import attention_blocks
from headatlas.models.loading import choose_device, load_model
from headatlas.models.model import Model
from headatlas.models.observing import quiet_transformers
from headatlas.models.pruning import Head, bound_heads, pruned_copy
from headatlas.models.sources import Pruning
from headatlas.models.stacks import parse_heads
from headatlas.progress import stage
from headatlas.results.atlas import open_results
from headatlas.results.folder import Results
from headatlas.wording import counted

_CHECKED_INPUTS, _CHECKED_TOKENS = 8, 128
_ROUNDS, _ENOUGH_SECONDS = 5, 20.0


class PrunedFolder(Results):
    """A pruned model on disk, with a manifest that says how it was made and what it saves."""

    command, called = "prune", "a pruned model"

    def load(self, **options: Any) -> Model:
        """Load the pruned model, ready to observe; options as of `load_model`."""
        return load_model(str(self.folder), **options)


def run_prune(options: PruneOptions) -> PrunedFolder:
    """Choose the heads, cut them out, check and measure what is left, and save it."""
    with RunFolder(options.out, "prune") as run:
        _prune(options, run)
        return PrunedFolder(run.folder)


def _prune(options: PruneOptions, run: RunFolder) -> None:
    if run.earlier is None and any(not path.name.startswith(".") for path in run.folder.iterdir()):
        raise AtlasError(f"{run.folder}: there are other files in it. Choose another --out folder.")
    files = find_files(options.text, "text") if options.text is not None else []
    choose_device(options.placed_on)
    model = options.load(options.model, as_saved=True)
    blocks = attention_blocks(model.network, model.name)
    stack, described = model.default_stack, describe_files(files)
    if files:
        check_length(options.max_tokens, model.network, model.tokenizer, model.name)
    names = list_names(options.heads)
    settings = {
        **model_identity(model, stack),
        **options.settings(),
        "heads": names,
        "ablation": None if options.ablation is None else str(options.ablation),
        "text": [record["sha256"] for record in described],
    }
    if run.finished(settings):
        return
    corpora: dict[str, Any] = {}
    if names is not None:
        removed = sorted(set(parse_heads(names, model.shapes[stack], model.name)))
    else:
        if options.ablation is not None:
            values = read_values(options.ablation, options.by or "importance", options.task, model)
        else:
            values, about = _importance_on_text(_language_model(model, options), files, options)
            corpora["text"] = {"files": described, **about}
        removed = least_needed(values, bound_heads(blocks), options.share or 0)
    with stage(f"Cutting out {counted(len(removed), 'head')}", total=2) as bar:
        smaller = pruned_copy(model.network, removed, _identity(model), model.name)
        bar.advance()
        batch = _sample(model)
        difference = check_same(model, smaller, removed, batch)
    run.begin(model=describe_model(model, stack), corpora=corpora)
    with quiet_transformers(), others_write(run.folder):
        smaller.save_pretrained(run.folder)
        model.tokenizer.save_pretrained(run.folder)
    record: Pruning = smaller.headatlas_pruning
    with stage("Timing both models"):
        speed = compare_speed(model, smaller, batch, _ROUNDS, _ENOUGH_SECONDS)
        peak_memory = compare_memory(model.network, smaller, model.inputs(batch))
    run.finish(
        saved_as=type(smaller).__name__,
        removed=[f"{layer}-{head}" for layer, head in removed],
        base=dict(record.base),
        kept_heads=[list(layer) for layer in record.kept_heads],
        **sizes(model, smaller, removed, run.folder),
        speed=speed,
        peak_memory=peak_memory,
        measured_on={"inputs": list(batch.input_ids.shape), "device": str(model.device)},
        difference_from_gating=difference,
    )


def least_needed(values: Mapping[Head, float], bound: Sequence[tuple[Head, ...]], share: float) -> list[Head]:
    """Choose about this share of all heads, those with the smallest values first.

    Heads that are bound together go all or none, as long as the number removed comes nearer to the share.
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


def read_values(folder: str | Path, by: PruneBy, task: str | None, model: Model) -> dict[Head, float]:
    """Read what an ablation of this model found for each head; the larger, the more the head is needed."""
    ablation = open_results(folder)
    if by not in ablation.tables:
        raise AtlasError(
            f"{folder}: has no table {by!r}. Make one with: headatlas ablate {model.name} --task ... --out DIR"
        )
    weights = model.source.get("weights_sha256") or model.source.get("commit")
    if ablation.manifest.get("settings", {}).get("weights") != weights:
        other = ablation.manifest.get("model", {}).get("name", "another model")
        raise AtlasError(f"{folder}: is an ablation of other weights ({other}) than those of {model.name}.")
    table = ablation.tables[by]
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


def _importance_on_text(
    model: Model, files: list[Path], options: PruneOptions
) -> tuple[dict[Head, float], dict[str, Any]]:
    """The importance of each head for predicting the masked or next tokens of a text, and what was read."""
    prediction = NextToken if model.language_model == "causal" else MaskedLM
    task = prediction.read(model, {"text": files}, options)
    stack = model.default_stack
    description = f"Measuring importance: {counted(len(task.ids), 'example')}"
    with stage(description, sum(batch.size for batch in task.batches)) as bar:
        means = example_importance(task, stack, bar).mean(0)  # [L, H]
    values = {(layer + 1, head + 1): float(means[layer, head]) for layer, head in model.shapes[stack].places}
    return values, {"task": task.name, **task.about, "left_out": task.left_out}


def _language_model(model: Model, options: PruneOptions) -> Model:
    """The model with its language model head alone, if its own class has others beside it or in its place."""
    if model.language_model is not None or model.source["kind"] == "in memory":
        return model
    return options.load(options.model if isinstance(options.model, str) else model.name)


def _identity(model: Model) -> dict[str, Any]:
    """What tells the pruned model from all others."""
    keys = ("name", "kind", "class", "commit", "weights_sha256", "random_weights")
    return {key: model.source[key] for key in keys if model.source.get(key) is not None}


def _sample(model: Model) -> Batch:
    """The inputs on which the pruned network is checked and timed: a few segments of the embedded sample."""
    longest = min(_CHECKED_TOKENS, model.longest_input or _CHECKED_TOKENS)
    lines = read_text([sample_text()], "auto")
    sample = sample_segments(lines, model.tokenizer, count=_CHECKED_INPUTS, max_tokens=longest, seed=0)
    return make_batch(sample.segments, model.kinds, model.pad_id).to(model.device)
