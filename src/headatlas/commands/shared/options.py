"""Options, each declared once as a field of a frozen dataclass.

The field gives the Python keyword, the command-line option, the type, the default and the bounds. The docstring below
the field is the help text. `Options` checks the values itself, so Python and the shell report errors in the same words.

    @dataclass(frozen=True, kw_only=True)
    class SamplingOptions(Options, panel="Sampling"):
        segments: Positive = 1000
        \"\"\"Number of segments to sample from the text.\"\"\"
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from difflib import get_close_matches
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints

from cyclopts import CoercionError, Parameter, Token

from headatlas.commands.shared.completing import complete_results
from headatlas.errors import SettingError
from headatlas.remote import is_url

if TYPE_CHECKING:
    from headatlas.engine.workers import Workers


@dataclass(frozen=True)
class Bounds:
    """The smallest and the largest number that an option accepts."""

    minimum: float
    maximum: float = float("inf")

    def check(self, flag: str, value: Any) -> None:
        """Raise SettingError for anything but a number within the bounds."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise SettingError(f"{flag} must be a number, not {value!r}.")
        if value < self.minimum:
            raise SettingError(f"{flag} must be at least {self.minimum:g}, not {value}.")
        if not value <= self.maximum:
            raise SettingError(f"{flag} must be at most {self.maximum:g}, not {value}.")


@dataclass(frozen=True)
class HeadNames:
    """Names of heads, such as 8-10, one by one or with commas between them."""

    def check(self, _flag: str, value: Any) -> None:
        """Raise SettingError for anything that is not the name of a head."""
        from headatlas.models.stacks import parse_head

        for name in list_names(value) or ():
            parse_head(name)


@dataclass(frozen=True)
class InPython:
    """A sentence for `help()` on what Python callers can give besides what the command line takes."""

    text: str


def _split_values(_hint: Any, tokens: Sequence[Token]) -> list[str]:
    return [token.value for token in tokens]


def _split_files(_hint: Any, tokens: Sequence[Token]) -> list[str | Path]:
    """Paths and URLs; a string that is neither would be a document, which only Python callers can give."""
    return [token.value if is_url(token.value) else Path(token.value) for token in tokens]


def _split_pairs(_hint: Any, tokens: Sequence[Token]) -> dict[str, str]:
    return dict(token.value.partition("=")[::2] for token in tokens)


UNRECORDED = "unrecorded"  # settings() omits such options: they cannot change results, or are recorded in another form
DECIDES_MAPS = "decides maps"  # such options cannot be combined with attention maps that are already stored
MUST_EXIST = "must exist"  # such options name files or folders, or their URLs
SEVERAL = Parameter(n_tokens=-1, consume_multiple=True, converter=_split_values)  # --text a.txt b.txt

Positive = Annotated[int, Bounds(1)]
NonNegative = Annotated[int, Bounds(0)]
OnByDefault = Annotated[bool, Parameter(negative_bool="no-")]
PythonOnly = Annotated[bool, Parameter(parse=False), UNRECORDED]  # a keyword that is not an option of the command line
Folder = Annotated[str | Path, Parameter(metavar="DIR"), UNRECORDED]
RESULTS = Parameter(metavar="DIR", completer=complete_results)
ResultsFolder = Annotated[str | Path, RESULTS, MUST_EXIST, UNRECORDED]  # of an earlier run
Files = Annotated[
    str | Path | Iterable[str | Path],
    SEVERAL,
    Parameter(metavar="FILE...", converter=_split_files),
    MUST_EXIST,
    UNRECORDED,
]
Texts = Annotated[
    Files, InPython("In Python also the texts themselves: a string, a list, or any iterable of documents.")
]
Heads = Annotated[str | Sequence[str], SEVERAL, Parameter(metavar="LAYER-HEAD..."), HeadNames(), UNRECORDED]
Names = Annotated[str | Sequence[str], SEVERAL, Parameter(metavar="NAME..."), UNRECORDED]
Pairs = Annotated[
    Mapping[str, str],
    SEVERAL,
    Parameter(metavar="KIND=NAME...", converter=_split_pairs, accepts_keys=False),
    InPython("In Python a dictionary."),
]


class Options:
    """Base class of option groups; every subclass is a frozen dataclass.

    The options of a command inherit from the groups that the command shares with others.
    """

    panel: ClassVar[str]  # heading in --help; empty for the options listed first
    recorded: ClassVar[bool]  # False: settings() omits the whole group

    def __init_subclass__(cls, panel: str = "", recorded: bool = True) -> None:
        cls.panel, cls.recorded = panel, recorded

    def __post_init__(self) -> None:
        for option in list_options(type(self)):
            option.check(getattr(self, option.name))

    @classmethod
    def help_of(cls, _name: str, text: str) -> str:
        """Return the help text of an option; groups complete it with what a command supports."""
        return text

    def settings(self) -> dict[str, Any]:
        """Return the options that determine the results, for the manifest."""
        return {option.name: getattr(self, option.name) for option in list_options(type(self)) if option.recorded}


