"""One segment, one sentence, one document, one keyphrase: an answer in words, with a singular and without "nan"."""

from __future__ import annotations

import re

import pytest

import headatlas as ha
from headatlas.views.page import full_content
from typed import typed

PACKED = {"maps", "packed", "predictions"}


@pytest.fixture(scope="module")
def smallest(tiny_folder, tmp_path_factory):
    """What a survey of the smallest corpora says on the screen, and its atlas."""
    folder = tmp_path_factory.mktemp("smallest")
    blocks = ha.sample_treebank().read_text(encoding="utf-8").split("\n\n")
    (folder / "tree.conllu").write_text(blocks[0] + "\n\n", encoding="utf-8")
    (folder / "mentions.conllu").write_text("\n\n".join(blocks[:2]) + "\n\n", encoding="utf-8")
    (folder / "text.txt").write_text("The old man saw a dog.\nThe dog ran.\n", encoding="utf-8")
    (folder / "keys.jsonl").write_text('{"text": "The old dog ran.", "keyphrases": ["old dog"]}\n', encoding="utf-8")
    corpora = {"--text": "text.txt", "--treebank": "tree.conllu", "--coreference": "mentions.conllu"}
    options = [
        str(part)
        for option, name in (corpora | {"--keyphrases": "keys.jsonl"}).items()
        for part in (option, folder / name)
    ]
    options += ["--max-tokens", "256", "--bootstrap", "20", "--device", "cpu", "--out", str(folder / "atlas")]
    shown = typed("survey", tiny_folder("t5"), *options)
    assert shown.exit_code == 0, shown.output
    findings = typed("table", folder / "atlas", "findings").output
    return f"{shown.output}\n{' '.join(findings.split())}", ha.open_atlas(folder / "atlas")


def texts_of(content):
    """Every text that a page shows."""
    if isinstance(content, dict):
        return [text for name, part in content.items() if name not in PACKED for text in texts_of(part)]
    if isinstance(content, list):
        return [text for part in content for text in texts_of(part)]
    return [content] if isinstance(content, str) else []


def test_nothing_is_nan(smallest):
    shown, atlas = smallest
    drawings = [path.read_text(encoding="utf-8") for path in (atlas.folder / "figures").glob("*.svg")]
    assert drawings
    for text in (shown, *texts_of(full_content(atlas)), *(re.sub(r'"data:[^"]*"', "", one) for one in drawings)):
        assert not re.search(r"\bnan\b", text, re.IGNORECASE)


def test_one_is_singular(smallest):
    shown, atlas = smallest
    for text in (shown, full_content(atlas)["lead"]):
        assert "1 segment (" in text
        assert "1 parsed sentence (18 words, universal labels) in 1 document of" in text
        assert "2 mentions (1 stretch of" in text
        assert "1 keyphrase, 1 in the text, of 1 document (" in text
        assert not re.search(r"\b1 (segments|documents|sentences|words|mentions|keyphrases|relations|tokens)\b", text)


def test_what_cannot_be_held_out_is_said(smallest):
    shown, _ = smallest
    assert "The treebank is too small to hold half of it out" in shown
    assert "No relation has enough words for a best head" in shown
    assert "too few documents to hold any out" in shown
