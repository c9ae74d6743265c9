"""The work of `explore`: listen on this machine, open the page, and load the model while it says how far that is."""

from __future__ import annotations

import asyncio
import socket
import sys
import webbrowser
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import TYPE_CHECKING, Any

from headatlas.commands.explore.address import ADDRESS, hosts_of, new_token, write_redirect
from headatlas.commands.explore.loading import ATLAS, LIBRARIES, MODEL, PREPARE, Loading, Site
from headatlas.commands.explore.options import ExploreOptions
from headatlas.errors import HeadatlasError, SettingError

if TYPE_CHECKING:
    from uvicorn import Server

    from headatlas.commands.explore.live import Explorer
    from headatlas.models.model import Model
    from headatlas.results.atlas import Atlas

DEFAULT_MODEL = "embedded-mlm"
MISSING = "The explorer needs Starlette and uvicorn. Install them with: pip install 'headatlas[explore]'"
FAILURE_SECONDS = 3.0  # in which the page can fetch why the model cannot be loaded


def run_explore(options: ExploreOptions) -> None:
    """Serve the explorer on this machine until it is stopped (Ctrl-C); in a notebook, as long as its kernel runs."""
    try:
        from headatlas.commands.explore import server as _server  # noqa: F401
    except ModuleNotFoundError as error:
        raise SettingError(MISSING) from error
    if _in_notebook():
        Thread(target=_serve_beside, args=(options,), daemon=True).start()
    else:
        _serve(options)


def _in_notebook() -> bool:
    """Whether an event loop runs in this thread already, as in a notebook, so that no second one can."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _serve_beside(options: ExploreOptions) -> None:
    try:
        _serve(options)
    except HeadatlasError as error:
        print(error, file=sys.stderr)


def _serve(options: ExploreOptions) -> None:
    from headatlas.commands.explore.server import create_app, server_of

    with _listening(options.port) as listener, TemporaryDirectory(prefix="headatlas-") as private:
        number, token = listener.getsockname()[1], new_token()
        model, atlas = _model_and_atlas(options)
        stages = [LIBRARIES, ATLAS, MODEL, PREPARE] if atlas is not None else [LIBRARIES, MODEL, PREPARE]
        loading = Loading(_name_of(atlas if model is None else model), stages)
        server = server_of(create_app(loading, token, hosts_of(number)))
        Thread(target=_load, args=(loading, options, token, server), daemon=True).start()
        address = f"http://{ADDRESS}:{number}/{token}/"
        options.opened(address)
        if options.browser:  # other users can read its command line, so it gets a private file
            webbrowser.open(write_redirect(Path(private), address).as_uri())
        server.run(sockets=[listener])
    if loading.failure is not None:
        raise loading.failure


def _load(loading: Loading, options: ExploreOptions, token: str, server: Server) -> None:
    """Load everything; if that fails, let the page say why and stop the server."""
    try:
        loading.site = load_site(options, token, loading)
    except BaseException as error:
        loading.failure = error
        loading.failure_shown.wait(FAILURE_SECONDS)
        server.should_exit = True


def load_site(options: ExploreOptions, token: str, loading: Loading) -> Site:
    """Load the model and the atlas, and make the page."""
    from headatlas.commands.explore.live import Explorer
    from headatlas.results.atlas import Atlas, open_atlas
    from headatlas.views.page.assemble import assemble, page_policy

    model, atlas = _model_and_atlas(options)
    opened = None
    if atlas is not None:
        loading.begin(ATLAS)
        opened = atlas if isinstance(atlas, Atlas) else open_atlas(atlas)
    loading.begin(MODEL)
    loaded = load_explored(options, model, opened)
    stack = loaded.choose_stack(opened.manifest["model"]["attention"] if opened else None)
    explorer = Explorer(loaded, stack)
    loading.begin(PREPARE)
    content = explorer_content(explorer, opened, token, options.text)
    return Site(explorer, assemble(content), page_policy(asking=True))


def load_explored(options: ExploreOptions, model: Any, atlas: Atlas | None) -> Model:
    """Return the model to explore: a name is loaded, a network in memory is observed, a loaded model is used."""
    if model is not None:
        return replace(options, tokenizer=options.tokenizer_of_network).load(model)
    from headatlas.models.loading import load_model

    name, as_surveyed = atlas_model(atlas)
    return load_model(name, **options.loading | as_surveyed)


def atlas_model(atlas: Atlas | None) -> tuple[str, dict[str, Any]]:
    """Return the model of an atlas and how to load it as it was surveyed; without an atlas, the default model."""
    if atlas is None:
        return DEFAULT_MODEL, {}
    about = atlas.manifest["model"]
    options = {"revision": about.get("commit") or about.get("revision")}
    if control := about.get("random_weights"):
        options |= {"random_weights": control["kind"], "seed": control["seed"]}
    return about["name"], options


def explorer_content(explorer: Explorer, atlas: Atlas | None, token: str, text: str | None = None) -> dict[str, Any]:
    """Return the content of the page: that of the atlas, if given, and what it needs to ask."""
    from headatlas.models.facts import describe_model
    from headatlas.views.page import full_content
    from headatlas.views.page.content import model_content

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
    live = explorer.about() | {"token": token, "text": text}
    return content | {"views": ["live", *content["views"]], "live": live}


def _model_and_atlas(options: ExploreOptions) -> tuple[Any, Any]:
    """Return the two arguments: an atlas may be given in place of the model, a tokenizer in place of the atlas."""
    model, atlas = options.model, options.atlas
    if atlas is None and isinstance(model, str | Path) and (Path(model) / "manifest.json").is_file():
        return None, model
    return model, None if atlas is options.tokenizer_of_network else atlas


def _name_of(given: Any) -> str:
    """Return what the loading page calls a model or an atlas."""
    if isinstance(given, str | Path):
        return Path(given).name or str(given)
    return DEFAULT_MODEL if given is None else str(getattr(given, "name", type(given).__name__))


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
