"""Options that several commands have, each written once with its help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

Address = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(help="For --engine ray: a running cluster, or auto; by default one is started on this machine."),
]
Attention = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(help="For encoder-decoders: encoder (default) or decoder heads."),
]
BatchTokens = Annotated[int, typer.Option(help="Tokens in a batch, padding included. Fewer need less memory.")]
Bootstrap = Annotated[int, typer.Option(help="Resamplings for the intervals, and permutations for the tests.")]
CoreferenceFormat = Annotated[str, typer.Option(help="conll2012, corefud, brackets, or auto.")]
Device = Annotated[str, typer.Option(help="Where to run: auto (a GPU where there is one), cpu, cuda, cuda:1, mps.")]
DeviceMapOption = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(
        "--device-map",
        help="For a model too large for one device: auto (all GPUs, then memory, then disk), balanced, "
        "balanced_low_0 or sequential.",
    ),
]
KeyphraseFiles = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option(
        metavar="FILE...",
        help="Documents with keyphrases: a folder or zip of Inspec's .abstr and .uncontr files or of docsutf8/ and "
        "keys/, or JSON lines with text and keyphrases.",
    ),
]
KeyphraseFormat = Annotated[str, typer.Option(help="inspec, inspec-controlled, folders, jsonl, or auto.")]
ControlTask = Annotated[
    bool, typer.Option("--control-task", help="Train each probe on random answers too: how selective is it?")
]
MemoryMegabytes = Annotated[
    int, typer.Option(help="Maps and states kept in memory between passes; the rest is read again.")
]
ModelBatchTokens = Annotated[int, typer.Option(help="Tokens in a batch of the model, padding included.")]
EngineOption = Annotated[
    str, typer.Option("--engine", help="What the workers are: processes of this machine, or ray for a cluster.")
]
ModelName = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help="A name on the Hugging Face hub, a local model folder, a .gguf file, or an embedded model "
        "(see `headatlas models`).",
    ),
]
ModelNumberType = Annotated[
    str, typer.Option(help="Type of the model's numbers: float32, bfloat16, float16 or float64.")
]
NumberType = Annotated[str, typer.Option(help="Type of the numbers: float32, bfloat16, float16 or float64.")]
OutFolder = Annotated[
    str, typer.Option(metavar="DIR", help="The folder to make, or to continue; or a URL, such as s3://bucket/atlas.")
]
RandomWeights = Annotated[
    bool,
    typer.Option("--random-weights", help="The control: keep word and position embeddings, draw the rest anew."),
]
ResultsFolder = Annotated[
    Path,
    typer.Argument(
        metavar="DIR", help="A folder made by `headatlas survey`, `probe`, `layers`, `ablate` or `compare`."
    ),
]
Revision = Annotated[Optional[str], typer.Option(help="Branch, tag or commit on the hub.")]  # noqa: UP045
Resamplings = Annotated[int, typer.Option(help="Resamplings for intervals.")]
SegmentStyle = Annotated[
    str,
    typer.Option(help="pair ([CLS] A [SEP] B [SEP]), single (one span), or auto: pair where the tokenizer can."),
]
Segments = Annotated[int, typer.Option(help="How many segments to sample from the whole text.")]
ShardOption = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(
        "--shard", metavar="I/N", help="Only the I-th of N shares of the inputs; put them together with merge."
    ),
]
Sentences = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option(help="Only so many sentences of --treebank, drawn at random. Default: all."),
]
TextFiles = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option(
        metavar="FILE...",
        help="UTF-8 text, plain or .gz: one sentence or paragraph a line, an empty line between documents.",
    ),
]
TextFormat = Annotated[
    str,
    typer.Option(
        help="documents (empty line between them), wikitext (`= Title =` headings), paragraphs (every line is a "
        "document, cut into sentences), or auto."
    ),
]
TreebankFiles = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option(
        metavar="FILE...",
        help="Sentences with dependency trees: CoNLL-U, CoNLL-X, `word head-label` lines or a spaCy DocBin.",
    ),
]
TreebankFormat = Annotated[str, typer.Option(help="conllu, conllx, head-label, spacy, or auto.")]
TrustRemoteCode = Annotated[
    bool,
    typer.Option("--trust-remote-code", help="Run Python code that comes with the model. Only if you trust it."),
]
WorkerGpus = Annotated[float, typer.Option(help="For --engine ray: GPUs of each worker, or a part of one.")]
Workers = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option(help="How many workers share the batches, each with the model. Default: none but this process."),
]
WorkerThreads = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option(help="Threads of each worker. Default: those of this machine, shared out."),
]
