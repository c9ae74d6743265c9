"""`headatlas extract`, in Python `headatlas.extract`: options and entry point."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from headatlas.choices import Level
from headatlas.commands.shared.command import command
from headatlas.commands.shared.corpora import FormatOptions, SegmentOptions
from headatlas.commands.shared.models import ModelOptions, OptionalModel, RandomWeightsOptions
from headatlas.commands.shared.options import (
    UNRECORDED,
    Files,
    Folder,
    Options,
    Positive,
    PythonOnly,
    ResultsFolder,
    ShardOptions,
    Texts,
)
from headatlas.errors import SettingError

if TYPE_CHECKING:
    from headatlas.store.reading import Store

StoredType = Literal["float16", "float32"]


@dataclass(frozen=True, kw_only=True)
class StoreOptions(Options, panel="Output"):
    """How to store numbers."""

    dtype_stored: StoredType = "float16"
    """Floating-point type of the stored numbers. float32 stores maps exactly as the model gives them."""
    shard_megabytes: Positive = 256
    """Approximate size of each file in megabytes."""


@dataclass(frozen=True, kw_only=True)
class ExtractOptions(ModelOptions, RandomWeightsOptions, FormatOptions, SegmentOptions, StoreOptions, ShardOptions):
    """The options of `extract`."""

    kinds: ClassVar[tuple[str, ...]] = ("text", "treebank")
    model: OptionalModel = field(default=None, kw_only=False)
    """Name on the Hugging Face hub, optionally with @revision; a local folder; a .gguf file; or an embedded model
    (run `headatlas models` for a list). Omit it with --import and --check."""
    out: Folder = "maps"
    """Folder or URL to write to, for example s3://bucket/maps. An unfinished extraction resumes."""
    treebank: Files | None = None
    """Sentences with dependency trees: CoNLL-U, CoNLL-X, spaCy DocBin, or one word and its head-label per line."""
    text: Texts | None = None
    """UTF-8 text, plain or gzipped: one sentence or paragraph per line, an empty line between documents."""
    level: Annotated[Level | None, UNRECORDED] = None
    """Store attention between words (summed over the tokens of the word attended to, averaged over those of the other)
    or between tokens. Default: words of a treebank, tokens of a text."""
    hidden_states: bool = False
    """Also store the hidden states of all layers."""
    segments: Positive = 1000
    """Number of segments to sample from the text."""
    sentences: Positive | None = None
    """Use at most this many sentences of the treebank, sampled at random."""
    max_tokens: Positive = 128
    """Maximum length of an input in tokens, including special tokens."""
    seed: int = 0
    """Seed for sampling and random weights."""
    import_: Files | None = None
    """Store maps from these files instead of running a model: *_attn.pkl of Clark et al. (2019), or .npz files with
    arrays attn and tokens."""
    check: ResultsFolder | None = None
    """Only compare every file of this folder of maps with its checksum."""
    progress: PythonOnly = True
    """Show progress."""

    def __post_init__(self) -> None:
        super().__post_init__()
        sources = {"MODEL": self.model, "--import": self.import_, "--check": self.check}
        given = [name for name, source in sources.items() if source]
        if not given:
            raise SettingError("No model given. Put MODEL before all options, or use --import or --check.")
        if len(given) > 1:
            raise SettingError(f"{' and '.join(given)} exclude each other. Choose one of them.")
        if self.model is not None:
            self._check_corpus()

    def _check_corpus(self) -> None:
        if (self.treebank is None) == (self.text is None):
            problem = (
                "There is nothing to extract maps from" if self.text is None else "--treebank and --text are given"
            )
            raise SettingError(f"{problem}. Add either --treebank or --text.")
        if self.level == "words" and self.text is not None:
            raise SettingError("--level words needs a --treebank, which has words. Text gives maps between tokens.")

    @property
    def chosen_level(self) -> Level:
        """The level given, or the usual one of the corpus."""
        return self.level or ("words" if self.text is None else "tokens")

    def settings(self) -> dict[str, Any]:
        return super().settings() | {"level": self.chosen_level, "batch_tokens": self.batch_tokens}


@command(ExtractOptions)
def extract(options: ExtractOptions) -> Store:
    """Save the attention maps of a model, to survey or probe them later without it.

    Writes safetensors files into DIR, after saying how large they will be. Press Ctrl-C to stop; the same command
    resumes. Run every study of attention on the maps with `headatlas survey --maps DIR`.

        headatlas extract bert-base-uncased --treebank train.conllu
        headatlas extract bert-base-uncased --text wiki.txt --segments 200 --out maps-text
        headatlas extract --import unlabeled_attn.pkl --out maps-paper
        headatlas extract --check maps

    In Python: headatlas.extract("bert-base-uncased", treebank="train.conllu", out="maps")
    """
    from headatlas.commands.extract.run import check_maps, import_maps, run_extract  # imported here: they need torch

    if options.check is not None:
        return check_maps(Path(options.check))
    if options.import_:
        return import_maps(
            options.import_,
            out=options.out,
            dtype_stored=options.dtype_stored,
            shard_megabytes=options.shard_megabytes,
            progress=options.progress,
        )
    return run_extract(options)
