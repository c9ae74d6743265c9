"""headatlas survey"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from headatlas.cli.options import (
    Address,
    Attention,
    BatchTokens,
    Bootstrap,
    CoreferenceFormat,
    Device,
    DeviceMapOption,
    EngineOption,
    KeyphraseFiles,
    KeyphraseFormat,
    NumberType,
    OutFolder,
    RandomWeights,
    Revision,
    Segments,
    SegmentStyle,
    ShardOption,
    TextFiles,
    TextFormat,
    TreebankFiles,
    TreebankFormat,
    TrustRemoteCode,
    WorkerGpus,
    Workers,
    WorkerThreads,
)


def survey(
    out: OutFolder,
    model: Annotated[
        Optional[str],  # noqa: UP045
        typer.Argument(
            metavar="MODEL",
            help="A name on the Hugging Face hub, a local model folder, a .gguf file, or an embedded model "
            "(see `headatlas models`). Not with --maps.",
        ),
    ] = None,
    maps: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(metavar="DIR", help="In place of a model and its corpora: maps made by `headatlas extract`."),
    ] = None,
    text: TextFiles = None,
    treebank: TreebankFiles = None,
    coreference: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(
            metavar="FILE...",
            help="Documents with coreferent mentions: CoNLL-2012 (all columns, or the scorer's five), CoNLL-U with "
            "`Entity=`, or bracket columns.",
        ),
    ] = None,
    keyphrases: KeyphraseFiles = None,
    segments: Segments = 1000,
    max_tokens: Annotated[int, typer.Option(help="Longest segment, special tokens included.")] = 128,
    studies: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(
            help="Studies to run: positions, token_kinds, entropy, max_attention, similarity, gradients, "
            "dependencies, coreference, keyphrases, one or several, or separated by commas. Default: all that the "
            "model and the corpora allow."
        ),
    ] = None,
    batch_tokens: BatchTokens = 4096,
    device: Device = "auto",
    device_map: DeviceMapOption = None,
    dtype: NumberType = "float32",
    seed: Annotated[int, typer.Option(help="Fixes the sample, the masking and random weights.")] = 0,
    revision: Revision = None,
    text_format: TextFormat = "auto",
    segment_style: SegmentStyle = "auto",
    parse_with: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            metavar="PIPELINE",
            help="No treebank? A spaCy pipeline, such as en_core_web_sm, that parses --text; its trees are marked as "
            "silver.",
        ),
    ] = None,
    treebank_format: TreebankFormat = "auto",
    label_set: Annotated[
        str,
        typer.Option(help="The treebank's relations: stanford (the paper's), universal, clearnlp (spaCy), or auto."),
    ] = "auto",
    least_count: Annotated[int, typer.Option(help="Relations with fewer words get no row among the best heads.")] = 100,
    clamp_offsets: Annotated[
        bool,
        typer.Option(help="Offset baselines stop at the ends of the sentence, as in the paper's code."),
    ] = True,
    coreference_format: CoreferenceFormat = "auto",
    coreference_windows: Annotated[
        bool,
        typer.Option(
            "--coreference-windows", help="All of each document in windows of --max-tokens, not only its beginning."
        ),
    ] = False,
    keyphrase_format: KeyphraseFormat = "auto",
    words_from: Annotated[
        str, typer.Option(help="Attention from a split word: the mean of its tokens, the first, or the max.")
    ] = "mean",
    bootstrap: Bootstrap = 1000,
    control: Annotated[
        bool,
        typer.Option("--control", help="Also run the network with random weights over the treebank, for comparison."),
    ] = False,
    examples: Annotated[
        int,
        typer.Option(help="Short inputs, shared between the corpora, to keep with the maps of all heads for the page."),
    ] = 60,
    attention: Attention = None,
    random_weights: RandomWeights = False,
    zero_token_types: Annotated[
        bool, typer.Option("--zero-token-types", help="All token types 0, as in the paper's released code.")
    ] = False,
    smooth_entropy: Annotated[
        bool, typer.Option("--smooth-entropy", help="Smooth rows before the entropy, as in the paper's released code.")
    ] = False,
    smooth_similarity: Annotated[
        bool,
        typer.Option(
            "--smooth-similarity", help="Smooth rows before comparing heads, as in the paper's released code."
        ),
    ] = False,
    per_token: Annotated[
        bool, typer.Option("--per-token", help="Distances of heads as means over tokens; in the paper, sums.")
    ] = False,
    clusters: Annotated[int, typer.Option(help="How many clusters to make of the heads.")] = 8,
    map_distance: Annotated[
        str, typer.Option(help="What the map of heads keeps: sqrt_js, a metric, or js, as in the paper's figure 6.")
    ] = "sqrt_js",
    trust_remote_code: TrustRemoteCode = False,
    shard: ShardOption = None,
    workers: Workers = None,
    engine: EngineOption = "processes",
    worker_threads: WorkerThreads = None,
    worker_gpus: WorkerGpus = 0.0,
    address: Address = None,
    figures: Annotated[bool, typer.Option(help="Draw the figures and write the page at the end.")] = True,
) -> None:
    """Chart every head of a model on a text, a treebank, a coreference or a keyphrase corpus, or all: one pass each.

    Writes tables (Parquet and CSV), figures and a manifest into the --out folder. Stop it with Ctrl-C whenever you
    like: the same command continues where it stopped.

    **Examples**

    `headatlas survey bert-base-uncased --text wiki.txt --out atlas`

    `headatlas survey bert-base-uncased --text wiki.txt --treebank dev.conllu --coreference dev.conll --out atlas`

    `headatlas survey bert-base-uncased --keyphrases Inspec/ --out atlas-keys`

    `headatlas survey gpt2 --text a.txt b.txt.gz --segments 300 --out atlas-gpt2`

    `headatlas survey ./my-model --text wiki.test.raw --studies positions,entropy --out atlas-mine`

    `headatlas survey embedded --text wiki.txt --random-weights --out atlas-control`

    `headatlas survey --maps maps --out atlas-maps`

    `headatlas survey bert-base-uncased --text wiki.txt --workers 4 --out atlas`

    `headatlas survey bert-base-uncased --text wiki.txt --shard 2/8 --out part2`
    """
    from headatlas.cli.crews import crew_of
    from headatlas.cli.endings import finish
    from headatlas.cli.places import send_results, tell_shard
    from headatlas.commands.survey.run import survey as run

    atlas = run(
        model,
        maps=maps,
        text=text or None,
        treebank=treebank or None,
        coreference=coreference or None,
        keyphrases=keyphrases or None,
        out=out,
        segments=segments,
        max_tokens=max_tokens,
        studies=[name for names in studies for name in names.split(",") if name] if studies else None,
        batch_tokens=batch_tokens,
        device=device,
        device_map=device_map,
        dtype=dtype,
        seed=seed,
        revision=revision,
        random_weights=random_weights,
        text_format=text_format,  # type: ignore[arg-type]
        treebank_format=treebank_format,  # type: ignore[arg-type]
        coreference_format=coreference_format,  # type: ignore[arg-type]
        keyphrase_format=keyphrase_format,  # type: ignore[arg-type]
        segment_style=segment_style,  # type: ignore[arg-type]
        parse_with=parse_with,
        label_set=label_set,
        words_from=words_from,  # type: ignore[arg-type]
        least_count=least_count,
        clamp_offsets=clamp_offsets,
        coreference_windows=coreference_windows,
        bootstrap=bootstrap,
        control=control,
        examples=examples,
        stack=attention,  # type: ignore[arg-type]
        zero_token_types=zero_token_types,
        smooth_entropy=smooth_entropy,
        smooth_similarity=smooth_similarity,
        per_token=per_token,
        clusters=clusters,
        map_distance=map_distance,  # type: ignore[arg-type]
        trust_remote_code=trust_remote_code,
        shard=shard,
        crew=crew_of(workers, engine, worker_threads, worker_gpus, address),
    )
    if shard is not None:
        tell_shard(shard, out)
        return
    finish(atlas, draw=figures)
    send_results(atlas.folder, out)
