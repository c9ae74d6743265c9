"""headatlas extract"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

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
        Optional[Path],  # noqa: UP045
        typer.Option(help="The folder of maps to make, or to continue."),
    ] = None,
    treebank: Annotated[
        Optional[list[Path]],  # noqa: UP045
        typer.Option(
            metavar="FILE...",
            help="Sentences with dependency trees: CoNLL-U, CoNLL-X, `word head-label` lines or a spaCy DocBin.",
        ),
    ] = None,
    text: Annotated[
        Optional[list[Path]],  # noqa: UP045
        typer.Option(
            metavar="FILE...",
            help="UTF-8 text, plain or .gz: one sentence or paragraph a line, an empty line between documents.",
        ),
    ] = None,
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
    segments: Annotated[int, typer.Option(help="How many segments to sample from the whole text.")] = 1000,
    max_tokens: Annotated[int, typer.Option(help="Longest input, special tokens included.")] = 128,
    batch_tokens: Annotated[
        int, typer.Option(help="Tokens in a batch, padding included. Fewer need less memory.")
    ] = 4096,
    device: Annotated[
        str, typer.Option(help="Where to run: auto (a GPU where there is one), cpu, cuda, cuda:1, mps.")
    ] = "auto",
    dtype: Annotated[
        str, typer.Option(help="Type of the model's numbers: float32, bfloat16, float16 or float64.")
    ] = "float32",
    seed: Annotated[int, typer.Option(help="Fixes the sample and random weights.")] = 0,
    revision: Annotated[Optional[str], typer.Option(help="Branch, tag or commit on the hub.")] = None,  # noqa: UP045
    random_weights: Annotated[
        bool,
        typer.Option("--random-weights", help="The control: keep word and position embeddings, draw the rest anew."),
    ] = False,
    text_format: Annotated[
        str,
        typer.Option(
            help="documents (empty line between them), wikitext (`= Title =` headings), paragraphs (every line is a "
            "document, cut into sentences), or auto."
        ),
    ] = "auto",
    treebank_format: Annotated[str, typer.Option(help="conllu, conllx, head-label, spacy, or auto.")] = "auto",
    segment_style: Annotated[
        str,
        typer.Option(help="pair ([CLS] A [SEP] B [SEP]), single (one span), or auto: pair where the tokenizer can."),
    ] = "auto",
    attention: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="For encoder-decoders: encoder (default) or decoder heads."),
    ] = None,
    trust_remote_code: Annotated[
        bool,
        typer.Option("--trust-remote-code", help="Run Python code that comes with the model. Only if you trust it."),
    ] = False,
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
    from headatlas.errors import SettingError
    from headatlas.surveying.choices import one_source

    one_source(model=model, imported=imported or None, check=check)
    if check is not None:
        from headatlas.store.reading import open_store

        store = open_store(check)
        store.verify()
        _tell(store, "every shard is as it was written")
        return
    if out is None:
        raise SettingError("There is nowhere to put the maps. Name a folder with --out.")
    if imported:
        from headatlas.surveying import import_maps

        _tell(import_maps(imported, out=out, dtype_stored=dtype_stored, shard_megabytes=shard_megabytes))
        return
    from headatlas.surveying import extract as run

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
        max_tokens=max_tokens,
        batch_tokens=batch_tokens,
        device=device,
        dtype=dtype,
        seed=seed,
        revision=revision,
        random_weights=random_weights,
        text_format=text_format,  # type: ignore[arg-type]
        treebank_format=treebank_format,  # type: ignore[arg-type]
        segment_style=segment_style,  # type: ignore[arg-type]
        stack=attention,  # type: ignore[arg-type]
        trust_remote_code=trust_remote_code,
    )
    _tell(store)


def _tell(store: Store, more: str = "") -> None:
    """What the folder holds and what was left out."""
    from headatlas.store.writing import counted, megabytes

    index = store.index
    size = megabytes(sum(shard.bytes for shard in index.shards))
    states = f", hidden states of {index.states} numbers" if index.states else ""
    what = f"maps between {store.level} of {counted(len(store), 'example')}{states}"
    where = f"{size} in {counted(len(index.shards), 'shard')}{'; ' * bool(more)}{more}"
    typer.echo(f"{store.model['name']}: {store.shape}, {what}, {index.dtype}, {where}")
    for about in index.corpora.values():
        for reason, number in about["left_out"].items():
            typer.echo(f"Left out: {reason} {number:,}")
    typer.echo(f"Next:    headatlas survey --maps {store.folder} --out DIR")
    typer.echo(f"Folder:  {store.folder}")
