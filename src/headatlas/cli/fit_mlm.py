"""headatlas fit-mlm"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from headatlas.cli.options import BatchTokens, Device, Revision, TrustRemoteCode


def fit_mlm(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="An encoder without a masked language model head: a name on the Hugging Face hub, a local folder, or "
            "an embedded model (see `headatlas models`).",
        ),
    ],
    text: Annotated[
        list[str],
        typer.Option(
            metavar="FILE...", help="UTF-8 text to learn from, plain or .gz: one sentence or paragraph a line."
        ),
    ],
    out: Annotated[Path, typer.Option(help="The folder to make, or to continue.")],
    tokens: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(help="How many tokens to train on. Default: the text once."),
    ] = None,
    epochs: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(help="How many times to go through the text, instead of --tokens."),
    ] = None,
    max_tokens: Annotated[int, typer.Option(help="Longest piece of text, special tokens included.")] = 128,
    hold_out: Annotated[
        int, typer.Option(help="So many of the last lines are kept for scoring, at most a tenth of all.")
    ] = 1000,
    batch_tokens: BatchTokens = 2048,
    learning_rate: Annotated[float, typer.Option(help="Highest learning rate, after the warm-up.")] = 2e-3,
    rank: Annotated[int, typer.Option(help="Rank of the LoRA matrices: larger learns more and takes more room.")] = 16,
    alpha: Annotated[float, typer.Option(help="Scale of the LoRA matrices, commonly twice the rank.")] = 32,
    freeze: Annotated[
        bool, typer.Option("--freeze", help="Leave the encoder as it is and train the head alone.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Fixes the head's first weights, the order and the masking.")] = 0,
    device: Device = "auto",
    revision: Revision = None,
    text_format: Annotated[
        str,
        typer.Option(
            help="documents (empty line between them), wikitext (`= Title =` headings), paragraphs (every line is a "
            "document), or auto."
        ),
    ] = "auto",
    save_every: Annotated[float, typer.Option(help="Seconds between saved states.")] = 120.0,
    force: Annotated[bool, typer.Option("--force", help="Fit a new head to a model that has one already.")] = False,
    trust_remote_code: TrustRemoteCode = False,
) -> None:
    """Give an encoder a masked language model head, and small LoRA adapters so that it can use it.

    Sentence encoders come without the head that predicts masked tokens, so nothing can be asked of its loss. This
    trains one on your text and writes a PEFT folder that every command takes as MODEL. Stop it with Ctrl-C whenever
    you like: the same command continues where it stopped. Needs `pip install "headatlas[fit]"`.

    **Examples**

    `headatlas fit-mlm embedded --text wiki.txt --out fitted`

    `headatlas fit-mlm embedded --text wiki.txt.gz --tokens 2000000 --freeze --out fitted-head`

    `headatlas survey fitted --text wiki.txt --out atlas`
    """
    from headatlas.commands.fit_mlm.run import fit_mlm as run

    typer.echo(f"Encoding {', '.join(map(str, text))}", err=True)
    fit = run(
        model,
        text=text,
        out=out,
        tokens=tokens,
        epochs=epochs,
        max_tokens=max_tokens,
        hold_out=hold_out,
        batch_tokens=batch_tokens,
        learning_rate=learning_rate,
        rank=rank,
        alpha=alpha,
        freeze=freeze,
        seed=seed,
        device=device,
        revision=revision,
        text_format=text_format,  # type: ignore[arg-type]
        save_every=save_every,
        force=force,
        trust_remote_code=trust_remote_code,
    )
    record = fit.record
    typer.echo(
        f"\n{model}: {record['trained_parameters']:,} weights fitted on {record['tokens_seen']:,} tokens "
        f"in {record['training_seconds']:,.0f} s"
    )
    for label, key in (("fitted", "held_out"), ("unigram", "held_out_unigram")):
        scores = record[key]
        typer.echo(
            f"  {label:8} loss {scores['loss']:.3f}, top-1 {100 * scores['top1']:.1f} %, "
            f"top-5 {100 * scores['top5']:.1f} %"
        )
    typer.echo(f"  on {record['held_out']['masked_tokens']:,} masked tokens of the held-out text")
    for reason, number in record["corpus"]["left_out"].items():
        typer.echo(f"Left out: {reason} {number:,}")
    typer.echo(f"Next:    headatlas survey {fit.folder} --text FILE --out DIR")
    typer.echo(f"Folder:  {fit.folder}")
