"""What is found by name: what headatlas brings itself, and what installed packages add.

A package adds studies, kinds of corpus and ablation tasks by entry points of these groups:

    [project.entry-points."headatlas.studies"]
    sinks = "my_package.sinks:Sinks"

Names are known without importing anything, so that `--help` can list them. A thing is imported when it is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Generic, TypeVar

from headatlas.errors import PluginError, first_line

T = TypeVar("T")
OWN = "headatlas"


@dataclass(frozen=True)
class Found:
    """Where a thing of some name comes from: the place of the object, as "module:object", and its package."""

    place: str
    package: str = OWN
    version: str = ""

    @property
    def source(self) -> str:
        """The package with its version, as people write it."""
        return f"{self.package} {self.version}".strip()


class Registry(Mapping[str, T], Generic[T]):
    """Things of one kind by name: those of headatlas, in the given order, then those of other packages.

    Looking a name up imports it. A package whose name is taken is left out, and `refused` says why. What was given by
    hand is found by its name in this process, but not listed.
    """

    def __init__(self, group: str, what: str, own: Mapping[str, str]) -> None:
        """Declare the things that headatlas brings.

        Args:
            group: The group of entry points by which other packages add to them.
            what: What one of them is called in a sentence, for example "study".
            own: The name of each, and its place as "module:object".
        """
        self.group, self.what, self._own = group, what, own
        self._loaded: dict[str, T] = {}

    def give(self, name: str, thing: T) -> None:
        """Make something known in this process that no package brings, or that was given before and has changed."""
        self._loaded[name] = thing

    @property
    def found(self) -> Mapping[str, Found]:
        """Where everything comes from, by name."""
        return _find(self.group, tuple(self._own.items()))[0]

    @property
    def refused(self) -> Mapping[str, str]:
        """The packages whose names are taken, and why they were left out."""
        return {
            f"{name} ({one.source})": f"the {self.what} '{name}' exists already; rename it in that package."
            for name, one in _find(self.group, tuple(self._own.items()))[1]
        }

    def __getitem__(self, name: str) -> T:
        if name not in self._loaded:
            self._loaded[name] = self._load(self.found[name], name)
        return self._loaded[name]

    def __contains__(self, name: object) -> bool:
        return name in self.found or name in self._loaded

    def __iter__(self) -> Iterator[str]:
        return iter(self.found)

    def __len__(self) -> int:
        return len(self.found)

    def is_own(self, name: str) -> bool:
        """Whether headatlas brings the thing of this name itself."""
        return name in self.found and self.found[name].package == OWN

    def _load(self, found: Found, name: str) -> T:
        module, _, attribute = found.place.partition(":")
        try:
            loaded: T = getattr(import_module(module), attribute)
        except Exception as error:
            if found.package == OWN:
                raise
            raise PluginError(
                f"The {self.what} '{name}' of the package {found.source} cannot be imported "
                f"({type(error).__name__}: {first_line(error)}). Mend or uninstall the package."
            ) from error
        return loaded


@cache
def _find(group: str, own: tuple[tuple[str, str], ...]) -> tuple[dict[str, Found], list[tuple[str, Found]]]:
    """Find the things of a group, and those of other packages whose names are taken."""
    from importlib.metadata import entry_points  # slow, and `headatlas --help` needs none

    found = {name: Found(place) for name, place in (*own, *_added(group).items())}
    refused = []
    for entry in entry_points(group=group):
        here = Found(entry.value, *((entry.dist.name, entry.dist.version) if entry.dist else ("unknown",)))
        if entry.name in found:
            refused.append((entry.name, here))
        else:
            found[entry.name] = here
    return found, refused


def _added(group: str) -> dict[str, str]:
    """What the folders of headatlas's own commands add to a group: each says so in `ADDS`."""
    adds: list[Mapping[str, Any]] = [vars(folder).get("ADDS", {}) for folder in command_folders().values()]
    return {name: place for added in adds for name, place in added.get(group, {}).items()}


@cache
def command_folders() -> dict[str, Any]:
    """The package of every command, by the name of its folder."""
    commands = import_module("headatlas.commands")
    names = [module.name for module in iter_modules(commands.__path__) if module.ispkg]
    return {name: import_module(f"headatlas.commands.{name}") for name in names}


def packages_of(registry: Registry[Any], names: Iterable[str]) -> dict[str, str]:
    """Return the other packages that some names come from, with their versions, for the manifest."""
    found = [registry.found[name] for name in names if name in registry.found and not registry.is_own(name)]
    return {one.package: one.version for one in found}
