"""Errors a user can cause: each names the file or setting at fault and says what to do about it."""

from __future__ import annotations

import re
from pathlib import Path

LONGEST_MESSAGE = 2000  # characters
_GAP = " [...] "
LESS_MEMORY = "Use a smaller --batch-tokens or --max-tokens, or fewer --workers; finished work is not lost."
_TORCH_SAYS = ("out of memory", "can't allocate memory", "not enough memory")
_CONTROLS = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")  # all but the line break


def printable(text: str) -> str:
    """Text of unknown origin for a terminal or a message: control characters and what UTF-8 cannot carry, escaped.

    A terminal obeys control characters: a file could change its title, or hide what follows.

    >>> printable("a\\x1b]0;title\\x07")
    'a\\\\x1b]0;title\\\\x07'
    """
    escaped = _CONTROLS.sub(lambda match: match[0].encode("unicode_escape").decode(), text)
    return escaped.encode("utf-8", "backslashreplace").decode("utf-8")


def first_line(error: BaseException) -> str:
    """An error's own words, as far as they fit into ours."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")


class HeadatlasError(Exception):
    """Anything a user can correct; the command line prints it without a traceback.

    A message may quote a file. What it quotes is cut in the middle where it is long, and is made printable.
    """

    def __init__(self, message: str) -> None:
        shown = printable(message)
        half = (LONGEST_MESSAGE - len(_GAP)) // 2
        short = len(shown) <= LONGEST_MESSAGE
        super().__init__(shown if short else f"{shown[:half]}{_GAP}{shown[-half:]}")


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


class PluginError(HeadatlasError):
    """A study, corpus or task of another package that cannot be imported or does not keep its contract."""


class SurveyInterruptedError(HeadatlasError):
    """A survey or fit was stopped by Ctrl-C after saving its state; the same command continues it."""


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error of Python or torch means that memory has run out."""
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and any(words in str(error) for words in _TORCH_SAYS)
    )


def out_of_memory(what: str) -> ModelError:
    """The error to raise instead; `what` says where it happened."""
    return ModelError(f"Out of memory {what}. {LESS_MEMORY}")
