"""Starting: which model, which atlas, which address; and what cannot be started."""

import asyncio
import queue
import re
import subprocess
import sys
import tempfile
import webbrowser
from threading import Event
from types import SimpleNamespace

import pytest

from headatlas.commands.explore import address, run, server
from headatlas.commands.explore.live import Explorer
from headatlas.commands.explore.loading import ATLAS, LIBRARIES, MODEL, PREPARE, Loading
from headatlas.commands.explore.options import ExploreOptions, explore
from headatlas.errors import SettingError
from patience import SECONDS
from tests.views.synthetic_atlas import synthetic_atlas
from typed import typed

STAGES = [LIBRARIES, ATLAS, MODEL, PREPARE]


def test_the_page_of_an_atlas_gets_the_live_view_first(load_tiny, tmp_path):
    atlas = synthetic_atlas(tmp_path, [4, 4], attention="encoder")
    content = run.explorer_content(Explorer(load_tiny("bert"), "encoder"), atlas, "secret")
    assert content["views"] == ["live", "overview", "map", "grid", "sentence", "tables"]
    about = {"predicts": "masked", "removable": True, "most_tokens": 64, "limited_by_maps": False}
    assert content["live"] == about | {"token": "secret", "text": None}
    assert content["examples"]


def test_an_atlas_of_other_heads_is_refused(load_tiny, tmp_path):
    atlas = synthetic_atlas(tmp_path, [4, 3], attention="encoder")
    with pytest.raises(SettingError, match="an atlas of made-up with 7 heads"):
        run.load_site(ExploreOptions(load_tiny("bert"), atlas), "t", Loading("tiny", STAGES))


def test_the_model_of_an_atlas_is_loaded_as_it_was_surveyed(tmp_path):
    assert run.atlas_model(None) == ("embedded-mlm", {})
    atlas = synthetic_atlas(tmp_path, [4], commit="abc", random_weights=None)
    assert run.atlas_model(atlas) == ("made-up", {"revision": "abc"})
    atlas.manifest["model"] |= {"commit": None, "random_weights": {"kind": "shuffled", "seed": 3}}
    assert run.atlas_model(atlas) == ("made-up", {"revision": None, "random_weights": "shuffled", "seed": 3})


def test_the_server_listens_on_this_machine_alone_and_a_taken_port_is_told():
    with run._listening(0) as listener:
        address, port = listener.getsockname()
        assert address == "127.0.0.1"
        with pytest.raises(SettingError, match=f"--port {port} is not available"):
            run._listening(port)


@pytest.mark.parametrize("package", ["starlette", "uvicorn"])
def test_without_the_extra_the_command_says_what_to_install(package):
    """In a process of its own, where nothing was imported before."""
    code = f"import sys; sys.modules[{package!r}] = None; from headatlas.cli.app import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "explore", "embedded"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "pip install 'headatlas[explore]'" in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_the_browser_is_given_a_private_file_and_not_the_token(tmp_path, monkeypatch):
    """Every user of a machine can read the command lines of all programs."""
    shown, pages = tmp_path / "shown", tmp_path / "pages"
    pages.mkdir()
    script = tmp_path / "browser"
    script.write_text(f'#!/bin/sh\necho "$@" > "{shown}"\n')
    script.chmod(0o700)
    monkeypatch.setattr(webbrowser, "_tryorder", None)
    monkeypatch.setattr(webbrowser, "_browsers", {})
    monkeypatch.setenv("BROWSER", str(script))
    monkeypatch.setattr(tempfile, "tempdir", str(pages))
    seen = {}

    class Server:
        def run(self, sockets):
            (folder,) = pages.iterdir()
            (page,) = folder.iterdir()
            seen.update(folder=folder.stat().st_mode, page=page.stat().st_mode, text=page.read_text())
            seen.update(uri=page.as_uri())

    monkeypatch.setattr(server, "server_of", lambda app: Server())
    monkeypatch.setattr(run, "load_site", lambda *given: None)
    monkeypatch.setattr(run, "new_token", lambda: "t0ken-_")
    done = typed("explore", "bert")
    assert done.exit_code == 0, done.output
    (secret,) = re.findall(r"http://\S+/t0ken-_/", done.output)
    assert shown.read_text().strip() == seen["uri"]
    assert "t0ken" not in seen["uri"]
    assert seen["folder"] & 0o777 == 0o700
    assert seen["page"] & 0o777 == 0o600
    assert f"url={secret}" in seen["text"]
    assert not list(pages.iterdir())


def test_the_address_is_text_in_the_page_that_leads_to_it(tmp_path):
    page = address.write_redirect(tmp_path, "http://x/\"><script>alert('&')</script>").read_text()
    assert "<script" not in page
    assert '"></' not in page
    assert "default-src 'none'" in page
    assert '<meta name="referrer" content="no-referrer">' in page
    with pytest.raises(FileExistsError):
        address.write_redirect(tmp_path, "http://x/")


@pytest.mark.parametrize(
    ("words", "model", "folder"),
    [([], None, None), (["bert"], "bert", None), (["atlas"], None, "atlas"), (["bert", "atlas"], "bert", "atlas")],
)
def test_one_argument_is_a_model_or_an_atlas(words, model, folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "atlas").mkdir()
    (tmp_path / "atlas" / "manifest.json").write_text("{}")
    split = []
    monkeypatch.setattr(run, "load_site", lambda options, *given: split.append(run._model_and_atlas(options)))
    loaded = Event()
    monkeypatch.setattr(run, "_load", lambda loading, options, *given: (run.load_site(options), loaded.set()))
    server_of = lambda app: SimpleNamespace(run=lambda sockets: loaded.wait(SECONDS))  # noqa: E731
    monkeypatch.setattr(server, "server_of", server_of)
    done = typed("explore", *words, "--no-browser")
    assert done.exit_code == 0, done.output
    assert "Explore at http://127.0.0.1:" in done.output
    assert split == [(model, folder)]


def test_a_model_that_cannot_be_loaded_ends_the_command_with_its_reason(tmp_path, monkeypatch):
    monkeypatch.setattr(run, "FAILURE_SECONDS", 0.1)  # no page asks
    done = typed("explore", str(tmp_path / "nothing.gguf"), "--no-browser")
    assert done.exit_code == 1
    assert "nothing.gguf" in done.output
    assert "Traceback" not in done.output


def test_a_network_in_memory_is_explored_with_its_tokenizer(tiny_models, tokenizer_of):
    for family, style, predicts in (("bert", "wordpiece", "masked"), ("gpt2", "gpt2", "causal"), ("t5", "t5", None)):
        network, tokenizer = tiny_models[family](), tokenizer_of(style)
        for options in (ExploreOptions(network, tokenizer), ExploreOptions(network, tokenizer=tokenizer)):
            site = run.load_site(options, "t", Loading("tiny"))
            assert site.explorer.predicts == predicts
    with pytest.raises(SettingError, match=r"\(network, tokenizer\)"):
        run.load_site(ExploreOptions(network), "t", Loading("tiny"))


def test_in_a_notebook_the_server_runs_beside_it(load_tiny):
    """A notebook runs an event loop, in which no second one can be started."""
    addresses: queue.Queue[str] = queue.Queue()

    async def cell():
        explore(load_tiny("bert"), browser=False, opened=addresses.put)

    asyncio.run(cell())
    assert addresses.get(timeout=SECONDS).startswith("http://127.0.0.1:")
