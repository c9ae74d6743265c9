"""`headatlas models`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headatlas.commands.shared.command import command
from headatlas.commands.shared.options import Options


@dataclass(frozen=True, kw_only=True)
class ModelsOptions(Options):
    """`models` has no options."""


@command(ModelsOptions)
def models(_options: ModelsOptions) -> list[dict[str, Any]]:
    """List the embedded models: real weights that install with pip and need no model hub.

    Any other MODEL is a folder or a .gguf file on this machine, or a name on the Hugging Face hub: encoders, decoders
    and encoder-decoders.

        headatlas models
        headatlas survey embedded-mlm
        headatlas models --json
    """
    from headatlas.models.embedded import EMBEDDED

    known = ("name", "about", "licence", "package", "version", "install")
    return [
        {name: getattr(model, name) for name in known} | {"installed": model.locate() is not None}
        for model in EMBEDDED.values()
    ]
