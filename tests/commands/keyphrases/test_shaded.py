"""Shaded texts: whole pictures and pages, whatever the words hold."""

from __future__ import annotations

from types import SimpleNamespace
from xml.etree import ElementTree

import pandas as pd
import pytest

from headatlas.commands.keyphrases.shaded import shaded_html, shaded_svg, write_shaded
from headatlas.errors import AtlasError


def of(*words):
    fixed = {"document": "0.a", "line": 0, "weight": 0.5, "key": False, "found": True}
    return pd.DataFrame([fixed | {"word": word} for word in words])


@pytest.mark.parametrize("word", ["\ufffe", "\uffff", "\x00", "\x0b\x1f", "\x1b[31m", "<&>\"'", "\U0001f600"])
def test_the_picture_is_well_formed(word):
    picture = shaded_svg(of("before", word))
    texts = [element.text for element in ElementTree.fromstring(picture).iter("{http://www.w3.org/2000/svg}text")]
    assert texts[0] == "before"
    assert len(texts[1]) == len(word)
    picture.encode()
    shaded_html(of(word), word).encode()


def test_a_long_word_is_broken_and_not_scrolled_to():
    assert "overflow-wrap:anywhere" in shaded_html(of("a" * 400), "title")


def test_a_linked_folder_of_figures_is_refused(tmp_path):
    (tmp_path / "figures").symlink_to(tmp_path)
    manifest = {"heads_chosen": {"names": ["1-1"]}, "model": {"name": "m"}}
    found = SimpleNamespace(folder=tmp_path, tables={"keyphrase_words": of("a")}, manifest=manifest)
    with pytest.raises(AtlasError, match="figures: is a link"):
        write_shaded(found)
