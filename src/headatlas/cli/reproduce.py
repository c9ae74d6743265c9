"""headatlas reproduce"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from headatlas.cli.options import (
    BatchTokens,
    Bootstrap,
    Device,
    ModelNumberType,
    Revision,
    Segments,
    TextFormat,
    TrustRemoteCode,
)

_Corpus = Optional[list[str]]  # noqa: UP045


def reproduce(
    paper: Annotated[str, typer.Argument(metavar="PAPER", help="Which paper: clark2019.")] = "clark2019",
    model: Annotated[
        str, typer.Option(help="A name on the Hugging Face hub, a local model folder, or an embedded model.")
    ] = "bert-base-uncased",
    wikipedia: Annotated[_Corpus, typer.Option(metavar="FILE...", help="Wikipedia text, for sections 3 and 6.")] = None,
    ptb_train: Annotated[
        _Corpus, typer.Option(metavar="FILE...", help="Penn Treebank, training part, for the probes of table 3.")
    ] = None,
    ptb_dev: Annotated[
        _Corpus, typer.Option(metavar="FILE...", help="Penn Treebank, dev part in Stanford Dependencies, for table 1.")
    ] = None,
    conll2012: Annotated[
        _Corpus, typer.Option("--conll2012", metavar="FILE...", help="CoNLL-2012 coreference, for table 2.")
    ] = None,
    glove: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            metavar="FILE", help="GloVe vectors, for table 3; or glove-6b-50d, the default where it is installed."
        ),
    ] = None,
    out: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(help="The folder to make, or to continue."),
    ] = None,
    segments: Segments = 1000,
    max_tokens: Annotated[int, typer.Option(help="Longest input, special tokens included.")] = 128,
    probe_sentences: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(help="Train the probes on so many sentences, drawn at random. Default: all."),
    ] = None,
    probe_seeds: Annotated[int, typer.Option(help="How often to train each probe.")] = 3,
    least_count: Annotated[int, typer.Option(help="Relations with fewer words get no best head.")] = 100,
    bootstrap: Bootstrap = 1000,
    batch_tokens: BatchTokens = 4096,
    device: Device = "auto",
    dtype: ModelNumberType = "float32",
    seed: Annotated[int, typer.Option(help="Fixes samples, masking, training and random weights.")] = 0,
    revision: Revision = None,
    text_format: TextFormat = "auto",
    trust_remote_code: TrustRemoteCode = False,
) -> None:
    """Reproduce "What Does BERT Look At?" from whatever of its inputs you have: every table, figure and finding.

    Surveys, trains the probes, draws the figures, and ends with report.md: each published number beside ours, the
    difference, and whether it is reproduced, differs, or lacks an input. Without inputs it says which corpora the paper
    used and which free ones can stand in. Stop it with Ctrl-C whenever you like: the same command continues.

    **Examples**

    `headatlas reproduce clark2019`

    `headatlas reproduce clark2019 --wikipedia wiki.txt --ptb-dev dev.conllx --out clark2019`

    `headatlas reproduce clark2019 --model embedded-mlm --wikipedia wiki.txt --segments 200 --out quick`
    """
    from headatlas.commands.reproduce.inputs import ADVICE, check_paper
    from headatlas.errors import SettingError

    check_paper(paper)
    if not any((wikipedia, ptb_train, ptb_dev, conll2012, glove)):
        typer.echo(ADVICE, nl=False)
        return
    if out is None:
        raise SettingError("There is nowhere to put the results. Name a folder with --out.")

    from headatlas.commands.reproduce.report import REPORT
    from headatlas.commands.reproduce.run import reproduce as run
    from headatlas.results.rendering import render
    from headatlas.views.published.views import counts, view_of

    atlas = run(
        paper,
        model=model,
        wikipedia=wikipedia or None,
        ptb_train=ptb_train or None,
        ptb_dev=ptb_dev or None,
        conll2012=conll2012 or None,
        glove=glove,
        out=out,
        segments=segments,
        max_tokens=max_tokens,
        probe_sentences=probe_sentences,
        probe_seeds=probe_seeds,
        least_count=least_count,
        bootstrap=bootstrap,
        batch_tokens=batch_tokens,
        device=device,
        dtype=dtype,
        seed=seed,
        revision=revision,
        text_format=text_format,  # type: ignore[arg-type]
        trust_remote_code=trust_remote_code,
    )
    typer.echo(render(view_of(atlas, "reproduction"), "terminal"), nl=False)
    typer.echo(f"In all:  {counts(atlas.tables['reproduction'])}")
    typer.echo(f"Report:  {atlas.folder / REPORT}")
    typer.echo(f"Figures: {atlas.folder / 'figures'}")
    typer.echo(f"Page:    {atlas.folder / 'index.html'}")
