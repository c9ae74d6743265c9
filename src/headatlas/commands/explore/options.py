"""`headatlas explore`, in Python `headatlas.explore`: options and entry point."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from headatlas.commands.shared.command import command
from headatlas.commands.shared.models import TYPED_MODEL, LoadOptions
from headatlas.commands.shared.options import MUST_EXIST, RESULTS, Bounds, OnByDefault

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from headatlas.models.model import Model
    from headatlas.results.atlas import Atlas
else:  # importing the classes would import torch and pandas, which --help must not wait for
    Model = Atlas = PreTrainedModel = PreTrainedTokenizerBase = object


def _tell(address: str) -> None:
    print(f"Explore at {address}\nThe page shows how far the model is loaded. Stop with Ctrl-C.", flush=True)


@dataclass(frozen=True, kw_only=True)
class ExploreOptions(LoadOptions):
    """The options of `explore`."""

    model: Annotated[str | Model | PreTrainedModel | None, TYPED_MODEL] = field(default=None, kw_only=False)
    """Name on the Hugging Face hub, optionally with @revision; a folder; a .gguf file; or an embedded model. Default:
    the model of the atlas, or embedded-mlm."""
    atlas: Annotated[str | Path | Atlas | PreTrainedTokenizerBase | None, RESULTS, MUST_EXIST] = field(
        default=None, kw_only=False
    )
    """Folder made by `headatlas survey`, to show its page too. It may be given in place of MODEL."""
    text: str | None = None
    """Text to show first."""
    port: Annotated[int, Bounds(0, 65535)] = 0
    """Port to listen on, on this machine only. 0 uses any free port."""
    browser: OnByDefault = True
    """Open the page in a browser."""
    opened: Annotated[Callable[[str], object], Parameter(parse=False)] = _tell
    """Called with the address once the server listens."""

    @property
    def tokenizer_of_network(self) -> Any:
        """The tokenizer that was given, by name or in the place of the atlas."""
        return self.tokenizer or (self.atlas if hasattr(self.atlas, "convert_ids_to_tokens") else None)


@command(ExploreOptions)
def explore(options: ExploreOptions) -> None:
    """Type a text in a browser, look at every head, remove heads or cut attention, and watch the predictions change.

    The server listens on this machine only, at an address with a secret in it, until you press Ctrl-C.

        headatlas explore bert-base-uncased
        headatlas explore atlas --text "She gave him her book."

    In Python: headatlas.explore("embedded-mlm"), or headatlas.explore(network, tokenizer) for a network in memory.
    """
    from headatlas.commands.explore.run import run_explore

    run_explore(options)
