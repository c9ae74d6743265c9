"""What decides which keyphrases are found, beside model and documents, and what of it cannot work."""

from __future__ import annotations

from dataclasses import dataclass

from headatlas.corpora.keyphrases.read import KEYPHRASE_FORMATS, KeyphraseFormat
from headatlas.corpora.text import TEXT_FORMATS, TextFormat
from headatlas.errors import SettingError
from headatlas.statistics.received import POOLINGS, ROWS


@dataclass(frozen=True)
class KeyphraseSettings:
    """The settings, by the names of the options."""

    heads: tuple[str, ...] | None
    pooling: str
    rows: str
    candidates: str | None
    top: int
    documents: int
    max_tokens: int | None
    batch_tokens: int
    bootstrap: int
    seed: int
    finetune: bool
    epochs: int
    rate: float
    text_format: TextFormat
    keyphrase_format: KeyphraseFormat

    def check(self) -> None:
        """Refuse what cannot work before a model is loaded."""
        for name in ("top", "documents", "batch_tokens", "bootstrap", "epochs"):
            if (number := getattr(self, name)) < 1:
                raise SettingError(f"--{name.replace('_', '-')} must be at least 1, not {number}.")
        if not 0 < self.rate < 1:
            raise SettingError(f"--rate must lie between 0 and 1, such as 0.0001, not be {self.rate}.")
        known = {"pooling": POOLINGS, "rows": ROWS, "text_format": TEXT_FORMATS, "keyphrase_format": KEYPHRASE_FORMATS}
        for name, words in known.items():
            if (word := getattr(self, name)) not in words:
                raise SettingError(f"--{name.replace('_', '-')} {word} is unknown. Use one of: {', '.join(words)}.")
        if self.heads is not None and not self.heads:
            raise SettingError("--heads names no head.")


def check_sources(text: object, data: object, train: object, finetune: bool) -> None:
    """Refuse an extraction without documents, and one that is asked for two things at once."""
    if (text is None) == (data is None):
        problem = "There are no documents" if text is None else "--text and --data exclude each other"
        raise SettingError(f"{problem}. Give --text FILE, or --data DIR with keyphrases to be scored by.")
    if finetune and (train is None or data is None):
        raise SettingError("--finetune needs --train to learn from and --data to be scored on.")
    if train is not None and data is not None and str(train) == str(data):
        raise SettingError("--train and --data are the same. What is trained on them says nothing about others.")
