"""`headatlas prune`, in Python `headatlas.prune`: options and entry point."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headatlas.choices import PruneBy
from headatlas.commands.ablate.options import ExampleOptions
from headatlas.commands.shared.command import command
from headatlas.commands.shared.corpora import FormatOptions
from headatlas.commands.shared.models import LoadOptions, ModelName
from headatlas.commands.shared.options import Folder, Heads, PythonOnly, ResultsFolder, Texts, list_names
from headatlas.errors import SettingError

if TYPE_CHECKING:
    from headatlas.commands.prune.run import PrunedFolder


@dataclass(frozen=True, kw_only=True)
class PruneOptions(ExampleOptions, LoadOptions, FormatOptions):
    """The options of `prune`."""

    kinds = ("text",)
    model: ModelName = field(kw_only=False)
    """Name on the Hugging Face hub, optionally with @revision; a local folder, also of a pruned model; a .gguf file; or
    an embedded model (run `headatlas models` for a list)."""
    out: Folder = "pruned"
    """Folder to write to."""
    heads: Heads | None = None
    """Heads to remove, for example 3-1 5-7."""
    by: PruneBy | None = None
    """Remove a share of all heads instead: those with the smallest importance, or those that harm least when ablated
    alone."""
    share: float | None = None
    """Share of all heads to remove, between 0 and 1."""
    ablation: ResultsFolder | None = None
    """Folder of results that `headatlas ablate` found for this model, to choose heads by."""
    task: str | None = None
    """Task of --ablation to choose heads by, if it holds several."""
    text: Texts | None = None
    """Choose heads by their importance for predicting the tokens of this text instead."""
    progress: PythonOnly = True
    """Show progress."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.heads is None) == (self.by is None):
            raise SettingError("Choose the heads to remove: either --heads 3-1 5-7 or --by importance --share 0.3.")
        if self.heads is not None:
            self._check_named()
            return
        if self.share is None or not 0 < self.share < 1:
            raise SettingError("--share must lie between 0 and 1, for example 0.3.")
        if (self.ablation is None) == (self.text is None) or (self.by == "ablation" and self.ablation is None):
            alternative = ", or --text FILE to measure it on" if self.by == "importance" else ""
            raise SettingError(f"--by {self.by} needs --ablation DIR, made by `headatlas ablate`{alternative}.")
        if self.task is not None and self.ablation is None:
            raise SettingError("--task goes with --ablation.")

    def _check_named(self) -> None:
        if not list_names(self.heads):
            raise SettingError("--heads is empty. Name at least one head, for example 3-1.")
        for name in ("share", "ablation", "task", "text"):
            if getattr(self, name) is not None:
                raise SettingError(f"--{name} goes with --by, not with --heads.")


@command(PruneOptions)
def prune(options: PruneOptions) -> PrunedFolder:
    """Cut heads out of a model's weights and save the smaller model.

    The pruned model computes what the whole model computes with the outputs of these heads set to 0; this is checked
    before it is saved. DIR is a model for every other command; other Python code loads it with
    headatlas.models.pruning.load_pruned.

        headatlas prune bert-base-uncased --heads 3-1 5-7
        headatlas prune gpt2 --by importance --share 0.3 --ablation ablation
        headatlas prune gpt2 --by importance --share 0.3 --text wiki.txt

    In Python: headatlas.prune("gpt2", heads=["3-1", "5-7"], out="pruned").load()
    """
    from headatlas.commands.prune.run import run_prune  # imported here because it needs torch

    return run_prune(options)
