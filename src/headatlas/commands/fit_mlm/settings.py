"""What decides the outcome of a fit, and what of it cannot work."""

from __future__ import annotations

from dataclasses import dataclass

from headatlas.corpora.text import TEXT_FORMATS, TextFormat
from headatlas.errors import SettingError


@dataclass(frozen=True)
class FitSettings:
    """The numbers a fit depends on, beside its model and text."""

    tokens: int | None
    epochs: int | None
    max_tokens: int
    hold_out: int
    batch_tokens: int
    learning_rate: float
    rank: int
    alpha: float
    freeze: bool
    seed: int
    text_format: TextFormat

    def check(self) -> None:
        """Refuse what cannot work before a model is loaded."""
        for name in ("tokens", "epochs", "max_tokens", "hold_out", "batch_tokens", "rank"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise SettingError(f"--{name.replace('_', '-')} must be at least 1, not {value}.")
        for name in ("learning_rate", "alpha"):
            if not getattr(self, name) > 0:
                raise SettingError(f"--{name.replace('_', '-')} must be more than 0, not {getattr(self, name)}.")
        if self.tokens is not None and self.epochs is not None:
            raise SettingError("--tokens and --epochs both say how long to train. Give one of them.")
        if self.text_format not in TEXT_FORMATS:
            raise SettingError(f"--text-format {self.text_format} is unknown. Use one of: {', '.join(TEXT_FORMATS)}.")
