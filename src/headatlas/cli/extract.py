"""headatlas extract"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from headatlas.cli.options import (
    Attention,
    BatchTokens,
    Device,
    DeviceMapOption,
    ModelNumberType,
    RandomWeights,
    Revision,
    Segments,
    SegmentStyle,
    Sentences,
    ShardOption,
    TextFiles,
    TextFormat,
    TreebankFiles,
    TreebankFormat,
    TrustRemoteCode,
)

if TYPE_CHECKING:
    from headatlas.store.reading import Store


def extract(
    model: Annotated[
        Optional[str],  # noqa: UP045
        typer.Argument(
            metavar="MODEL",
            help="A name on the Hugging Face hub, a local model folder, a .gguf file, or an embedded model "
            "(see `headatlas models`). Not with --import or --check.",
        ),
    ] = None,
    out: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="DIR", help="The folder of maps to make, or to continue; or a URL."),
    ] = None,
    treebank: TreebankFiles = None,
    text: TextFiles = None,
    words: Annotated[
        Optional[bool],  # noqa: UP045
        typer.Option(
            "--words/--tokens",
            help="Maps between words (to a split word the sum over its tokens, from it the mean) or between tokens. "
            "Default: words of a treebank, tokens of a text.",
        ),
    ] = None,
    hidden_states: Annotated[
        bool, typer.Option("--hidden-states", help="Keep the hidden states of all layers too.")
    ] = False,
    dtype_stored: Annotated[
        str, typer.Option(help="Type of the numbers kept: float16, or float32 at twice the size.")
    ] = "float16",
    shard_megabytes: Annotated[int, typer.Option(help="About how large each file of maps becomes.")] = 256,
    imported: Annotated[
        Optional[list[Path]],  # noqa: UP045
        typer.Option(
            "--import",
            metavar="FILE...",
            help="Maps that others made instead of a MODEL: the paper's *_attn.pkl, or .npz with `attn` and `tokens`.",
        ),
    ] = None,
    check: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(metavar="DIR", help="Only compare every file of a folder of maps with its checksum."),
    ] = None,
    segments: Segments = 1000,
    sentences: Sentences = None,
    max_tokens: Annotated[int, typer.Option(help="Longest input, special tokens included.")] = 128,
    batch_tokens: BatchTokens = 4096,
    device: Device = "auto",
    device_map: DeviceMapOption = None,
    dtype: ModelNumberType = "float32",
    seed: Annotated[int, typer.Option(help="Fixes the sample and random weights.")] = 0,
    revision: Revision = None,
    random_weights: RandomWeights = False,
    text_format: TextFormat = "auto",
    treebank_format: TreebankFormat = "auto",
    segment_style: SegmentStyle = "auto",
    attention: Attention = None,
    trust_remote_code: TrustRemoteCode = False,
    shard: ShardOption = None,
) -> None:
    """Keep a model's attention maps in a folder of safetensors files, or bring in maps that others made.

    The size is told before it starts. Stop it with Ctrl-C whenever you like: the same command continues where it
    stopped. `headatlas survey --maps DIR` runs every study of attention on the maps, without the model.

    **Examples**

    `headatlas extract bert-base-uncased --treebank train.conllu --out maps`

    `headatlas extract bert-base-uncased --text wiki.txt --segments 200 --out maps-text`

    `headatlas extract --import unlabeled_attn.pkl --out maps-paper`

    `headatlas extract --check maps`
    """
    from headatlas.commands.survey.choices import one_source
    from headatlas.errors import SettingError

    one_source(model=model, imported=imported or None, check=check)
    if check is not None:
        from headatlas.store.reading import open_store

        store = open_store(check)
        store.verify()
        tell_store(store, "every shard is as it was written")
        return
    if out is None:
        raise SettingError("There is nowhere to put the maps. Name a folder with --out.")
    if imported:
        from headatlas.commands.extract.importing import import_maps

        tell_store(import_maps(imported, out=out, dtype_stored=dtype_stored, shard_megabytes=shard_megabytes))
        return
    from headatlas.cli.places import tell_shard
    from headatlas.commands.extract.run import extract as run

    store = run(
        model or "",
        treebank=treebank or None,
        text=text or None,
        out=out,
        level=None if words is None else "words" if words else "tokens",
        hidden_states=hidden_states,
        dtype_stored=dtype_stored,
        shard_megabytes=shard_megabytes,
        segments=segments,
        sentences=sentences,
        max_tokens=max_tokens,
        batch_tokens=batch_tokens,
        device=device,
        device_map=device_map,
        dtype=dtype,
        seed=seed,
        revision=revision,
        random_weights=random_weights,
        text_format=text_format,  # type: ignore[arg-type]
        treebank_format=treebank_format,  # type: ignore[arg-type]
        segment_style=segment_style,  # type: ignore[arg-type]
        stack=attention,  # type: ignore[arg-type]
        trust_remote_code=trust_remote_code,
        shard=shard,
    )
    if shard is not None:
        tell_shard(shard, out)
        return
    tell_store(store)


def tell_store(store: Store, more: str = "") -> None:
    """What the folder holds and what was left out."""
    from headatlas.commands.survey.stored import stored_unknown
    from headatlas.results.naming import model_named
    from headatlas.views.words.about import unknown_warning
    from headatlas.wording import counted, megabytes

    index = store.index
    size = megabytes(sum(shard.bytes for shard in index.shards))
    states = f", hidden states of {index.states} numbers" if index.states else ""
    what = f"maps between {store.level} of {counted(len(store), 'example')}{states}"
    where = f"{size} in {counted(len(index.shards), 'shard')}{'; ' * bool(more)}{more}"
    typer.echo(f"{model_named(store.model)}: {store.shape}, {what}, {index.dtype}, {where}")
    for warning in unknown_warning(stored_unknown(store), "the inputs", Path(store.model["name"]).name):
        typer.secho(warning, fg="yellow")
    for about in index.corpora.values():
        for reason, number in about["left_out"].items():
            typer.echo(f"Left out: {reason} {number:,}")
    typer.echo(f"Next:    headatlas survey --maps {store.folder} --out DIR")
    typer.echo(f"Folder:  {store.folder}")
