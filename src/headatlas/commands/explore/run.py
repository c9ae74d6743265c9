"""The work of `explore`: load the model, open the atlas, listen on this machine, and open the page."""

from __future__ import annotations

import socket
import webbrowser
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from headatlas.commands.explore.address import ADDRESS, hosts_of, new_token, write_redirect
from headatlas.commands.explore.live import Explorer
from headatlas.commands.explore.options import ExploreOptions
from headatlas.errors import SettingError
from headatlas.models.loading import load_model
from headatlas.models.model import Model, describe_model
from headatlas.progress import stage
from headatlas.results.atlas import Atlas, open_atlas
from headatlas.views.page import full_content
from headatlas.views.page.assemble import assemble, page_policy
from headatlas.views.page.content import model_content

if TYPE_CHECKING:
    from starlette.applications import Starlette

DEFAULT_MODEL = "embedded-mlm"
MISSING = "The explorer needs Starlette and uvicorn. Install them with: pip install 'headatlas[explore]'"


def run_explore(options: ExploreOptions) -> None:
    """Serve the explorer on this machine until it is stopped (Ctrl-C)."""
    try:
        from headatlas.commands.explore.server import server_of
    except ModuleNotFoundError as error:
        raise SettingError(MISSING) from error
    model, atlas = options.model, options.atlas
    if atlas is None and isinstance(model, str | Path) and (Path(model) / "manifest.json").is_file():
        model, atlas = None, model
    atlas = open_atlas(atlas) if isinstance(atlas, str | Path) else atlas
    if model is None:
        name, as_surveyed = atlas_model(atlas)
        model = load_model(name, **options.loading | as_surveyed)
    else:
        model = options.load(model)
    with _listening(options.port) as listener, TemporaryDirectory(prefix="headatlas-") as private:
        number, token = listener.getsockname()[1], new_token()
        with stage("Preparing the page"):
            app = explorer_app(model, atlas, token, number)
        address = f"http://{ADDRESS}:{number}/{token}/"
        options.opened(address)
        if options.browser:  # other users can read its command line, so it gets a private file
            webbrowser.open(write_redirect(Path(private), address).as_uri())
        server_of(app).run(sockets=[listener])


def atlas_model(atlas: Atlas | None) -> tuple[str, dict[str, Any]]:
    """Return the model of an atlas and how to load it as it was surveyed; without an atlas, the default model."""
    if atlas is None:
        return DEFAULT_MODEL, {}
    about = atlas.manifest["model"]
    options = {"revision": about.get("commit") or about.get("revision")}
    if control := about.get("random_weights"):
        options |= {"random_weights": control["kind"], "seed": control["seed"]}
    return about["name"], options


def explorer_app(model: Model, atlas: Atlas | None, token: str, port: int) -> Starlette:
    """Make the server's application for a model and, if given, its atlas."""
    from headatlas.commands.explore.server import create_app

    stack = model.choose_stack(atlas.manifest["model"]["attention"] if atlas else None)
    explorer = Explorer(model, stack)
    content = explorer_content(explorer, atlas, token)
    return create_app(explorer, assemble(content), page_policy(asking=True), token, hosts_of(port))


def explorer_content(explorer: Explorer, atlas: Atlas | None, token: str) -> dict[str, Any]:
    """Return the content of the page: that of the atlas, if given, and what it needs to ask."""
    heads = list(explorer.shape.heads)
    if atlas is None:
        content = model_content(describe_model(explorer.model, explorer.stack))
    else:
        content = full_content(atlas)
        if content["heads"] != heads:
            raise SettingError(
                f"{atlas.folder} is an atlas of {content['name']} with {sum(content['heads'])} heads, but "
                f"{explorer.model.name} has {explorer.shape}. Give the model of the atlas, or omit it."
            )
    return content | {"views": ["live", *content["views"]], "live": explorer.about() | {"token": token}}


def _listening(port: int) -> socket.socket:
    """Open a socket that only this machine can reach."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.bind((ADDRESS, port))
        listener.listen()
    except (OSError, OverflowError) as error:
        listener.close()
        raise SettingError(f"--port {port} is not available ({error}). Omit --port to use any free port.") from error
    return listener
