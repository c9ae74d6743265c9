"""headatlas survey"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer


def survey(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="A name on the Hugging Face hub, a local model folder, a .gguf file, or an embedded model "
            "(see `headatlas models`).",
        ),
    ],
    text: Annotated[
        list[Path],
        typer.Option(
            metavar="FILE...",
            help="UTF-8 text, plain or .gz: one sentence or paragraph a line, an empty line between documents.",
        ),
    ],
    out: Annotated[Path, typer.Option(help="The atlas folder to make, or to continue.")],
    segments: Annotated[int, typer.Option(help="How many segments to sample from the whole text.")] = 1000,
    max_tokens: Annotated[int, typer.Option(help="Longest segment, special tokens included.")] = 128,
    studies: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(
            help="Studies to run: positions, token_kinds, entropy, max_attention, gradients, one or several, or "
            "separated by commas. Default: all that the model allows."
        ),
    ] = None,
    batch_tokens: Annotated[
        int, typer.Option(help="Tokens in a batch, padding included. Fewer need less memory.")
    ] = 4096,
    device: Annotated[
        str, typer.Option(help="Where to run: auto (a GPU where there is one), cpu, cuda, cuda:1, mps.")
    ] = "auto",
    dtype: Annotated[str, typer.Option(help="Type of the numbers: float32, bfloat16, float16 or float64.")] = "float32",
    seed: Annotated[int, typer.Option(help="Fixes the sample, the masking and random weights.")] = 0,
    revision: Annotated[Optional[str], typer.Option(help="Branch, tag or commit on the hub.")] = None,  # noqa: UP045
    text_format: Annotated[
        str,
        typer.Option(
            help="documents (empty line between them), wikitext (`= Title =` headings), paragraphs (every line is a "
            "document, cut into sentences), or auto."
        ),
    ] = "auto",
    segment_style: Annotated[
        str,
        typer.Option(help="pair ([CLS] A [SEP] B [SEP]), single (one span), or auto: pair where the tokenizer can."),
    ] = "auto",
    attention: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="For encoder-decoders: encoder (default) or decoder heads."),
    ] = None,
    random_weights: Annotated[
        bool,
        typer.Option("--random-weights", help="The control: keep word and position embeddings, draw the rest anew."),
    ] = False,
    zero_token_types: Annotated[
        bool, typer.Option("--zero-token-types", help="All token types 0, as in the paper's released code.")
    ] = False,
    smooth_entropy: Annotated[
        bool, typer.Option("--smooth-entropy", help="Smooth rows before the entropy, as in the paper's released code.")
    ] = False,
    trust_remote_code: Annotated[
        bool,
        typer.Option("--trust-remote-code", help="Run Python code that comes with the model. Only if you trust it."),
    ] = False,
    figures: Annotated[bool, typer.Option(help="Draw the figures at the end.")] = True,
) -> None:
    """Chart every head of a model on a text: one pass, all studies.

    Writes tables (Parquet and CSV), figures and a manifest into the --out folder. Stop it with Ctrl-C whenever you
    like: the same command continues where it stopped.

    **Examples**

    `headatlas survey bert-base-uncased --text wiki.txt --out atlas`

    `headatlas survey gpt2 --text a.txt b.txt.gz --segments 300 --out atlas-gpt2`

    `headatlas survey ./my-model --text wiki.test.raw --studies positions,entropy --out atlas-mine`

    `headatlas survey embedded --text wiki.txt --random-weights --out atlas-control`
    """
    from headatlas.cli.report import finish
    from headatlas.surveying import survey as run

    atlas = run(
        model,
        text=text,
        out=out,
        segments=segments,
        max_tokens=max_tokens,
        studies=[name for names in studies for name in names.split(",") if name] if studies else None,
        batch_tokens=batch_tokens,
        device=device,
        dtype=dtype,
        seed=seed,
        revision=revision,
        random_weights=random_weights,
        text_format=text_format,  # type: ignore[arg-type]
        segment_style=segment_style,  # type: ignore[arg-type]
        stack=attention,  # type: ignore[arg-type]
        zero_token_types=zero_token_types,
        smooth_entropy=smooth_entropy,
        trust_remote_code=trust_remote_code,
    )
    finish(atlas, draw=figures)
