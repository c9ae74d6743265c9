"""`headatlas keyphrases`, in Python `headatlas.keyphrases`: options and entry point."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from headatlas.commands.shared.command import command
from headatlas.commands.shared.corpora import FormatOptions
from headatlas.commands.shared.models import BatchOptions, LoadOptions, ModelName
from headatlas.commands.shared.options import (
    Files,
    Folder,
    Heads,
    Options,
    Positive,
    PythonOnly,
    ResultsFolder,
    Texts,
    list_names,
)
from headatlas.errors import SettingError

if TYPE_CHECKING:
    from headatlas.results.folder import Results


@dataclass(frozen=True, kw_only=True)
class FineTuningOptions(Options, panel="Fine-tuning"):
    """Whether and how to train a tagger."""

    finetune: bool = False
    """Also train the model on --train to tag keyphrases; then remove and prune its heads, and score it on --data."""
    epochs: Positive = 3
    """Number of passes over --train."""
    rate: float = 1e-4
    """Learning rate."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.rate < 1:
            raise SettingError(f"--rate must lie between 0 and 1, for example 0.0001, not be {self.rate}.")


@dataclass(frozen=True, kw_only=True)
class PhraseOptions(Options, panel="Words and phrases"):
    """What may be a keyphrase, and how attention to its words is scored."""

    candidates: Annotated[str | None, Parameter(metavar="PIPELINE")] = None
    """spaCy pipeline, for example en_core_web_sm, to make candidates of adjectives and nouns. Default: runs of words
    between stop words."""
    report_words: Literal["exclude", "keep"] = "exclude"
    """Words typical of abstracts and reports, such as "propose" and "results": exclude them from candidates, or keep
    them. With --data, both are scored. A spaCy pipeline keeps them."""
    pooling: Literal["mean", "max"] = "mean"
    """Attention that a word receives: the mean or the maximum of its column."""
    rows: Literal["all", "text"] = "all"
    """Rows of that column: all tokens, or those of the text without special tokens."""


@dataclass(frozen=True, kw_only=True)
class KeyphraseOptions(PhraseOptions, FineTuningOptions, LoadOptions, BatchOptions, FormatOptions):
    """The options of `keyphrases`."""

    kinds = ("text", "keyphrases")
    model: ModelName = field(kw_only=False)
    text: Texts | None = None
    """UTF-8 text, plain or gzipped: one sentence or paragraph per line, an empty line between documents."""
    data: Files | None = None
    """Documents with keyphrases to score against, instead of --text: Inspec or SemEval folders or zip files, or JSON
    lines."""
    train: Files | None = None
    """Other documents with keyphrases, to choose and combine heads on."""
    out: Folder = "keyphrases"
    """Folder to write to. An unfinished run resumes."""
    heads: Heads | None = None
    """Heads to score words by, for example 5-4 6-11. Default: those found on --train, or those that ship with headatlas
    for the embedded model."""
    top: Positive = 10
    """Number of phrases to list per document."""
    documents: Positive = 500
    """Use at most this many documents of --data, and of --train, sampled at random."""
    max_tokens: Positive | None = None
    """Maximum length of a window in tokens, including special tokens. Default: what the model allows, at most 512."""
    seed: int = 0
    """Seed for sampling, training and resampling."""
    bootstrap: Positive = 1000
    """Number of bootstrap replicates for intervals."""
    atlas: ResultsFolder | None = None
    """Survey of this model, to list the behaviours of heads beside their weights."""
    progress: PythonOnly = True
    """Show progress."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.heads is not None and not list_names(self.heads):
            raise SettingError("--heads is empty. Name at least one head, for example 5-4.")
        if (self.text is None) == (self.data is None):
            problem = "No documents given" if self.text is None else "--text and --data exclude each other"
            raise SettingError(f"{problem}. Add --text FILE, or --data DIR with keyphrases to score against.")
        if self.finetune and (self.train is None or self.data is None):
            raise SettingError("--finetune needs --train to learn from and --data to score on.")
        if self.train is not None and self.data is not None and str(self.train) == str(self.data):
            raise SettingError("--train and --data are the same. Score on other documents than those trained on.")

    def settings(self) -> dict[str, Any]:
        """Record names as lists; batches decide the last digits of weights."""
        atlas = None if self.atlas is None else str(self.atlas)
        more = {"heads": list_names(self.heads), "atlas": atlas, "batch_tokens": self.batch_tokens}
        return super().settings() | more


@command(KeyphraseOptions)
def keyphrases(options: KeyphraseOptions) -> Results:
    """Find the keyphrases of documents by the attention that their words receive.

    The embedded model needs no training; for other models, name heads or give documents to find them on with --train.
    With --data, phrases are scored beside those of TF-IDF, TextRank, YAKE (if installed), their length and their order
    in the text, and beside all heads, random heads and uniform attention; heads are ranked by their attention to
    keyphrases. Writes tables, figures and the texts with their words shaded into DIR. Press Ctrl-C to stop; the same
    command resumes.

        headatlas keyphrases embedded --text paper.txt
        headatlas keyphrases embedded --data Inspec/Validation
        headatlas keyphrases bert-base-uncased --train Inspec/Training --data Inspec/Test

    In Python: headatlas.keyphrases("embedded", text="paper.txt", out="phrases")
    """
    from headatlas.commands.keyphrases.run import run_keyphrases  # imported here because it needs torch

    return run_keyphrases(options)