@dataclass(frozen=True)
class Option:
    """One field of an `Options` class.

    Attributes:
        name: The Python keyword.
        hint: The type with its annotations.
        group: The class that declares the field.
    """

    name: str
    hint: Any
    group: type[Options]

    @property
    def recorded(self) -> bool:
        """Whether the manifest records the option."""
        return self.group.recorded and UNRECORDED not in flatten(self.hint)

    def check(self, value: Any) -> None:
        """Raise SettingError if the value is not one of the choices or is out of bounds."""
        flag = flag_of(self.name)
        for part in flatten(self.hint) if value is not None else ():
            if get_origin(part) is Literal and value not in get_args(part):
                token = Token(keyword=flag, value=str(value))  # the sentence that cyclopts prints in the shell
                raise SettingError(str(CoercionError(token=token, target_type=part, verbose=False)))
            if isinstance(part, Bounds | HeadNames):
                part.check(flag, value)


def list_options(options_class: type[Options]) -> tuple[Option, ...]:
    """List the options that a class declares itself, then those of its groups in the order of its bases.

    An option of a group that the class declares again, to narrow its help or its type, stays in the group.
    """
    hints = get_type_hints(options_class, include_extras=True)
    groups = [group for group in options_class.__mro__ if issubclass(group, Options) and group is not Options]
    declared = {field.name for field in fields(options_class)}  # type: ignore[arg-type]
    home = {name: group for group in groups for name in inspect.get_annotations(group) if name in declared}
    names = [name for group in groups for name in inspect.get_annotations(group) if home.get(name) is group]
    return tuple(Option(name, hints[name], home[name]) for name in names)


def flag_of(name: str) -> str:
    """Return a keyword as people type it: max_tokens is --max-tokens, import_ is --import."""
    return f"--{name.strip('_').replace('_', '-')}"


def list_names(value: str | Sequence[str] | None) -> list[str] | None:
    """List names that were given as one string, with commas, or one by one; None if nothing was given."""
    if value is None:
        return None
    words = [value] if isinstance(value, str) else value
    return [name for word in words for name in word.split(",") if name]


def list_given(value: str | Path | Iterable[str | Path]) -> list[str]:
    """List the values of an option that takes one or several."""
    return [str(value)] if isinstance(value, str | Path) else list(map(str, value))


def refuse_missing(options: Options) -> None:
    """Refuse paths that do not exist, in the shell before anything heavy is imported. URLs are fetched later."""
    from headatlas.remote import is_url

    for option in list_options(type(options)):
        value = getattr(options, option.name)
        for place in list_given(value) if MUST_EXIST in flatten(option.hint) and value is not None else ():
            path = Path(place)
            if is_url(place) or os.path.lexists(path):
                continue
            beside = [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else []
            near = get_close_matches(path.name, beside, 1)
            meant = f"Did you mean {path.parent / near[0]}?" if near else "Check the path."
            raise SettingError(f"{place}: no such file or folder. {meant}")


def flatten(hint: Any) -> list[Any]:
    """List the members of nested unions and the annotations of their types."""
    if get_origin(hint) not in (Annotated, Union, UnionType):
        return [hint]
    return [part for member in get_args(hint) for part in flatten(member)]


@dataclass(frozen=True, kw_only=True)
class ShardOptions(Options, panel="Parallel runs"):
    """Which part of the inputs to process."""

    shard: Annotated[str | None, Parameter(metavar="I/N")] = None
    """Process only shard I of N. Combine the shards with `headatlas merge`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.shard is not None:
            from headatlas.encoding.shards import Shard

            Shard.parse(self.shard)


@dataclass(frozen=True, kw_only=True)
class WorkerOptions(Options, panel="Parallel runs", recorded=False):
    """How many workers share the batches."""

    workers: Positive | None = None
    """Number of workers, each with its own copy of the model. Default: run in this process."""
    ray: Annotated[str | None, Parameter(metavar="ADDRESS")] = None
    """Run the workers on Ray: the address of a cluster, auto to find a running one, or local to start one here."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ray is not None and self.workers is None:
            raise SettingError("--ray needs to know how many workers to start. Add --workers N.")

    def pool(self, device: str) -> Workers | None:
        """Return the workers that share the batches, or None to run in this process. On the CPU they use no GPUs."""
        from headatlas.engine.workers import Workers

        return None if self.workers is None else Workers(self.workers, self.ray, use_gpus=device != "cpu")
