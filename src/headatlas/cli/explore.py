"""headatlas explore"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from headatlas.cli.options import Device, Revision, TrustRemoteCode


def explore(
    model: Annotated[
        Optional[str],  # noqa: UP045
        typer.Argument(
            metavar="MODEL",
            help="A name on the Hugging Face hub, a folder, a .gguf file or an embedded model. Default: the atlas's "
            "model, or embedded-mlm.",
        ),
    ] = None,
    folder: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Argument(metavar="DIR", help="An atlas folder, whose page is shown too. May stand alone."),
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Where to listen on this machine; 0: a free port.")] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")] = True,
    device: Device = "auto",
    dtype: Annotated[str, typer.Option(help="float32, float16, bfloat16 or float64.")] = "float32",
    revision: Revision = None,
    trust_remote_code: TrustRemoteCode = False,
) -> None:
    """Type a text in a browser, look at every head, remove heads and watch the model's predictions change.

    The server listens on this machine alone, under an address with a secret in it, until Ctrl-C.

    **Examples**

    `headatlas explore bert-base-uncased`

    `headatlas explore atlas`
    """
    import webbrowser
    from tempfile import TemporaryDirectory

    from headatlas.commands.explore.address import write_redirect
    from headatlas.commands.explore.run import explore as run

    if folder is None and model is not None and (Path(model) / "manifest.json").is_file():
        folder, model = Path(model), None

    with TemporaryDirectory(prefix="headatlas-") as private:  # which its owner alone may enter

        def opened(address: str) -> None:
            typer.echo(f"Explore at {address}\nStop with Ctrl-C.")
            if browser:
                webbrowser.open(write_redirect(Path(private), address).as_uri())

        run(
            model,
            folder,
            port=port,
            device=device,
            dtype=dtype,
            revision=revision,
            trust_remote_code=trust_remote_code,
            opened=opened,
        )
