"""`survey`: one pass of a model over each corpus, all studies, an atlas folder at the end."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from headatlas.corpora.coreference import CoreferenceFormat
from headatlas.corpora.files import Files, describe_files
from headatlas.corpora.text import TextFormat
from headatlas.corpora.treebank import TreebankFormat
from headatlas.encoding.kinds import kind_table
from headatlas.encoding.segments import SegmentStyle
from headatlas.engine.checkpoint import Checkpoint, differences
from headatlas.engine.run import run_studies
from headatlas.errors import AtlasError
from headatlas.files import make_folder
from headatlas.models.loading import choose_device, choose_dtype, load_model
from headatlas.models.model import Model, check_length
from headatlas.models.stacks import Stack
from headatlas.results.atlas import RELATION_EXAMPLES, Atlas, read_manifest, write_example, write_manifest, write_tables
from headatlas.results.example import choose_example, make_example
from headatlas.results.relation_examples import save_relation_examples
from headatlas.statistics.words import FromTokens
from headatlas.studies import Study
from headatlas.studies.entropy import AUTHORS_SMOOTHING
from headatlas.surveying.choices import check_control, check_studies, choose_corpora, choose_stack, choose_studies
from headatlas.surveying.parts import Part, read_parts
from headatlas.surveying.relation_examples import relation_examples
from headatlas.surveying.settings import SurveySettings
from headatlas.versions import versions

STATES = "state"


def survey(
    model: str | Model,
    *,
    text: Files | None = None,
    treebank: Files | None = None,
    coreference: Files | None = None,
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
    treebank_format: TreebankFormat = "auto",
    coreference_format: CoreferenceFormat = "auto",
    segment_style: SegmentStyle = "auto",
    parse_with: str | None = None,
    label_set: str = "auto",
    words_from: FromTokens = "mean",
    least_count: int = 100,
    clamp_offsets: bool = True,
    coreference_windows: bool = False,
    bootstrap: int = 1000,
    control: bool = False,
    stack: Stack | None = None,
    zero_token_types: bool = False,
    smooth_entropy: bool = False,
    trust_remote_code: bool = False,
    progress: bool = True,
) -> Atlas:
    """Chart every head of a model on a text, a treebank, a coreference corpus or all three, and return the atlas.

    >>> atlas = survey("bert-base-uncased", text="wiki.txt", treebank="dev.conllu", out="atlas")  # doctest: +SKIP
    >>> atlas.tables["token_kinds"].query("kind == 'sep'").nlargest(5, "value")                   # doctest: +SKIP
    >>> atlas.tables["dependency_best"]                                                           # doctest: +SKIP

    A survey that was stopped continues when called again with the same arguments; one that has finished is opened.
    studies: names out of `STUDIES`; by default all that the model allows.
    parse_with: a spaCy pipeline that parses `text` where there is no treebank; its trees are marked as silver.
    label_set: stanford, universal, clearnlp, or found from the relations.
    words_from: attention from a split word: the mean of its tokens, the first's, or the largest.
    least_count: relations with fewer words have no best head.
    clamp_offsets: whether offset baselines stop at the ends of the sentence, as the paper's code does.
    coreference_windows: go on after the first `max_tokens` of a document.
    bootstrap: resamplings for intervals, and permutations for tests.
    control: show the best heads of the same network with random weights beside those of the treebank.
    stack: for an encoder-decoder, whose heads: "encoder" (default) or "decoder".
    zero_token_types, smooth_entropy: as the paper's released code does, for comparison.
    """
    started = time.monotonic()
    folder = Path(out)
    settings = SurveySettings(
        segments=segments,
        max_tokens=max_tokens,
        batch_tokens=batch_tokens,
        seed=seed,
        text_format=text_format,
        treebank_format=treebank_format,
        coreference_format=coreference_format,
        segment_style=segment_style,
        zero_token_types=zero_token_types,
        smooth_entropy=smooth_entropy,
        parse_with=parse_with,
        label_set=label_set,
        words_from=words_from,
        least_count=least_count,
        clamp_offsets=clamp_offsets,
        coreference_windows=coreference_windows,
        bootstrap=bootstrap,
        control=control,
    )
    settings.check()
    files = choose_corpora(text, treebank, coreference, parse_with)
    check_control(control, model, random_weights, files)
    check_studies(studies, files)
    choose_device(device), choose_dtype(dtype)
    described = {name: describe_files(paths) for name, paths in files.items()}
    loading: dict[str, Any] = {
        "revision": revision,
        "device": device,
        "dtype": dtype,
        "seed": seed,
        "trust_remote_code": trust_remote_code,
    }
    if isinstance(model, str):
        model = load_model(model, random_weights=random_weights, **loading)
    stack = choose_stack(model, stack)
    check_length(max_tokens, model.longest_input, model.name)
    chosen, skipped = choose_studies(model, studies, files)
    decisive = {
        "model": model.name,
        "weights": model.source.get("weights_sha256") or model.source.get("commit"),
        "random_weights": model.source.get("random_weights"),
        "dtype": str(model.dtype).removeprefix("torch."),
        "attention": stack,
        "corpora": {name: [record["sha256"] for record in records] for name, records in described.items()},
        "studies": chosen,
        **asdict(settings),
    }
    if already_done(folder, decisive):
        return Atlas(folder)
    parts = read_parts(model, files, chosen, settings, causal=stack == "decoder")
    make_folder(folder / STATES)
    manifest: dict[str, Any] = {
        "complete": False,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "settings": decisive,
        "model": describe_model(model, stack),
        "versions": versions("numba", "pandas"),
    }
    write_manifest(folder, manifest)
    kinds = kind_table(model.tokenizer)

    def run(observed: Model, part: Part, studies: dict[str, Study], name: str) -> None:
        run_studies(
            observed,
            part.segments,
            studies,
            kinds=kinds,
            batch_tokens=batch_tokens,
            seed=seed,
            stack=stack,
            smoothing=AUTHORS_SMOOTHING if smooth_entropy else 0.0,
            checkpoint=Checkpoint(folder / STATES / f"{name}.safetensors", decisive),
            description=f"{Path(observed.name).name}: {name}",
            show_progress=progress,
        )

    for part in parts:
        run(model, part, part.studies, part.name)
        if part.control is not None:
            random = load_model(model.name, random_weights=True, **loading)
            run(random, part, {part.control.name: part.control}, f"{part.name}-control")
    tables = _tables(parts)
    rows = write_tables(folder, tables)
    for trees in (part.trees for part in parts if part.trees is not None):
        examples = relation_examples(
            model,
            trees.segments,
            trees.relations,
            tables["dependency_best"],
            kinds=kinds,
            how=words_from,
            stack=stack,
            batch_tokens=batch_tokens,
        )
        save_relation_examples(examples, folder / RELATION_EXAMPLES)
    write_example(folder, make_example(model, choose_example(parts[0].segments), kinds, stack))
    manifest |= {
        "complete": True,
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(time.monotonic() - started, 1),
        "corpora": {
            part.name: {"files": described[part.name], **part.about, "left_out": part.left_out} for part in parts
        },
        "studies_skipped": skipped,
        "tables": rows,
    }
    write_manifest(folder, manifest)
    return Atlas(folder)


def already_done(folder: Path, settings: dict[str, Any], what: str = "survey") -> bool:
    """Whether the folder holds this very run, finished. The folder of another is refused."""
    if not (folder / "manifest.json").exists():
        if folder.exists() and not folder.is_dir():
            raise AtlasError(f"{folder}: is a file. Give a folder with --out.")
        return False
    manifest = read_manifest(folder)
    if differing := differences(manifest.get("settings", {}), settings):
        raise AtlasError(
            f"{folder}: holds another {what} ({'; '.join(differing)}). Choose another --out folder, or delete this one."
        )
    return bool(manifest.get("complete"))


def describe_model(model: Model, stack: Stack) -> dict[str, Any]:
    """What a manifest says of the model."""
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


def _tables(parts: Sequence[Part]) -> dict[str, pd.DataFrame]:
    """Every table of every study; the control's best accuracies stand in the table of the best heads."""
    tables: dict[str, pd.DataFrame] = {}
    for part in parts:
        for study in part.studies.values():
            tables |= study.tables()
        if part.trees is not None:
            best = part.control.best().set_index("relation")["accuracy"] if part.control else pd.Series(dtype=float)
            table = tables["dependency_best"]
            tables["dependency_best"] = table.assign(control=table["relation"].map(best).astype(float))
    return tables
