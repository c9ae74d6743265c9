"""Optional packages that are missing, or there and broken, are named with the line that mends it."""

from __future__ import annotations

import sys

import pytest
from transformers import modeling_gguf_pytorch_utils

from headatlas.errors import ModelError
from headatlas.models.pretrained import from_pretrained, reading, require_package
from headatlas.models.sources import ModelSource

GGUF = ModelSource("mine.gguf", "folder", {"gguf_file": "mine.gguf"}, (), {})
PLAIN = ModelSource("folder", "folder", {}, (), {})


class Loader:
    """Stands for an Auto class of transformers."""

    def __init__(self, act):
        self.from_pretrained = lambda _location, **_arguments: act()


def test_a_missing_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "peft", None)
    with pytest.raises(ModelError) as caught:
        require_package("peft", "A fitted model", "fit")
    assert str(caught.value) == 'A fitted model needs peft. Install it with: pip install "headatlas[fit]"'


def test_a_package_that_is_there_but_broken(monkeypatch, tmp_path):
    (tmp_path / "brokenpackage.py").write_text("from os import no_such_name\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModelError) as caught:
        require_package("brokenpackage", "A fitted model", "fit")
    message = str(caught.value)
    assert "which is installed but cannot be imported (cannot import name 'no_such_name'" in message
    assert message.endswith('Update it with: pip install --upgrade "headatlas[fit]"')


def test_gguf_is_asked_for_before_transformers_complains(monkeypatch):
    monkeypatch.setitem(sys.modules, "gguf", None)
    with pytest.raises(ModelError, match=r'needs gguf\. .* pip install "headatlas\[embedded-decoder\]"'):
        from_pretrained(Loader(lambda: pytest.fail("transformers was called")), GGUF, GGUF.arguments)


def test_transformers_bar_over_gguf_tensors_is_not_shown(capfd):
    pytest.importorskip("gguf")
    own = modeling_gguf_pytorch_utils.tqdm
    show = Loader(lambda: list(modeling_gguf_pytorch_utils.tqdm(range(3), desc="Converting")))
    with reading(GGUF):
        assert from_pretrained(show, GGUF, GGUF.arguments) == [0, 1, 2]
    assert capfd.readouterr() == ("", "")
    assert modeling_gguf_pytorch_utils.tqdm is own


def test_a_library_that_a_tokenizer_requires():
    def fail():
        raise ImportError(
            "\nMarianTokenizer requires the SentencePiece library but it was not found in your environment."
        )

    with pytest.raises(ModelError, match=r"^folder: needs sentencepiece\. Install it with: pip install sentencepiece$"):
        from_pretrained(Loader(fail), PLAIN, {})
