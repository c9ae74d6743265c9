"""What decides the outcome of a run over layers, beside model and corpora, and what of it cannot work."""

from __future__ import annotations

from dataclasses import dataclass

from headatlas.errors import SettingError
from headatlas.probes.training import TrainingSettings


@dataclass(frozen=True)
class LayerSettings:
    """The settings of a run over layers, by the names of its options."""

    seeds: int
    seed: int
    width: int
    epochs: int
    patience: int
    batch_targets: int
    max_tokens: int
    train_limit: int | None
    eval_limit: int | None
    bootstrap: int
    examples: int
    heads: bool
    control: bool
    control_task: bool
    mdl: bool

    def check(self) -> None:
        """Refuse what cannot work before a model is loaded."""
        for name in ("seeds", "width", "batch_targets", "max_tokens", "bootstrap", "train_limit", "eval_limit"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise SettingError(f"--{name.replace('_', '-')} must be at least 1, not {value}.")
        if self.examples < 0:
            raise SettingError(f"--examples must be at least 0, not {self.examples}.")
        self.training.check()

    @property
    def training(self) -> TrainingSettings:
        """How the probes are trained."""
        return TrainingSettings(self.epochs, self.patience, self.batch_targets)

    @property
    def all_seeds(self) -> list[int]:
        """The seed of each series of probes."""
        return [self.seed + number for number in range(self.seeds)]

    def limit(self, part: str) -> int | None:
        """How many texts of a part to take at most."""
        return self.train_limit if part == "train" else self.eval_limit
