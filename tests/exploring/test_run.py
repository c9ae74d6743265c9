"""Starting: which model, which atlas, which address; and what cannot be started."""

import sys

import pytest
from typer.testing import CliRunner

from headatlas.cli.app import app
from headatlas.errors import HeadatlasError, SettingError
from headatlas.exploring import run
from headatlas.exploring.live import Explorer
from tests.atlas.synthetic_atlas import synthetic_atlas


def test_the_page_of_an_atlas_gets_the_live_view_first(load_tiny, tmp_path):
    atlas = synthetic_atlas(tmp_path, [4, 4], attention="encoder")
    content = run.explorer_content(Explorer(load_tiny("bert"), "encoder"), atlas, "secret")
    assert content["views"] == ["live", "overview", "map", "grid", "sentence", "tables"]
    assert content["live"] == {"predicts": "masked", "removable": True, "most_tokens": 64, "token": "secret"}
    assert content["examples"]


def test_an_atlas_of_other_heads_is_refused(load_tiny, tmp_path):
    atlas = synthetic_atlas(tmp_path, [4, 3], attention="encoder")
    with pytest.raises(SettingError, match="an atlas of made-up with 7 heads"):
        run.explorer_app(load_tiny("bert"), atlas, "t", 1)


def test_the_model_of_an_atlas_is_loaded_as_it_was_surveyed(tmp_path):
    assert run.atlas_model(None) == ("embedded-mlm", {})
    atlas = synthetic_atlas(tmp_path, [4], commit="abc", random_weights=None)
    assert run.atlas_model(atlas) == ("made-up", {"revision": "abc"})
    atlas.manifest["model"] |= {"commit": None, "random_weights": {"seed": 3}}
    assert run.atlas_model(atlas) == ("made-up", {"revision": None, "random_weights": True, "seed": 3})


def test_the_server_listens_on_this_machine_alone_and_a_taken_port_is_told():
    with run._listening(0) as listener:
        address, port = listener.getsockname()
        assert address == "127.0.0.1"
        with pytest.raises(SettingError, match=f"--port {port} is not to be had"):
            run._listening(port)


def test_without_the_extra_the_command_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(HeadatlasError, match=r"pip install 'headatlas\[explore\]'"):
        run.explore("embedded")


@pytest.mark.parametrize(
    ("typed", "model", "folder"),
    [([], None, None), (["bert"], "bert", None), (["atlas"], None, "atlas"), (["bert", "atlas"], "bert", "atlas")],
)
def test_one_argument_is_a_model_or_an_atlas(typed, model, folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "atlas").mkdir()
    (tmp_path / "atlas" / "manifest.json").write_text("{}")
    called = {}

    def fake(model, atlas, **options):
        called.update(model=model, atlas=atlas)
        options["opened"]("http://127.0.0.1:1/t/")

    monkeypatch.setattr(run, "explore", fake)
    done = CliRunner().invoke(app, ["explore", *typed, "--no-browser"])
    assert done.exit_code == 0, done.output
    assert "http://127.0.0.1:1/t/" in done.output
    assert called["model"] == model
    assert (called["atlas"] and str(called["atlas"])) == folder
