"""`headatlas layers`, in Python `headatlas.layers`: options and entry point."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

from headatlas.choices import RandomWeights
from headatlas.commands.shared.command import command
from headatlas.commands.shared.models import ModelName, ModelOptions, TrainingOptions
from headatlas.commands.shared.options import (
    UNRECORDED,
    Files,
    Folder,
    Names,
    NonNegative,
    OnByDefault,
    Options,
    Positive,
    PythonOnly,
)
from headatlas.corpora.spans.tasks import ADDED, OWN
from headatlas.errors import SettingError

if TYPE_CHECKING:
    from headatlas.probes.training import TrainingSettings
    from headatlas.results.folder import Results

FEWEST_UPDATES = 500  # by default
FEWEST_PASSES = 5
FORMATS = (
    "treebanks (pos, dependencies, arcs)",
    "BIO columns (entities)",
    "coreference corpora",
    "SemEval-2010 task 8 (relations)",
)


@dataclass(frozen=True, kw_only=True)
class LayerTrainingOptions(Options, panel="Training"):
    """How to train probes of layers."""

    train_targets: Positive | None = None
    """Train every task on this many targets. Tasks are ordered only if they have equally many. Default: as many as the
    tasks that are already in DIR, otherwise as many as the smallest task has."""
    updates: Positive | None = None
    """Number of training batches of every probe. Default: 500, or five passes over the targets if that is more."""
    width: Positive = 64
    """Width of the projection and of the hidden layer of a probe."""
    batch_targets: Positive = 128
    """Targets per training batch."""


@dataclass(frozen=True, kw_only=True)
class LayerStatisticsOptions(Options, panel="Controls and statistics"):
    """What to compare the scores with."""

    control: RandomWeights | None = None
    """Also probe the same model with random weights, fresh or shuffled."""
    control_task: bool = False
    """Also train every probe on random labels, to measure selectivity."""
    mdl: bool = False
    """Also measure description length by online coding."""
    examples: NonNegative = 10
    """Number of targets per task to show: those whose prediction changes most between layers."""
    bootstrap: Positive = 1000
    """Number of bootstrap replicates for intervals."""
    force: Annotated[bool, UNRECORDED] = False
    """Allow a file to appear in both --train and --eval."""


@dataclass(frozen=True, kw_only=True)
class LayerOptions(LayerStatisticsOptions, LayerTrainingOptions, TrainingOptions, ModelOptions):
    """The options of `layers`."""

    model: ModelName = field(kw_only=False)
    train: Files
    """Texts to train on:"""
    eval: Files
    """Texts to score on, in the same formats."""
    out: Folder = "layers"
    """Folder to write to. An unfinished run resumes; a finished one takes in more tasks."""
    task: Names | None = None
    """Tasks to run, by default all that the files support:"""
    seeds: Positive = 5
    """Number of trainings, each with a seed and a bootstrap sample of the training texts of its own. An order of tasks
    needs at least 3."""
    seed: int = 0
    """First seed; it also fixes the samples."""
    train_limit: Annotated[Positive | None, UNRECORDED] = None  # what a task is made of is recorded with the task
    """Train on at most this many texts, sampled at random."""
    eval_limit: Annotated[Positive | None, UNRECORDED] = None
    """Score on at most this many texts, sampled at random."""
    max_tokens: Positive = 128
    """Maximum length of a text in tokens, including special tokens. Longer texts are cut."""
    heads: Annotated[OnByDefault, UNRECORDED] = True
    """Also mix the attention heads, for tasks about pairs of spans."""
    progress: PythonOnly = True
    """Show progress."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.control and not isinstance(self.model, str):
            raise SettingError("--control loads the model again with random weights. Pass the model by name.")

    @classmethod
    def help_of(cls, name: str, text: str) -> str:
        if name == "task":
            return f"{text} {', '.join((*OWN, *ADDED))}, or any name for JSON lines."
        if name == "train":
            added = (f"{task.files} ({task.name})" for task in ADDED.values())
            return f"{text} {', '.join((*FORMATS, *added))}, or jiant's JSON lines (any task)."
        return super().help_of(name, text)

    @property
    def training(self) -> TrainingSettings:
        """How probes are trained for description lengths, which hold texts out."""
        from headatlas.probes.training import TrainingSettings

        return TrainingSettings(batch_size=self.batch_targets)

    def updates_for(self, targets: int) -> int:
        """Return how many batches to train on, with this many training targets."""
        return self.updates or max(FEWEST_UPDATES, FEWEST_PASSES * -(-targets // self.batch_targets))

    @property
    def all_seeds(self) -> list[int]:
        """The seed of each training."""
        return [self.seed + number for number in range(self.seeds)]

    def limit(self, part: str) -> int | None:
        """Return how many texts of a part to use at most."""
        return self.train_limit if part == "train" else self.eval_limit


@command(LayerOptions)
def layers(options: LayerOptions) -> Results:
    """Measure what each layer of a model encodes, from part of speech to coreference.

    Trains edge probes (Tenney et al. 2019) on every layer and on mixtures of layers, beside the same with shuffled
    labels, and writes tables, figures and index.html into DIR. Run it again with other tasks and the same DIR to
    compare all of them. Press Ctrl-C to stop; the same command resumes.

        headatlas layers bert-base-uncased --train train.conllu --eval dev.conllu
        headatlas layers bert-base-uncased --task entities --train a.bio --eval b.bio
        headatlas layers gpt2 --train train.conllu --eval dev.conllu --seeds 1

    In Python: headatlas.layers("gpt2", train="train.conllu", eval="dev.conllu", seeds=1)
    """
    from headatlas.commands.layers.run import run_layers  # imported here because it needs torch

    return run_layers(options)
