"""headatlas keyphrases"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from headatlas.cli.options import (
    BatchTokens,
    Bootstrap,
    Device,
    KeyphraseFormat,
    ModelName,
    NumberType,
    Revision,
    TextFiles,
    TextFormat,
    TrustRemoteCode,
)


def keyphrases(
    model: ModelName,
    out: Annotated[Path, typer.Option(help="The folder to make.")],
    text: TextFiles = None,
    data: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(
            metavar="FILE...",
            help="Or documents with keyphrases, to be scored by: folders or zips of Inspec or SemEval, or JSON lines.",
        ),
    ] = None,
    train: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(metavar="FILE...", help="Other documents with keyphrases, to choose and combine heads on."),
    ] = None,
    heads: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(
            metavar="HEAD...", help="Heads to score by, such as 5-4,6-11. Default: those that ship, or --train's."
        ),
    ] = None,
    atlas: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(metavar="DIR", help="A survey of the model, whose behaviours stand beside the heads' weights."),
    ] = None,
    pooling: Annotated[
        str, typer.Option(help="Attention a word receives: the mean of its column, or the max.")
    ] = "mean",
    rows: Annotated[str, typer.Option(help="Over all rows, or those of text (no special tokens).")] = "all",
    candidates: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            metavar="PIPELINE",
            help="A spaCy pipeline, such as en_core_web_sm: candidates are its adjectives and nouns. Default: runs of "
            "words between stop words.",
        ),
    ] = None,
    top: Annotated[int, typer.Option(help="Phrases to keep of each document.")] = 10,
    documents: Annotated[int, typer.Option(help="At most so many documents of --data, and of --train.")] = 500,
    max_tokens: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(help="Longest window, special tokens included. Default: what the model allows, at most 512."),
    ] = None,
    batch_tokens: BatchTokens = 4096,
    bootstrap: Bootstrap = 1000,
    seed: Annotated[int, typer.Option(help="Fixes the sample and the resampling.")] = 0,
    device: Device = "auto",
    dtype: NumberType = "float32",
    revision: Revision = None,
    text_format: TextFormat = "auto",
    keyphrase_format: KeyphraseFormat = "auto",
    finetune: Annotated[
        bool,
        typer.Option(
            "--finetune",
            help="Train the model on --train to tag keyphrases; then remove and prune its heads.",
        ),
    ] = False,
    epochs: Annotated[int, typer.Option(help="Passes over --train when fine-tuning.")] = 3,
    rate: Annotated[float, typer.Option(help="Learning rate of the fine-tuning.")] = 1e-4,
    trust_remote_code: TrustRemoteCode = False,
    figures: Annotated[bool, typer.Option(help="Draw the figures and the shaded texts at the end.")] = True,
) -> None:
    """Find the keyphrases of documents by the attention that their words receive.

    No training is needed for the embedded model; for others name heads, or give documents to find them on with --train.

    **Examples**

    `headatlas keyphrases embedded --text paper.txt --out phrases`

    `headatlas keyphrases embedded --data Inspec/Validation --out phrases-inspec`

    `headatlas keyphrases bert-base-uncased --train Inspec/Training --data Inspec/Validation --out phrases-bert`
    """
    from headatlas.cli.keyphrase_report import report
    from headatlas.commands.keyphrases.run import keyphrases as run

    found = run(
        model,
        out=out,
        text=text or None,
        data=data or None,
        train=train or None,
        heads=[name for names in heads for name in names.split(",") if name] if heads else None,
        atlas=atlas,
        pooling=pooling,
        rows=rows,
        candidates=candidates,
        top=top,
        documents=documents,
        max_tokens=max_tokens,
        batch_tokens=batch_tokens,
        bootstrap=bootstrap,
        seed=seed,
        device=device,
        dtype=dtype,
        revision=revision,
        text_format=text_format,  # type: ignore[arg-type]
        keyphrase_format=keyphrase_format,  # type: ignore[arg-type]
        finetune=finetune,
        epochs=epochs,
        rate=rate,
        trust_remote_code=trust_remote_code,
    )
    report(found, draw=figures)
