"""Errors a user can cause: each names the file or setting at fault and says what to do about it."""

from __future__ import annotations

from pathlib import Path


class HeadatlasError(Exception):
    """Anything a person can put right; the command line prints it without a traceback."""


class CorpusError(HeadatlasError):
    """A text, treebank or other corpus file that cannot be read as it stands."""

    def __init__(self, message: str, path: str | Path | None = None, line: int | None = None) -> None:
        place = "" if path is None else f"{path}: " if line is None else f"{path}, line {line}: "
        super().__init__(f"{place}{message}")
        self.path = path
        self.line = line


class ModelError(HeadatlasError):
    """A model that cannot be loaded or observed."""


class SettingError(HeadatlasError):
    """A setting that does not fit the model, the corpus or the other settings."""


class AtlasError(HeadatlasError):
    """A folder of results that is missing, damaged or belongs to another survey or fit."""


class SurveyInterruptedError(HeadatlasError):
    """A survey or fit was stopped by Ctrl-C after saving its state; the same command continues it."""
