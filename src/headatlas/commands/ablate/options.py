"""`headatlas ablate`, in Python `headatlas.ablate`: options and entry point."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from headatlas.choices import AblationKind, Pooling, Stack
from headatlas.commands.ablate.tasks import TASKS, list_tasks, needs_of
from headatlas.commands.shared.command import command
from headatlas.commands.shared.corpora import FormatOptions
from headatlas.commands.shared.models import LoadOptions, ModelName, RandomWeightsOptions
from headatlas.commands.shared.options import (
    UNRECORDED,
    Bounds,
    Files,
    Folder,
    Heads,
    Names,
    OnByDefault,
    Options,
    Pairs,
    Positive,
    PythonOnly,
    ResultsFolder,
    ShardOptions,
    Texts,
    list_names,
)
from headatlas.engine.corpora import KINDS
from headatlas.errors import PluginError, SettingError

if TYPE_CHECKING:
    from headatlas.results.folder import Results


COMPLETE_TASKS = Parameter(completer=lambda _context: list(TASKS))
FEWEST_PAIRS = 20  # of words; with fewer, the causal test leaves a relation out
FILES = ("text", "data", "pairs", "treebank", "eval", "coreference", "train")  # options with the data of tasks


@dataclass(frozen=True, kw_only=True)
class ExampleOptions(FormatOptions, panel="Examples"):
    """Which examples to score."""

    examples: Positive = 300
    """Use at most this many segments, texts or pairs, sampled at random."""
    max_tokens: Positive = 128
    """Maximum length of an input in tokens, including special tokens."""
    batch_tokens: Annotated[Positive, UNRECORDED] = 4096
    """Tokens per batch, including padding. Lower values need less memory."""
    seed: int = 0
    """Seed for sampling, masking, halves and random orders."""


@dataclass(frozen=True, kw_only=True)
class RemovalOptions(Options, panel="Removal"):
    """Which heads to remove, and how."""

    kind: AblationKind = "zero"
    """What replaces the output of a removed head: nothing (zero), its mean output, or its output at a token sampled
    from the data (resample)."""
    heads: Heads | None = None
    """Remove only these heads, for example 8-10, and draw no curves. Default: every head in turn."""
    attention: Annotated[Stack | None, UNRECORDED] = None
    """Attention to remove heads from in an encoder-decoder model. Default: encoder."""
    curves: OnByDefault = True
    """Also remove more and more heads, in several orders."""
    steps: Positive = 10
    """Number of steps of these curves, from no head removed to all."""
    random_orders: Positive = 5
    """Number of random orders in these curves."""
    tolerance: float = 0.05
    """Count how many heads can be removed before the score loses this share of what all heads together add to it."""
    bootstrap: Positive = 1000
    """Number of bootstrap replicates for intervals and tests, and of permutations of heads."""


@dataclass(frozen=True, kw_only=True)
class DataOptions(Options, panel="Classification, minimal pairs and translation"):
    """How to read labelled data, minimal pairs and translations."""

    columns: Names | None = None
    """Columns of --data, if they have other names: text, label; text, text2, label; or source, target."""
    train: Files | None = None
    """Data to train a classifier on, if the model has none. Default: a share of --data."""
    train_share: float = 0.5
    """Share of --data to train on, between 0 and 1; only the rest is scored."""
    pooling: Pooling = "mean"
    """Output of the encoder that the classifier reads: the mean over all tokens, or the first token."""
    sets: Names | None = None
    """Use only these sets of --pairs, by file name."""
    beams: Positive = 1
    """Number of beams for translation; 1 decodes greedily. Time and memory grow with it."""


@dataclass(frozen=True, kw_only=True)
class CausalOptions(Options, panel="Causal test"):
    """How to test whether a head is needed for its relation."""

    words: Annotated[int, Bounds(FEWEST_PAIRS)] = 100
    """Use at most this many words per relation and end; ends with fewer than 20 are not tested."""


@dataclass(frozen=True, kw_only=True)
class AblateOptions(
    ExampleOptions,
    RemovalOptions,
    DataOptions,
    CausalOptions,
    LoadOptions,
    RandomWeightsOptions,
    FormatOptions,
    ShardOptions,
):
    """The options of `ablate`."""

    kinds = tuple(KINDS)
    model: ModelName = field(kw_only=False)
    """Name on the Hugging Face hub, optionally with @revision; a local folder; a .gguf file; or an embedded model
    (run `headatlas models` for a list)."""
    task: Annotated[Names, COMPLETE_TASKS]
    """Tasks to remove heads on, each with the options that it needs:"""
    out: Folder = "ablation"
    """Folder or URL to write to, for example s3://bucket/ablation. An unfinished run resumes."""
    text: Texts | None = None
    """UTF-8 text, plain or gzipped: one sentence or paragraph per line, an empty line between documents."""
    data: Files | None = None
    """Tables (.tsv, .csv, .jsonl) with text and label; text, text2 and label; or source and target."""
    pairs: Files | None = None
    """Minimal pairs as in BLiMP: .jsonl with sentence_good and sentence_bad, or its .zip."""
    treebank: Files | None = None
    """Sentences with dependency trees: for causal; for probe, to train it on."""
    eval: Files | None = None
    """Other sentences with trees, to score the probe on."""
    coreference: Files | None = None
    """Documents with coreference chains, for causal."""
    also: Annotated[Pairs | None, Parameter(metavar="NAME=FILE..."), UNRECORDED] = None
    """Other sets of examples for the same task, for example mismatched=dev.tsv, each read like the task's own data.
    Heads are removed on each set, and the changes on the sets are compared."""
    atlas: ResultsFolder | None = None
    """Survey of this model: are the heads with a label the ones that matter? causal needs it to find the best head for
    each relation."""
    progress: PythonOnly = True
    """Show progress."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.train_share < 1:
            raise SettingError(f"--train-share must lie between 0 and 1, not be {self.train_share}.")
        if not 0 < self.tolerance < 1:
            raise SettingError(f"--tolerance must lie between 0 and 1, not be {self.tolerance}.")
        if self.also:
            _check_sets(self.tasks, self.also)
        _check_tasks(self.tasks, {name for name in (*FILES, "atlas") if getattr(self, name) is not None})

    @classmethod
    def help_of(cls, name: str, text: str) -> str:
        if name == "task":
            return f"{text} {list_tasks()}."
        if name == "data":
            described = {task: needs_of(task).files for task in TASKS if TASKS.is_own(task)}
            return " ".join([text, *(f"For {task}: {files}." for task, files in described.items() if files)])
        return super().help_of(name, text)

    @property
    def tasks(self) -> list[str]:
        """The tasks by name."""
        return list_names(self.task) or []

    def settings(self) -> dict[str, Any]:
        """Record names as lists; the batches decide which scores are saved together."""
        names = {name: list_names(getattr(self, name)) for name in ("heads", "columns", "sets")}
        atlas = None if self.atlas is None else str(self.atlas)
        return super().settings() | names | {"tasks": self.tasks, "atlas": atlas, "batch_tokens": self.batch_tokens}


def _check_sets(tasks: list[str], also: Mapping[str, str]) -> None:
    """Refuse sets of examples without a task of their own, a name or a file."""
    if len(tasks) != 1 or tasks == ["causal"]:
        raise SettingError("--also needs exactly one task, and not causal: its sets are sets of that task.")
    for name, path in also.items():
        if not re.fullmatch(r"[\w.-]+", name) or not str(path):
            raise SettingError(f"--also {name}={path} is not valid. Write NAME=FILE, for example mismatched=dev.tsv.")


def _check_tasks(tasks: list[str], given: set[str]) -> None:
    """Refuse tasks that do not exist, cannot be combined or lack data, and data that no task reads."""
    if not tasks or (unknown := set(tasks) - set(TASKS)):
        problem = f"Unknown task: {', '.join(sorted(unknown))}." if tasks else "No task is chosen."
        raise SettingError(f"{problem} Choose from: {', '.join(TASKS)}.")
    if len(set(tasks)) < len(tasks):
        raise SettingError("A task is named twice.")
    needs = {task: needs_of(task) for task in tasks}
    reading_data = [task for task in tasks if "data" in needs[task].data]
    if len(reading_data) > 1:
        raise SettingError(f"{' and '.join(reading_data)} read --data each. Run them one after the other.")
    for task in tasks:
        if wrong := set(needs[task].reads) - {*FILES, "atlas"}:
            source = TASKS.found[task].source
            raise PluginError(f"The task '{task}' of {source} needs --{min(wrong)}, which `ablate` does not have.")
        if missing := needs[task].missing(given):
            raise SettingError(f"The task {task} cannot run without {missing}.")
    if unused := sorted((given - {"atlas"}).difference(*(needs[task].reads for task in tasks))):
        raise SettingError(f"--{unused[0]} is given, but none of the chosen tasks reads it: {', '.join(tasks)}.")


@command(AblateOptions)
def ablate(options: AblateOptions) -> Results:
    """Find out which heads a model needs, by removing them.

    Removes each head alone, with a test; measures the importance of each head from gradients; and removes more and more
    heads, in several orders. With --also it does so on other data of the task too; with --atlas it asks whether heads
    with a label matter more than others. causal tests whether a head that tracks a relation is needed for it. Writes
    tables (Parquet and CSV) and figures into DIR. Press Ctrl-C to stop; the same command resumes.

        headatlas ablate bert-base-uncased --task masked-lm --text wiki.txt
        headatlas ablate gpt2 --task classification --data reviews.tsv --kind mean
        headatlas ablate gpt2 --task classification --data in.tsv --also out=other.tsv
        headatlas ablate gpt2 --task minimal-pairs --pairs BLiMP.zip --sets npi_1
        headatlas ablate gpt2 --task probe --treebank train.conllu --eval dev.conllu
        headatlas ablate roberta-base --task causal --atlas atlas --treebank a.conllu

    In Python: headatlas.ablate("gpt2", task="next-token", text="wiki.txt", out="ablation")
    """
    from headatlas.commands.ablate.run import run_ablate  # imported here because it needs torch

    return run_ablate(options)
