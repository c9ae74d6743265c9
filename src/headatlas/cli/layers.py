"""headatlas layers"""

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
    ModelName,
    ModelNumberType,
    Resamplings,
    Revision,
    TrustRemoteCode,
)

_FILES = (
    "CoNLL-U, CoNLL-X, DocBin or `word head-label` (pos, dependencies, arcs); columns with B- and I- tags (entities); "
    "CoNLL-2012, `Entity=` in CoNLL-U or brackets (coreference); marked texts of SemEval-2010 task 8 (relations); "
    "folders or zips of Inspec or SemEval (keyphrases); JSON lines of jiant (any task)."
)


def layers(
    model: ModelName,
    train: Annotated[list[str], typer.Option(metavar="FILE...", help=f"Texts to train on: {_FILES}")],
    eval_: Annotated[list[str], typer.Option("--eval", metavar="FILE...", help="Other texts to score on.")],
    out: Annotated[Path, typer.Option(help="The folder to make, to continue, or to add tasks to.")],
    task: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(
            metavar="NAME...",
            help="pos, dependencies, arcs, entities, coreference, relations, keyphrases; or any name, with JSON lines; "
            "several names, or with commas. Default: all that the files can answer.",
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(help="How many series of probes to train, all of them together.")] = 3,
    seed: Annotated[int, typer.Option(help="The first of these seeds; fixes sampling too.")] = 0,
    train_limit: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(help="Train on at most so many texts, drawn by the seed."),
    ] = None,
    eval_limit: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(help="Score on at most so many."),
    ] = None,
    heads: Annotated[
        bool, typer.Option("--heads/--no-heads", help="Mix heads too, for tasks that ask whether two spans are joined.")
    ] = True,
    control: Annotated[bool, typer.Option("--control", help="Do the same on the network with random weights.")] = False,
    control_task: ControlTask = False,
    mdl: Annotated[bool, typer.Option("--mdl", help="Measure description length by online coding.")] = False,
    examples: Annotated[int, typer.Option(help="Targets of each task to show, those that move most.")] = 10,
    width: Annotated[int, typer.Option(help="Width of the probes' projection and hidden layer.")] = 64,
    epochs: Annotated[int, typer.Option(help="At most so many passes over the training targets.")] = 20,
    patience: Annotated[
        int, typer.Option(help="Stop after so many passes in a row in which no probe gets better on held-out texts.")
    ] = 2,
    batch_targets: Annotated[int, typer.Option(help="Targets in a training batch.")] = 128,
    memory_megabytes: MemoryMegabytes = 2000,
    max_tokens: Annotated[int, typer.Option(help="Longest text, special tokens included; longer ones are cut.")] = 128,
    batch_tokens: ModelBatchTokens = 4096,
    bootstrap: Resamplings = 1000,
    device: Device = "auto",
    dtype: ModelNumberType = "float32",
    revision: Revision = None,
    attention: Attention = None,
    draw: Annotated[bool, typer.Option("--figures/--no-figures", help="Draw the figures and the page.")] = True,
    force: Annotated[bool, typer.Option("--force", help="Score on files to train on, if you must.")] = False,
    trust_remote_code: TrustRemoteCode = False,
) -> None:
    """Ask every layer what it knows: tasks on spans, mixes of all layers, and what each layer adds.

    Edge probing (Tenney et al. 2019): where in the stack is a word's part of speech known, a dependency, an entity, an
    antecedent? Run it again with another --task and files and the same --out, and the folder orders all its tasks.

    **Examples**

    `headatlas layers bert-base-uncased --train train.conllu --eval dev.conllu --out layers`

    `headatlas layers bert-base-uncased --task entities --train train.bio --eval dev.bio --out layers`

    `headatlas layers embedded --task srl --train srl.jsonl --eval srl-dev.jsonl --seeds 1 --out srl`
    """
    from headatlas.cli.report import finish
    from headatlas.commands.layers.run import layers as run

    found = run(
        model,
        task=[name for given in task or ("all",) for name in given.split(",") if name],
        train=train,
        eval=eval_,
        out=out,
        seeds=seeds,
        seed=seed,
        width=width,
        epochs=epochs,
        patience=patience,
        batch_targets=batch_targets,
        train_limit=train_limit,
        eval_limit=eval_limit,
        heads=heads,
        control=control,
        control_task=control_task,
        mdl=mdl,
        examples=examples,
        bootstrap=bootstrap,
        memory_megabytes=memory_megabytes,
        max_tokens=max_tokens,
        batch_tokens=batch_tokens,
        device=device,
        dtype=dtype,
        revision=revision,
        stack=attention,  # type: ignore[arg-type]
        force=force,
        trust_remote_code=trust_remote_code,
    )
    finish(found, draw)
