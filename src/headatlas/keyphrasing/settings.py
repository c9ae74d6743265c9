"""What decides which keyphrases are found, beside model and documents, and what of it cannot work."""

from __future__ import annotations

from dataclasses import dataclass

from headatlas.corpora.keyphrases import KEYPHRASE_FORMATS, KeyphraseFormat
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
    text_format: TextFormat
    keyphrase_format: KeyphraseFormat

    def check(self) -> None:
        """Refuse what cannot work before a model is loaded."""
        for name in ("top", "documents", "batch_tokens", "bootstrap"):
            if (number := getattr(self, name)) < 1:
                raise SettingError(f"--{name.replace('_', '-')} must be at least 1, not {number}.")
        known = {"pooling": POOLINGS, "rows": ROWS, "text_format": TEXT_FORMATS, "keyphrase_format": KEYPHRASE_FORMATS}
        for name, words in known.items():
            if (word := getattr(self, name)) not in words:
                raise SettingError(f"--{name.replace('_', '-')} {word} is unknown. Use one of: {', '.join(words)}.")
        if self.heads is not None and not self.heads:
            raise SettingError("--heads names no head.")


def check_sources(text: object, data: object, train: object) -> None:
    """Refuse an extraction without documents, and one that is asked for two things at once."""
    if (text is None) == (data is None):
        problem = "There are no documents" if text is None else "--text and --data exclude each other"
        raise SettingError(f"{problem}. Give --text FILE, or --data DIR with keyphrases to be scored by.")
    if train is not None and data is not None and str(train) == str(data):
        raise SettingError("--train and --data are the same. What is trained on them says nothing about others.")
