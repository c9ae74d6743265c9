"""Options for reading corpora, shared by every command that reads one."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, get_args

from cyclopts import Parameter

from headatlas.choices import SegmentStyle
from headatlas.commands.shared.options import DECIDES_MAPS, UNRECORDED, Files, Options, Pairs, Texts
from headatlas.engine.corpora import KINDS, Reading
from headatlas.errors import PluginError, SettingError

Labels = Literal["auto", "stanford", "universal", "clearnlp"]


def _formats() -> dict[str, Any]:
    """The type of the formats of each kind of corpus, and of the sets of labels of treebanks."""
    formats: dict[str, Any] = {}
    for name in KINDS:
        formats[name] = _declared(name, "formats", Literal["auto"])
        formats |= {"labels": Labels} if name == "treebank" else {}
    return formats


def _declared(kind: str, what: str, otherwise: Any) -> Any:
    """What a kind of corpus declares; a broken kind of another package must not take the options with it."""
    try:
        return getattr(KINDS[kind], what)
    except PluginError:
        return otherwise


FORMATS = _formats()


_FILES: dict[str, Any] = {"text": Texts}  # where something else than files can be given


def _corpus_options() -> type[Options]:
    """Make the group of options that give files: one for each kind of corpus, also of other packages."""
    hints = {
        kind: Annotated[
            _FILES.get(kind, Files) | None,
            Parameter(help=_declared(kind, "help", "Its package cannot be imported.")),
            DECIDES_MAPS,
        ]
        for kind in KINDS
    }
    members = {"__annotations__": hints, "__doc__": "The files of each kind of corpus.", **dict.fromkeys(KINDS)}
    return dataclass(frozen=True, kw_only=True)(type("CorpusOptions", (Options,), members))


if TYPE_CHECKING:  # what type checkers and editors see: the kinds that headatlas brings

    @dataclass(frozen=True, kw_only=True)
    class CorpusOptions(Options):
        """The files of each kind of corpus."""

        text: Texts | None = None
        treebank: Files | None = None
        coreference: Files | None = None
        keyphrases: Files | None = None

else:
    CorpusOptions = _corpus_options()


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
            return super().help_of(name, text)
        choices = (f"{kind} ({', '.join(get_args(FORMATS[kind])[1:])})" for kind in cls.kinds)
        return f"{text} {', '.join(choices)}."

    def format_of(self, kind: str) -> Any:
        """Return the format given for a kind of corpus, or "auto"."""
        return (self.format or {}).get(kind, "auto")

    @property
    def reading(self) -> Reading:
        """How corpora are read, as far as the command has options for it."""
        known = {part.name: getattr(self, part.name) for part in fields(Reading) if hasattr(self, part.name)}
        return Reading(**known, formats=self.format or {})

    def settings(self) -> dict[str, Any]:
        """Record the format of every kind, whether given or detected, so that both ways of saying it are one."""
        return super().settings() | {"format": {kind: self.format_of(kind) for kind in self.kinds}}


@dataclass(frozen=True, kw_only=True)
class SegmentOptions(Options, panel="Corpora"):
    """How to make model inputs of plain text."""

    segment_style: Annotated[SegmentStyle, DECIDES_MAPS] = "auto"
    """Special tokens: pair is [CLS] A [SEP] B [SEP], single is [CLS] A [SEP]. auto uses pairs if the tokenizer supports
    them and documents have two lines."""
