"""headatlas ablate"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from headatlas.cli.options import (
    BatchTokens,
    Bootstrap,
    CoreferenceFormat,
    Device,
    KeyphraseFormat,
    ModelName,
    NumberType,
    OutFolder,
    Revision,
    ShardOption,
    TreebankFormat,
    TrustRemoteCode,
)


def ablate(
    model: ModelName,
    task: Annotated[
        list[str],
        typer.Option(
            metavar="TASK...",
            help="masked-lm, next-token (with --text); classification, translation, keyphrases (with --data); "
            "minimal-pairs (with --pairs); probe (with --treebank and --eval); causal (with --atlas and "
            "--treebank or --coreference). One or several.",
        ),
    ],
    out: OutFolder,
    text: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(metavar="FILE...", help="UTF-8 text, plain or .gz: one sentence or paragraph a line."),
    ] = None,
    data: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(
            metavar="FILE...",
            help=".tsv, .csv or .jsonl with columns text, label; text, text2, label; or source, target.",
        ),
    ] = None,
    columns: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(metavar="NAME...", help="The columns of --data in that order, where they have other names."),
    ] = None,
    train: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(metavar="FILE...", help="Data to train a classifier on. Default: a part of --data."),
    ] = None,
    train_share: Annotated[float, typer.Option(help="That part, 0 to 1; only the rest is scored.")] = 0.5,
    pooling: Annotated[
        str, typer.Option(help="What the classifier reads: the mean over tokens, or the first token.")
    ] = "mean",
    pairs: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(
            metavar="FILE...",
            help="Minimal pairs as in BLiMP: .jsonl with sentence_good and sentence_bad, or its .zip.",
        ),
    ] = None,
    sets: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(metavar="NAME...", help="Only these sets of the pairs, by file name."),
    ] = None,
    atlas: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(metavar="DIR", help="For causal: an atlas of this model with the best heads of relations."),
    ] = None,
    treebank: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(metavar="FILE...", help="Sentences with dependency trees: for causal; for probe, to train it on."),
    ] = None,
    eval: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(metavar="FILE...", help="For probe: other sentences with trees, to score it on."),
    ] = None,
    coreference: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(metavar="FILE...", help="For causal: documents with coreferent mentions."),
    ] = None,
    kind: Annotated[
        str,
        typer.Option(help="What stands in for a removed head: zero, its mean output, or resample (another token's)."),
    ] = "zero",
    examples: Annotated[int, typer.Option(help="Score at most so many segments, texts or pairs.")] = 300,
    heads: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(metavar="LAYER-HEAD...", help="Remove only these, such as 8-10, and draw no curves."),
    ] = None,
    curves: Annotated[bool, typer.Option(help="Remove more and more heads, too.")] = True,
    steps: Annotated[int, typer.Option(help="Steps of these curves from no head removed to all.")] = 10,
    random_orders: Annotated[int, typer.Option(help="Random orders in these curves.")] = 5,
    words: Annotated[int, typer.Option(help="For causal: at most this many words per relation, at least 20.")] = 200,
    controls: Annotated[int, typer.Option(help="For causal: other heads of the layer to compare with.")] = 4,
    bootstrap: Bootstrap = 1000,
    max_tokens: Annotated[int, typer.Option(help="Longest input, special tokens included.")] = 128,
    batch_tokens: BatchTokens = 4096,
    device: Device = "auto",
    dtype: NumberType = "float32",
    seed: Annotated[int, typer.Option(help="Fixes the sample, the masking, halves and random orders.")] = 0,
    revision: Revision = None,
    attention: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="For encoder-decoders: encoder (default), decoder or cross heads."),
    ] = None,
    text_format: Annotated[str, typer.Option(help="documents, wikitext, paragraphs, or auto.")] = "auto",
    treebank_format: TreebankFormat = "auto",
    coreference_format: CoreferenceFormat = "auto",
    keyphrase_format: KeyphraseFormat = "auto",
    trust_remote_code: TrustRemoteCode = False,
    shard: ShardOption = None,
    figures: Annotated[bool, typer.Option(help="Draw the figures at the end.")] = True,
) -> None:
    """Find out which heads a model needs, by removing them.

    Each head is removed alone, with a test; each head's importance is taken from gradients; and more and more heads
    are removed, in several orders. `causal` asks whether a head that was found to track a relation is needed there.
    Writes tables (Parquet and CSV), figures and a manifest into the --out folder.

    **Examples**

    `headatlas ablate bert-base-uncased --task masked-lm --text wiki.txt --out ablation`

    `headatlas ablate bert-base-uncased --task classification --data reviews.tsv --kind mean --out ablation-reviews`

    `headatlas ablate gpt2 --task minimal-pairs --pairs BLiMP.zip --sets npi_present_1 --out ablation-npi`

    `headatlas ablate bert-base-uncased --task probe --treebank train.conllu --eval dev.conllu --out ablation-probe`

    `headatlas ablate bert-base-uncased --task causal --atlas atlas --treebank dev.conllu --out causal`
    """
    from headatlas.cli.ablation_report import finish
    from headatlas.cli.places import send_results, tell_shard
    from headatlas.commands.ablate.run import ablate as run

    def named(values: list[str] | None) -> list[str] | None:
        return [name for value in values for name in value.split(",") if name] if values else None

    found = run(
        model,
        task=named(task) or [],
        out=out,
        text=text or None,
        data=data or None,
        train=train or None,
        pairs=pairs or None,
        treebank=treebank or None,
        coreference=coreference or None,
        eval=eval or None,
        atlas=atlas,
        kind=kind,  # type: ignore[arg-type]
        examples=examples,
        max_tokens=max_tokens,
        batch_tokens=batch_tokens,
        columns=named(columns),
        sets=named(sets),
        train_share=train_share,
        pooling=pooling,  # type: ignore[arg-type]
        heads=named(heads),
        curves=curves,
        steps=steps,
        random_orders=random_orders,
        controls=controls,
        words=words,
        bootstrap=bootstrap,
        seed=seed,
        stack=attention,  # type: ignore[arg-type]
        device=device,
        dtype=dtype,
        revision=revision,
        text_format=text_format,  # type: ignore[arg-type]
        treebank_format=treebank_format,  # type: ignore[arg-type]
        coreference_format=coreference_format,  # type: ignore[arg-type]
        keyphrase_format=keyphrase_format,  # type: ignore[arg-type]
        trust_remote_code=trust_remote_code,
        shard=shard,
    )
    if shard is not None:
        tell_shard(shard, out)
        return
    finish(found, draw=figures)
    send_results(found.folder, out)
