"""Names on the hub: it is asked once with a time limit, errors are readable, and the local cache works without it."""

from __future__ import annotations

import shutil

import huggingface_hub
import pytest
from huggingface_hub import constants, errors

from headatlas.errors import ModelError
from headatlas.models.loading import load_model
from headatlas.models.sources import TIME_LIMIT, find_source, suggestion

COMMIT = "0" * 40


@pytest.fixture
def hub(monkeypatch, tmp_path):
    """A hub with a given answer, an empty cache, and the questions that were asked."""
    asked = []

    def answer_with(outcome):
        def model_info(_api, name, *, revision, timeout):
            asked.append((name, revision, timeout))
            if isinstance(outcome, Exception):
                raise outcome

        monkeypatch.setattr(huggingface_hub.HfApi, "model_info", model_info)
        return asked

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return answer_with


def put_in_cache(folder, name, tmp_path):
    kept = tmp_path / "cache" / f"models--{name.replace('/', '--')}"
    shutil.copytree(folder, kept / "snapshots" / COMMIT)
    (kept / "refs").mkdir()
    (kept / "refs" / "main").write_text(COMMIT)


def not_found(kind):
    error = kind.__new__(kind)
    Exception.__init__(error, "404")
    return error


def test_a_model_that_is_there(hub):
    asked = hub(None)
    source = find_source("org/model", "v1")
    assert source.arguments == {"revision": "v1"}
    assert asked == [("org/model", "v1", TIME_LIMIT)]


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        (OSError("[Errno -2] Name or service not known"), "cannot be reached"),
        (not_found(errors.RepositoryNotFoundError), "the hub has no model of this name, or it is private"),
        (not_found(errors.RevisionNotFoundError), "the hub has no revision 'main' of it"),
        (errors.HFValidationError("bad"), "the hub does not allow such a name"),
    ],
)
def test_a_model_that_is_not(hub, outcome, words, caplog):
    asked = hub(outcome)
    with pytest.raises(ModelError) as caught:
        load_model("embed")
    assert words in str(caught.value)
    assert str(caught.value).endswith("Did you mean embedded?")
    assert len(asked) == 1
    assert caplog.messages == []


def test_another_answer_is_left_to_transformers(hub):
    hub(not_found(errors.HfHubHTTPError))
    assert find_source("org/model").arguments == {"revision": "main"}


@pytest.mark.parametrize("offline", [False, True])
def test_a_cached_model_needs_no_hub(hub, tiny_folder, tmp_path, monkeypatch, offline):
    asked = hub(OSError("no network"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", offline)
    put_in_cache(tiny_folder("bert"), "org/tiny", tmp_path)
    model = load_model("org/tiny", device="cpu")
    assert (model.name, model.source["commit"], model.source["weights_sha256"]) == ("org/tiny", COMMIT, {})
    assert len(asked) == (0 if offline else 1)


def test_offline_nothing_is_asked(hub, monkeypatch):
    asked = hub(None)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(ModelError, match="HF_HUB_OFFLINE is set"):
        find_source("org/model")
    assert asked == []


def test_the_name_most_like_it_is_suggested(tmp_path, tiny_folder, monkeypatch):
    shutil.copytree(tiny_folder("bert"), tmp_path / "models" / "tiny-bert")
    (tmp_path / "models" / "tiny-brt-notes").mkdir()
    monkeypatch.chdir(tmp_path)
    assert suggestion("models/tiny-brt") == "Did you mean models/tiny-bert?"
    assert suggestion(str(tmp_path / "models" / "tiny_bert")).endswith("tiny-bert?")
    assert suggestion("embedded-decodr") == "Did you mean embedded-decoder?"
    assert suggestion("xyz").startswith("Give a model folder")
