"""headatlas prune"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from headatlas.cli.options import Device, Revision, TrustRemoteCode


def prune(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="A name on the Hugging Face hub, a local model folder (also a pruned one), a .gguf file, or an "
            "embedded model (see `headatlas models`).",
        ),
    ],
    out: Annotated[Path, typer.Option(help="The folder to make.")],
    heads: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(metavar="LAYER-HEAD...", help="Remove these, such as 3-1,5-7."),
    ] = None,
    by: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            help="Or remove a --share: importance (the least important heads first), or ablation (those whose "
            "removal alone harms least)."
        ),
    ] = None,
    share: Annotated[
        Optional[float],  # noqa: UP045
        typer.Option(help="How much of all heads to remove, between 0 and 1."),
    ] = None,
    ablation: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option("--from", metavar="DIR", help="What `headatlas ablate` found of this model."),
    ] = None,
    task: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="Which task of --from, where it has several."),
    ] = None,
    text: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(metavar="FILE...", help="Take the importance from predicting the tokens of this text instead."),
    ] = None,
    examples: Annotated[int, typer.Option(help="With --text: of so many segments.")] = 300,
    max_tokens: Annotated[int, typer.Option(help="With --text: longest input, special tokens included.")] = 128,
    batch_tokens: Annotated[int, typer.Option(help="With --text: tokens in a batch, padding included.")] = 4096,
    seed: Annotated[int, typer.Option(help="With --text: fixes the sample and the masking.")] = 0,
    text_format: Annotated[str, typer.Option(help="documents, wikitext, paragraphs, or auto.")] = "auto",
    device: Device = "auto",
    dtype: Annotated[
        str, typer.Option(help="Type of the numbers, also of those saved: float32, bfloat16, float16 or float64.")
    ] = "float32",
    revision: Revision = None,
    trust_remote_code: TrustRemoteCode = False,
) -> None:
    """Cut heads out of a model's weights and save the smaller model.

    What is left computes what the model computes with these heads' outputs at 0, which is checked before it is saved.
    The --out folder is a model for every other command; Python code outside headatlas loads it by `load_pruned`.

    **Examples**

    `headatlas prune bert-base-uncased --heads 3-1,5-7 --out pruned`

    `headatlas prune bert-base-uncased --by importance --share 0.3 --from ablation --out pruned`

    `headatlas prune gpt2 --by importance --share 0.3 --text wiki.txt --out pruned`
    """
    from headatlas.cli.prune_report import report
    from headatlas.commands.prune.run import prune as run

    found = run(
        model,
        out=out,
        heads=[name for value in heads for name in value.split(",") if name] if heads else None,
        by=by,  # type: ignore[arg-type]
        share=share,
        ablation=ablation,
        task=task,
        text=text or None,
        examples=examples,
        max_tokens=max_tokens,
        batch_tokens=batch_tokens,
        seed=seed,
        device=device,
        dtype=dtype,
        revision=revision,
        text_format=text_format,  # type: ignore[arg-type]
        trust_remote_code=trust_remote_code,
    )
    report(found)
