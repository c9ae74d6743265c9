"""`prune`: cut heads out of a model's weights, check and measure what is left, and save it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headatlas.choices import PruneBy
from headatlas.commands.prune.choosing import BY, importance_on_text, least_needed, named_heads, values_of_tables
from headatlas.commands.prune.folder import PrunedFolder, holds_this_pruning
from headatlas.commands.prune.measuring import check_same, compare_speed, sizes
from headatlas.commands.prune.memory import compare_memory
from headatlas.corpora.files import Files, describe_files, find_files
from headatlas.corpora.sample import sample_text
from headatlas.corpora.text import TextFormat, read_text
from headatlas.encoding.batches import Batch, make_batch
from headatlas.encoding.segments import sample_segments
from headatlas.engine.locking import alone_in_out
from headatlas.errors import SettingError
from headatlas.files import make_folder, others_write
from headatlas.models.head_layouts import attention_blocks
from headatlas.models.identity import describe_model
from headatlas.models.loading import choose_device, choose_dtype, load_model, open_model
from headatlas.models.model import Model, check_length
from headatlas.models.observing import quiet_transformers
from headatlas.models.pruning import bound_heads, pruned_copy
from headatlas.models.sources import Pruning
from headatlas.results.atlas import PRUNING, write_manifest
from headatlas.versions import moment, versions

_CHECKED_INPUTS, _CHECKED_TOKENS = 8, 128
_ROUNDS, _ENOUGH_SECONDS = 5, 20.0


@alone_in_out("prune")
def prune(
    model: str | Model,
    *,
    out: str | Path,
    heads: Sequence[str] | None = None,
    by: PruneBy | None = None,
    share: float | None = None,
    ablation: str | Path | None = None,
    task: str | None = None,
    text: Files | None = None,
    examples: int = 300,
    max_tokens: int = 128,
    batch_tokens: int = 4096,
    seed: int = 0,
    device: str = "auto",
    dtype: str = "float32",
    revision: str | None = None,
    text_format: TextFormat = "auto",
    trust_remote_code: bool = False,
    progress: bool = True,
) -> PrunedFolder:
    """Cut heads out of a model and save what is left, in a folder that `load_model` and `load_pruned` load.

    >>> pruned = prune("bert-base-uncased", heads=["3-1", "5-7"], out="pruned")                 # doctest: +SKIP
    >>> prune("gpt2", by="importance", share=0.3, ablation="ablation", out="gpt2-pruned").load()   # doctest: +SKIP

    heads: those to remove, by the numbers of this model; of a pruned folder, by its own numbers.
    by, share: or so much of all heads, the least important first ("importance"), or those whose removal alone harms
        least ("ablation"), as the tables of the folder `ablation` say.
    task: which of that folder's tasks, where it has several.
    text: or the importance in predicting the tokens of these files, of `examples` segments.
    dtype: the weights are loaded, checked and saved in it.
    """
    started = time.monotonic()
    folder = Path(out)
    _check_choice(heads, by, share, ablation, task, text)
    files = find_files(text, "text") if text is not None else []
    choose_device(device), choose_dtype(dtype)
    model = open_model(
        model, revision=revision, device=device, dtype=dtype, as_saved=True, trust_remote_code=trust_remote_code
    )
    blocks = attention_blocks(model.network, model.name)
    stack, described = model.default_stack, describe_files(files)
    settings: dict[str, Any] = {
        "model": model.name,
        "weights": model.source.get("weights_sha256") or model.source.get("commit"),
        "dtype": str(model.dtype).removeprefix("torch."),
        "heads": list(heads) if heads else None,
        "by": by,
        "share": share,
        "ablation": None if ablation is None else str(ablation),
        "task": task,
        "text": [record["sha256"] for record in described],
    }
    if files:
        check_length(max_tokens, model.longest_input, model.name)
        settings |= {"examples": examples, "max_tokens": max_tokens, "seed": seed, "text_format": text_format}
    if holds_this_pruning(folder, settings):
        return PrunedFolder(folder)
    corpora: dict[str, Any] = {}
    if heads is not None:
        removed = named_heads(heads, model.shapes[stack], model.name)
    else:
        if ablation is not None:
            values = values_of_tables(ablation, by or "importance", task, model)
        else:
            values, read = importance_on_text(
                _language_model(model, revision, trust_remote_code),
                files,
                text_format,
                examples=examples,
                max_tokens=max_tokens,
                batch_tokens=batch_tokens,
                seed=seed,
                progress=progress,
            )
            corpora["text"] = {"files": described, **read}
        removed = least_needed(values, bound_heads(blocks), share or 0)
    smaller = pruned_copy(model.network, removed, _identity(model), model.name)
    batch = _sample(model)
    difference = check_same(model, smaller, removed, batch)
    manifest: dict[str, Any] = {
        "complete": False,
        "started": moment(),
        "settings": settings,
        "model": describe_model(model, stack),
        "corpora": corpora,
        "versions": versions("safetensors"),
    }
    make_folder(folder)
    write_manifest(folder, manifest, PRUNING)
    with quiet_transformers(), others_write(folder):
        smaller.save_pretrained(folder)
        model.tokenizer.save_pretrained(folder)
    record: Pruning = smaller.headatlas_pruning
    manifest |= {
        "complete": True,
        "finished": moment(),
        "saved_as": type(smaller).__name__,
        "removed": [f"{layer}-{head}" for layer, head in removed],
        "base": dict(record.base),
        "kept_heads": [list(layer) for layer in record.kept_heads],
        **sizes(model, smaller, removed, folder),
        "speed": compare_speed(model, smaller, batch, _ROUNDS, _ENOUGH_SECONDS),
        "peak_memory": compare_memory(model.network, smaller, model.inputs(batch)),
        "measured_on": {"inputs": list(batch.input_ids.shape), "device": str(model.device)},
        "difference_from_gating": difference,
        "seconds": round(time.monotonic() - started, 1),
    }
    write_manifest(folder, manifest, PRUNING)
    return PrunedFolder(folder)


def _check_choice(
    heads: Sequence[str] | None,
    by: str | None,
    share: float | None,
    ablation: str | Path | None,
    task: str | None,
    text: Files | None,
) -> None:
    """Refuse a choice of heads that says too little or two things at once."""
    if (heads is None) == (by is None):
        raise SettingError("Say which heads to remove: either --heads 3-1,5-7 or --by importance --share 0.3.")
    if heads is not None:
        if not heads:
            raise SettingError("--heads names no head.")
        if given := [f"--{name}" for name, value in _named(share, ablation, task, text) if value is not None]:
            raise SettingError(f"{given[0]} goes with --by, not with --heads.")
        return
    if by not in BY:
        raise SettingError(f"--by {by} is unknown. Use one of: {', '.join(BY)}.")
    if share is None or not 0 < share < 1:
        raise SettingError(f"--share must lie between 0 and 1, such as 0.3, not {share}.")
    if (ablation is None) == (text is None) or (by == "ablation" and ablation is None):
        either = ", or --text FILE to take it from" if by == "importance" else ""
        raise SettingError(f"--by {by} needs --from DIR, a folder that `headatlas ablate` made{either}.")
    if task is not None and ablation is None:
        raise SettingError("--task goes with --from.")


def _named(
    share: float | None, ablation: str | Path | None, task: str | None, text: Files | None
) -> list[tuple[str, object]]:
    return [("share", share), ("from", ablation), ("task", task), ("text", text)]


def _language_model(model: Model, revision: str | None, trust_remote_code: bool) -> Model:
    """The model with its language model head alone, where its own class has others beside it or in its place."""
    if model.language_model is not None or model.source["kind"] == "in memory":
        return model
    return load_model(
        model.name, revision=revision, device=model.device, dtype=model.dtype, trust_remote_code=trust_remote_code
    )


def _identity(model: Model) -> dict[str, Any]:
    """What tells the model that is pruned from all others."""
    known = ("name", "kind", "class", "commit", "weights_sha256", "random_weights")
    return {key: model.source[key] for key in known if model.source.get(key) is not None}


def _sample(model: Model) -> Batch:
    """The inputs on which the pruned network is checked and timed: a few segments of the embedded sample."""
    longest = min(_CHECKED_TOKENS, model.longest_input or _CHECKED_TOKENS)
    lines = read_text([sample_text()], "auto")
    sample = sample_segments(lines, model.tokenizer, count=_CHECKED_INPUTS, max_tokens=longest, seed=0)
    return make_batch(sample.segments, model.kinds, model.pad_id).to(model.device)
