"""`survey`: one pass of a model over each corpus, all studies, an atlas folder at the end."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from headatlas.choices import DeviceMap
from headatlas.commands.survey.parts import Part
from headatlas.commands.survey.relation_examples import relation_examples
from headatlas.commands.survey.settings import SurveySettings
from headatlas.commands.survey.stored import stored_subject
from headatlas.commands.survey.subject import Subject, model_subject
from headatlas.commands.survey.tables import all_tables
from headatlas.corpora.coreference.read import CoreferenceFormat
from headatlas.corpora.files import Files
from headatlas.corpora.keyphrases.read import KeyphraseFormat
from headatlas.corpora.text import TextFormat
from headatlas.corpora.treebanks.read import TreebankFormat
from headatlas.encoding.segments import SegmentStyle
from headatlas.encoding.shards import Shard
from headatlas.engine.checkpoint import Checkpoint
from headatlas.engine.locking import alone_in_out
from headatlas.engine.run import run_studies
from headatlas.engine.workers import Workers
from headatlas.errors import SettingError
from headatlas.files import make_folder
from headatlas.models.model import Model, Observable
from headatlas.models.stacks import Stack
from headatlas.remote import local_folder, send
from headatlas.results.atlas import (
    ATLAS,
    RELATION_EXAMPLES,
    SHARD,
    Atlas,
    write_examples,
    write_manifest,
    write_tables,
)
from headatlas.results.finished import already_done
from headatlas.results.relation_examples import save_relation_examples
from headatlas.statistics.words import FromTokens
from headatlas.studies import Study
from headatlas.studies.entropy import AUTHORS_SMOOTHING
from headatlas.studies.similarity import CLUSTERS, MapDistance
from headatlas.versions import moment, versions

STATES = "state"


@alone_in_out("survey")
def survey(
    model: str | Model | None = None,
    *,
    maps: str | Path | None = None,
    text: Files | None = None,
    treebank: Files | None = None,
    coreference: Files | None = None,
    keyphrases: Files | None = None,
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
    keyphrase_format: KeyphraseFormat = "auto",
    segment_style: SegmentStyle = "auto",
    parse_with: str | None = None,
    label_set: str = "auto",
    words_from: FromTokens = "mean",
    least_count: int = 100,
    clamp_offsets: bool = True,
    coreference_windows: bool = False,
    bootstrap: int = 1000,
    control: bool = False,
    examples: int = 60,
    stack: Stack | None = None,
    zero_token_types: bool = False,
    smooth_entropy: bool = False,
    smooth_similarity: bool = False,
    per_token: bool = False,
    clusters: int = CLUSTERS,
    map_distance: MapDistance = "sqrt_js",
    trust_remote_code: bool = False,
    device_map: DeviceMap | None = None,
    shard: str | None = None,
    crew: Workers | None = None,
    progress: bool = True,
) -> Atlas:
    """Chart every head of a model on a text, a treebank, a coreference or keyphrase corpus, or all; return the atlas.

    >>> atlas = survey("bert-base-uncased", text="wiki.txt", treebank="dev.conllu", out="atlas")  # doctest: +SKIP
    >>> atlas.tables["token_kinds"].query("kind == 'sep'").nlargest(5, "value")                   # doctest: +SKIP
    >>> atlas.tables["dependency_best"]                                                           # doctest: +SKIP

    Corpora and `out` may be at URLs that fsspec knows, such as s3://bucket/atlas.
    A survey that was stopped continues when called again with the same arguments; one that has finished is opened.
    maps: in place of a model and its corpora, a folder made by `extract` or `import_maps`; no weights are loaded.
    studies: names out of `STUDIES`; by default all that the model allows.
    parse_with: a spaCy pipeline that parses `text` where there is no treebank; its trees are marked as silver.
    label_set: stanford, universal, clearnlp, or found from the relations.
    words_from: attention from a split word: the mean of its tokens, the first's, or the largest.
    least_count: relations with fewer words have no best head.
    clamp_offsets: whether offset baselines stop at the ends of the sentence, as the paper's code does.
    coreference_windows: go on after the first `max_tokens` of a document.
    bootstrap: resamplings for intervals, and permutations for tests.
    control: show the best heads of the same network with random weights beside those of the treebank.
    examples: how many short inputs, shared between the corpora, are kept with the maps of all heads.
    stack: for an encoder-decoder, whose heads: "encoder" (default) or "decoder".
    zero_token_types, smooth_entropy, smooth_similarity: as the paper's released code does, for comparison.
    per_token: distances of heads are means over tokens; in the paper, sums.
    clusters: how many to make of the heads. map_distance: what their map keeps, sqrt_js (a metric) or js (the paper).
    device_map: for a model too large for one device; see `load_model`.
    shard: "2/8" sees the second eighth of the inputs and leaves its sums in the folder, for `merge`, instead of tables.
    crew: several processes, or workers on a Ray cluster; the tables are the same.
    """
    given = dict(locals())
    started = time.monotonic()
    folder = local_folder(out)
    settings = SurveySettings(
        segments=segments,
        max_tokens=max_tokens,
        batch_tokens=batch_tokens,
        seed=seed,
        text_format=text_format,
        treebank_format=treebank_format,
        coreference_format=coreference_format,
        keyphrase_format=keyphrase_format,
        segment_style=segment_style,
        zero_token_types=zero_token_types,
        smooth_entropy=smooth_entropy,
        smooth_similarity=smooth_similarity,
        per_token=per_token,
        clusters=clusters,
        map_distance=map_distance,
        parse_with=parse_with,
        label_set=label_set,
        words_from=words_from,
        least_count=least_count,
        clamp_offsets=clamp_offsets,
        coreference_windows=coreference_windows,
        bootstrap=bootstrap,
        control=control,
        examples=examples,
        shard=shard,
    )
    settings.check()
    if crew is not None:
        crew.check()
        if maps is not None:
            raise SettingError("--workers are for models: maps that are on disk already are read by one process.")
        if device_map is not None:
            raise SettingError("--device-map spreads one model over all devices: no room for --workers. Leave one out.")
    if device_map is not None and control:
        raise SettingError("--control draws random weights on one device. Leave out --device-map, or --control.")
    if maps is not None:
        subject = stored_subject(maps, given, studies, settings, device)
    else:
        subject = model_subject(
            model,
            {"text": text, "treebank": treebank, "coreference": coreference, "keyphrases": keyphrases},
            studies,
            settings,
            random_weights=random_weights,
            stack=stack,
            loading={
                "revision": revision,
                "device": device,
                "dtype": dtype,
                "seed": seed,
                "trust_remote_code": trust_remote_code,
                "device_map": device_map,
            },
        )
    decisive = subject.identity | asdict(settings)
    kind = ATLAS if shard is None else SHARD
    if already_done(folder, decisive, kind):
        send(folder, out)
        return Atlas(folder)
    parts = subject.parts()
    make_folder(folder / STATES)
    manifest: dict[str, Any] = {
        "complete": False,
        "started": moment(),
        "settings": decisive,
        "model": subject.about,
        "versions": versions("numba", "pandas"),
    }
    write_manifest(folder, manifest, kind)

    def run(observed: Observable, part: Part, studies: dict[str, Study], name: str) -> None:
        run_studies(
            observed,
            part.segments if shard is None else Shard.parse(shard).of_segments(part.segments),
            studies,
            kinds=subject.kinds,
            batch_tokens=batch_tokens,
            seed=seed,
            stack=subject.stack,
            smoothing=AUTHORS_SMOOTHING if smooth_entropy else 0.0,
            checkpoint=Checkpoint(folder / STATES / f"{name}.safetensors", decisive),
            workers=crew,
            description=f"{Path(observed.name).name}: {name}",
            show_progress=progress,
        )

    for part in parts:
        run(subject.observed, part, part.studies, part.name)
        if part.control is not None and subject.control is not None:
            run(subject.control(), part, {part.control.name: part.control}, f"{part.name}-control")
    rows = {} if shard is not None else _write_results(folder, subject, parts, words_from, batch_tokens)
    write_examples(folder, subject.examples(parts))
    manifest |= {
        "complete": True,
        "finished": moment(),
        "seconds": round(time.monotonic() - started, 1),
        "corpora": {
            part.name: {"files": subject.files[part.name], **part.about, "left_out": part.left_out} for part in parts
        },
        "studies_skipped": subject.skipped,
        "tables": rows,
    }
    write_manifest(folder, manifest, kind)
    send(folder, out)
    return Atlas(folder)


def _write_results(
    folder: Path, subject: Subject, parts: Sequence[Part], words_from: FromTokens, batch_tokens: int
) -> dict[str, int]:
    """Every table, and sentences on which the best heads are right; the number of rows of each table."""
    control = next((part.control for part in parts if part.control is not None), None)
    tables = all_tables((study for part in parts for study in part.studies.values()), control)
    rows = write_tables(folder, tables)
    for trees in (part.trees for part in parts if part.trees is not None):
        clear = relation_examples(
            subject.observed,
            trees.segments,
            trees.relations,
            tables["dependency_best"],
            kinds=subject.kinds,
            how=words_from,
            stack=subject.stack,
            batch_tokens=batch_tokens,
        )
        save_relation_examples(clear, folder / RELATION_EXAMPLES)
    return rows
