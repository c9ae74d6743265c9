"""The survey: one pass of a model over a corpus, all studies, an atlas folder at the end."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from headatlas.corpora.files import describe_files, find_texts
from headatlas.corpora.text import TEXT_FORMATS, TextFormat, read_text
from headatlas.encoding.kinds import kind_table
from headatlas.encoding.segments import SEGMENT_STYLES, SegmentSample, SegmentStyle, sample_segments
from headatlas.engine.checkpoint import Checkpoint, differences
from headatlas.engine.run import run_studies
from headatlas.errors import AtlasError, SettingError
from headatlas.files import make_folder
from headatlas.models.loading import choose_device, choose_dtype, load_model
from headatlas.models.model import Model, check_length
from headatlas.models.stacks import Stack
from headatlas.results.atlas import Atlas, read_manifest, write_example, write_manifest, write_tables
from headatlas.results.example import choose_example, make_example
from headatlas.studies import STUDIES, Study
from headatlas.studies.entropy import AUTHORS_SMOOTHING
from headatlas.versions import versions

NO_HEAD = (
    "{name} has no {kind} head, so the loss that figure 3 differentiates cannot be taken. Survey a checkpoint saved "
    "with its head (for BERT: bert-base-uncased and not a sentence encoder or classifier made from it){fit}."
)


def survey(
    model: str | Model,
    *,
    text: str | Path | Sequence[str | Path],
    out: str | Path,
    segments: int = 1000,
    max_tokens: int = 128,
    studies: Sequence[str] | None = None,
    batch_tokens: int = 4096,
    device: str = "auto",
    dtype: str = "float32",
    seed: int = 0,
    revision: str | None = None,
    random_weights: bool = False,
    text_format: TextFormat = "auto",
    segment_style: SegmentStyle = "auto",
    stack: Stack | None = None,
    zero_token_types: bool = False,
    smooth_entropy: bool = False,
    trust_remote_code: bool = False,
    progress: bool = True,
) -> Atlas:
    """Chart every head of a model on a text, and return the atlas.

    >>> atlas = survey("bert-base-uncased", text="wiki.txt", out="atlas")        # doctest: +SKIP
    >>> atlas.tables["token_kinds"].query("kind == 'sep'").nlargest(5, "value")  # doctest: +SKIP

    A survey that was stopped continues when called again with the same arguments; one that has finished is opened.
    studies: names out of `STUDIES`; by default all that the model allows.
    stack: for an encoder-decoder, whose heads: "encoder" (default) or "decoder".
    zero_token_types, smooth_entropy: as the paper's released code does, for comparison.
    """
    started = time.monotonic()
    folder = Path(out)
    _check_settings(segments, max_tokens, batch_tokens, studies, text_format, segment_style)
    files = find_texts(text)
    choose_device(device), choose_dtype(dtype)
    corpus_files = describe_files(files)
    if isinstance(model, str):
        model = load_model(
            model,
            revision=revision,
            device=device,
            dtype=dtype,
            random_weights=random_weights,
            seed=seed,
            trust_remote_code=trust_remote_code,
        )
    stack = _choose_stack(model, stack)
    check_length(max_tokens, model.longest_input, model.name)
    chosen, skipped = _choose_studies(model, studies, stack)
    settings = {
        "model": model.name,
        "weights": model.source.get("weights_sha256") or model.source.get("commit"),
        "random_weights": model.source.get("random_weights"),
        "dtype": str(model.dtype).removeprefix("torch."),
        "attention": stack,
        "corpus": [record["sha256"] for record in corpus_files],
        "text_format": text_format,
        "segments": segments,
        "max_tokens": max_tokens,
        "segment_style": segment_style,
        "zero_token_types": zero_token_types,
        "smooth_entropy": smooth_entropy,
        "studies": list(chosen),
        "batch_tokens": batch_tokens,
        "seed": seed,
    }
    if _already_done(folder, settings):
        return Atlas(folder)
    sample = sample_segments(
        read_text(files, text_format),
        model.tokenizer,
        count=segments,
        max_tokens=max_tokens,
        seed=seed,
        style=segment_style,
        zero_token_types=zero_token_types,
    )
    make_folder(folder)
    manifest: dict[str, Any] = {
        "complete": False,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "settings": settings,
        "model": _describe_model(model, stack),
        "versions": versions("numba", "pandas"),
    }
    write_manifest(folder, manifest)
    kinds = kind_table(model.tokenizer)
    run_studies(
        model,
        sample.segments,
        chosen,
        kinds=kinds,
        batch_tokens=batch_tokens,
        seed=seed,
        stack=stack,
        smoothing=AUTHORS_SMOOTHING if smooth_entropy else 0.0,
        checkpoint=Checkpoint(folder / "state.safetensors", settings),
        show_progress=progress,
    )
    rows = write_tables(folder, {name: study.table() for name, study in chosen.items()})
    write_example(folder, make_example(model, choose_example(sample.segments), kinds, stack))
    manifest |= {
        "complete": True,
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(time.monotonic() - started, 1),
        "corpus": _describe_corpus(corpus_files, sample),
        "left_out": sample.left_out,
        "studies_skipped": skipped,
        "tables": rows,
    }
    write_manifest(folder, manifest)
    return Atlas(folder)


def _check_settings(
    segments: int,
    max_tokens: int,
    batch_tokens: int,
    studies: Sequence[str] | None,
    text_format: str,
    segment_style: str,
) -> None:
    """Refuse what cannot work before a model is loaded."""
    for name, value in (("segments", segments), ("max-tokens", max_tokens), ("batch-tokens", batch_tokens)):
        if value < 1:
            raise SettingError(f"--{name} must be at least 1, not {value}.")
    for name, choice, allowed in (
        ("text-format", text_format, TEXT_FORMATS),
        ("segment-style", segment_style, SEGMENT_STYLES),
    ):
        if choice not in allowed:
            raise SettingError(f"--{name} {choice} is unknown. Use one of: {', '.join(allowed)}.")
    if unknown := set(studies or ()) - set(STUDIES):
        raise SettingError(f"Unknown study: {', '.join(sorted(unknown))}. There are: {', '.join(STUDIES)}.")
    if studies is not None and not studies:
        raise SettingError(f"No study is chosen. There are: {', '.join(STUDIES)}.")


def _choose_stack(model: Model, stack: Stack | None) -> Stack:
    chosen = stack or model.default_stack
    if chosen == "cross":
        raise SettingError(
            "A survey asks about attention within one text, and cross attention lies between two. "
            "Use --attention encoder or decoder; model.observe(batch, see, 'cross') shows the cross maps."
        )
    if chosen not in model.shapes:
        raise SettingError(f"{model.name} has no {chosen} attention, only {', '.join(model.shapes)}.")
    return chosen


def _choose_studies(model: Model, names: Sequence[str] | None, stack: Stack) -> tuple[dict[str, Study], dict[str, str]]:
    """The studies to run, and why others are not. A study asked for by name is never skipped silently."""
    skipped: dict[str, str] = {}
    reason = _why_no_gradients(model)
    if reason and names is None:
        skipped["gradients"] = reason
    elif reason and "gradients" in (names or ()):
        raise SettingError(f"The study 'gradients' cannot run: {reason}")
    chosen = [name for name in STUDIES if name not in skipped and (names is None or name in names)]
    return {name: STUDIES[name](causal=stack == "decoder") for name in chosen}, skipped


def _why_no_gradients(model: Model) -> str | None:
    if model.is_encoder_decoder:
        return "an encoder-decoder has no masked or next-token loss of its own; survey an encoder or a decoder."
    if model.language_model is None:
        kind = "masked language model" if "encoder" in model.shapes else "next-token (causal language model)"
        fit = ", or fit one: headatlas fit-mlm" if "encoder" in model.shapes else ""
        return NO_HEAD.format(name=model.name, kind=kind, fit=fit)
    if model.language_model == "masked" and model.tokenizer.mask_token_id is None:
        return f"the tokenizer of {model.name} has no mask token; save the model with its own tokenizer."
    return None


def _already_done(folder: Path, settings: dict[str, Any]) -> bool:
    """Whether the folder holds this very survey, finished. Another survey's folder is refused."""
    if not (folder / "manifest.json").exists():
        if folder.exists() and not folder.is_dir():
            raise AtlasError(f"{folder}: is a file. Give a folder with --out.")
        return False
    manifest = read_manifest(folder)
    if differing := differences(manifest.get("settings", {}), settings):
        raise AtlasError(
            f"{folder}: holds another survey ({'; '.join(differing)}). Choose another --out folder, or delete this one."
        )
    return bool(manifest.get("complete"))


def _describe_model(model: Model, stack: Stack) -> dict[str, Any]:
    shape = model.shapes[stack]
    return model.source | {
        "attention": stack,
        "layers": shape.layers,
        "heads": list(shape.heads),
        "dtype": str(model.dtype).removeprefix("torch."),
        "device": str(model.device),
        "language_model": model.language_model,
        "tokenizer": type(model.tokenizer).__name__,
        "special_tokens": {
            "cls": model.tokenizer.cls_token or model.tokenizer.bos_token,
            "sep": model.tokenizer.sep_token or model.tokenizer.eos_token,
        },
    }


def _describe_corpus(files: list[dict[str, Any]], sample: SegmentSample) -> dict[str, Any]:
    return {
        "files": files,
        "documents": sample.documents,
        "lines": sample.lines,
        "segments_available": sample.available,
        "segments": len(sample.segments),
        "segment_style": sample.style,
        "tokens": sum(map(len, sample.segments)),
    }
