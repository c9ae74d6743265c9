"""What the tests of extraction share."""

from __future__ import annotations

import pytest

import headatlas as ha
from store.conftest import text, treebank  # noqa: F401  (fixtures)


@pytest.fixture
def extract(tiny_folder, treebank, tmp_path):  # noqa: F811
    def call(model="bert", **options):
        defaults = {"out": tmp_path / "maps", "max_tokens": 60, "batch_tokens": 60, "device": "cpu", "progress": False}
        if "text" not in options:
            defaults["treebank"] = treebank
        return ha.extract(str(tiny_folder(model)), **defaults | options)

    return call


@pytest.fixture(scope="module")
def words(tiny_folder, treebank, tmp_path_factory):  # noqa: F811
    """A folder with the tiny BERT's word maps; not to be altered."""
    out = tmp_path_factory.mktemp("store") / "maps"
    options = {"max_tokens": 60, "device": "cpu", "progress": False}
    return ha.extract(str(tiny_folder("bert")), treebank=treebank, out=out, **options).folder


@pytest.fixture
def small_shards(monkeypatch):
    """Shards of a few examples each."""
    from headatlas.store import index

    plan = index.windows
    monkeypatch.setattr(index, "windows", lambda sizes, _budget: plan(sizes, 4000))
