"""`headatlas models`."""

from __future__ import annotations

from dataclasses import dataclass

from headatlas.commands.shared.command import command
from headatlas.commands.shared.options import Options


@dataclass(frozen=True, kw_only=True)
class ModelsOptions(Options):
    """`models` has no options."""


@command(ModelsOptions)
def models(_options: ModelsOptions) -> str:
    """List the embedded models: real weights that install with pip and need no model hub.

    Any other MODEL is a folder or a .gguf file on this machine, or a name on the Hugging Face hub: encoders, decoders
    and encoder-decoders.

        headatlas models
        headatlas survey embedded-mlm
    """
    from headatlas.models.embedded import EMBEDDED

    lines = []
    for model in EMBEDDED.values():
        state = "installed" if model.locate() else f"not installed: {model.install}"
        lines.append(
            f"{model.name}\n    {model.about}\n    {model.licence}, {model.package} {model.version}, {state}\n"
        )
    return "".join(lines) + (
        "\nAny other MODEL is a folder or a .gguf file on this machine or a name on the Hugging Face hub: encoders, "
        "decoders and encoder-decoders.\n"
    )
