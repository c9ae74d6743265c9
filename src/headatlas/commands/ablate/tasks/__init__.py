"""The tasks on which heads are removed, one per file; what each needs is known here without importing it.

A folder of headatlas that adds a task says what it needs in `NEEDS` of its `__init__.py` too. A task of another package
says so in its class, which is imported when the task is named.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from headatlas.choices import TaskHead
from headatlas.errors import PluginError
from headatlas.plugins import Registry

if TYPE_CHECKING:
    from headatlas.commands.ablate.task import Task


@dataclass(frozen=True)
class Needs:
    """What a task needs to run.

    Attributes:
        data: The options with the data that it is scored on; one of them must be given.
        required: Other options that must be given.
        optional: Options that it reads if they are given.
        head: The head with which the model is loaded, if its weights bring one.
        trained: Whether something is trained on the data unless the weights bring the head. Such a task cannot be
            divided among machines.
        folders: Whether its data may be folders.
        files: What its data looks like, for the help of `--data`; empty if that says so already.
    """

    data: tuple[str, ...]
    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    head: TaskHead | None = None
    trained: bool = False
    folders: bool = False
    files: str = ""

    @property
    def reads(self) -> tuple[str, ...]:
        """All options that it reads."""
        return (*self.data, *self.required, *self.optional)

    def missing(self, given: Collection[str] = ()) -> str:
        """The options that must be given too, as people type them."""
        alternatives = [*((name,) for name in self.required), self.data]
        lacking = [names for names in alternatives if not set(names) & set(given)]
        return " and ".join(" or ".join(f"--{name}" for name in names) for names in lacking)


TASKS: Registry[type[Task]] = Registry(
    "headatlas.tasks",
    "task",
    {
        "masked-lm": f"{__name__}.token_prediction:MaskedLM",
        "next-token": f"{__name__}.token_prediction:NextToken",
        "classification": f"{__name__}.classification:Classification",
        "minimal-pairs": f"{__name__}.minimal_pairs:MinimalPairs",
        "translation": f"{__name__}.translation:Translation",
        "probe": f"{__name__}.probe:ProbeParsing",
        "causal": f"{__name__}.causal:WordPrediction",
    },
)
"""The tasks by name. Each is imported when it is first used."""

NEEDS = {
    "masked-lm": Needs(("text",)),
    "next-token": Needs(("text",)),
    "classification": Needs(("data",), optional=("train",), head="classification", trained=True),
    "minimal-pairs": Needs(("pairs",)),
    "translation": Needs(("data",), head="sequence-to-sequence"),
    "probe": Needs(("eval",), required=("treebank",), trained=True),
    "causal": Needs(("treebank", "coreference"), required=("atlas",)),
}


def needs_of(name: str) -> Needs:
    """Return what a task needs; a task of another package is imported to be asked."""
    found = TASKS.found[name]
    if TASKS.is_own(name):
        folder = found.place.partition(":")[0].rpartition(".")[0]
        needs = import_module(folder).NEEDS[name]
    else:
        needs = getattr(TASKS[name], "needs", None)
    if not isinstance(needs, Needs):
        raise PluginError(f"The task '{name}' of the package {found.source} does not say what it needs: set `needs`.")
    return needs


def list_tasks() -> str:
    """List all tasks with the options that they need, as far as that is known without importing one."""
    by_needs: dict[str, list[str]] = {}
    for name in TASKS:
        by_needs.setdefault(f" ({needs_of(name).missing()})" if TASKS.is_own(name) else "", []).append(name)
    return "; ".join(f"{', '.join(names)}{needs}" for needs, names in by_needs.items())
