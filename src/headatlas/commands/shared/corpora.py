"""Options for reading corpora, shared by every command that reads one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, get_args

from headatlas.choices import SegmentStyle
from headatlas.commands.shared.options import DECIDES_MAPS, UNRECORDED, Options, Pairs
from headatlas.corpora.coreference.read import CoreferenceFormat
from headatlas.corpora.keyphrases.read import KeyphraseFormat
from headatlas.corpora.text import TextFormat
from headatlas.corpora.treebanks.read import TreebankFormat
from headatlas.errors import SettingError

Labels = Literal["auto", "stanford", "universal", "clearnlp"]
FORMATS: dict[str, Any] = {
    "text": TextFormat,
    "treebank": TreebankFormat,
    "labels": Labels,
    "coreference": CoreferenceFormat,
    "keyphrases": KeyphraseFormat,
}


@dataclass(frozen=True, kw_only=True)
class FormatOptions(Options, panel="Corpora"):
    """The formats of corpora, for files whose format cannot be detected."""

    kinds: ClassVar[tuple[str, ...]] = tuple(FORMATS)  # a command that reads fewer kinds names them here
    format: Annotated[Pairs | None, UNRECORDED] = None
    """File formats, if detection fails, as KIND=NAME:"""

    def __post_init__(self) -> None:
        super().__post_init__()
        for kind, name in (self.format or {}).items():
            if kind not in self.kinds:
                raise SettingError(f"--format {kind} is not a kind of corpus. Choose from: {', '.join(self.kinds)}.")
            if name not in get_args(FORMATS[kind]):
                choices = ", ".join(f"{kind}={choice}" for choice in get_args(FORMATS[kind]))
                raise SettingError(f"--format {kind}={name} is not available. Choose from: {choices}.")

    @classmethod
    def help_of(cls, name: str, text: str) -> str:
        if name != "format":
            return text
        choices = (f"{kind} ({', '.join(get_args(FORMATS[kind])[1:])})" for kind in cls.kinds)
        return f"{text} {', '.join(choices)}."

    def format_of(self, kind: str) -> Any:
        """Return the format given for a kind of corpus, or "auto"."""
        return (self.format or {}).get(kind, "auto")

    def settings(self) -> dict[str, Any]:
        """Record the format of every kind, whether given or detected, so that both ways of saying it are one."""
        return super().settings() | {"format": {kind: self.format_of(kind) for kind in self.kinds}}


@dataclass(frozen=True, kw_only=True)
class SegmentOptions(Options, panel="Corpora"):
    """How to make model inputs of plain text."""

    segment_style: Annotated[SegmentStyle, DECIDES_MAPS] = "auto"
    """Special tokens: pair is [CLS] A [SEP] B [SEP], single is [CLS] A [SEP]. auto uses pairs if the tokenizer supports
    them."""
