"""A corpus that the tokenizer does not know is told on the screen and the page, whatever reads it."""

from __future__ import annotations

import json

import pytest

import headatlas as ha
from headatlas.views.page.content import page_content
from typed import typed

ROWS = ("1 the _ DET _ _ 2 det _ _", "2 {noun} _ NOUN _ _ 3 nsubj _ _", "3 ran _ VERB _ _ 0 root _ _")
SENTENCE = "\n".join(ROWS).replace(" ", "\t") + "\n\n"
WARNING = "33.3 % of the tokens of the treebank are unknown to the tokenizer of "


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("unknown")
    (folder / "strange.conllu").write_text(SENTENCE.format(noun="\u2603") * 30, encoding="utf-8")
    (folder / "other.conllu").write_text(SENTENCE.format(noun="\u2600") * 3, encoding="utf-8")
    (folder / "some.conllu").write_text(
        SENTENCE.format(noun="\u2603") + SENTENCE.format(noun="dog") * 11, encoding="utf-8"
    )
    (folder / "strange.txt").write_text("the \u2603 ran\n" * 12, encoding="utf-8")
    return folder


def run(*arguments):
    own = () if "--maps" in arguments else ("--max-tokens", "64")
    shown = typed(*arguments, *own, "--device", "cpu")
    assert shown.exit_code == 0, shown.output
    return shown.output


def survey(model, files, out, treebank="strange.conllu", *more):
    options = ("--treebank", files / treebank, "--least-count", 2, "--bootstrap", 10, "--no-figures")
    return run("survey", model, *options, "--out", out, *more)


def test_survey(tiny_folder, files, tmp_path):
    assert WARNING in survey(tiny_folder("bert"), files, tmp_path / "a")
    atlas = ha.open_atlas(tmp_path / "a")
    counts = {"tokens": 30, "of_tokens": 90, "words": 30, "of_words": 90}
    assert atlas.manifest["corpora"]["treebank"]["unknown"] == counts
    assert page_content(atlas)["warnings"][0].startswith(WARNING)


def test_a_small_share_is_part_of_what_was_read(tiny_folder, files, tmp_path):
    shown = survey(tiny_folder("bert"), files, tmp_path / "a", "some.conllu")
    assert ", 2.8 % of its tokens unknown to the tokenizer" in shown
    assert "are unknown to the tokenizer of" not in shown
    assert "2.8 % of its tokens unknown" in page_content(ha.open_atlas(tmp_path / "a"))["lead"]


def test_nothing_is_said_of_a_byte_level_tokenizer(tiny_folder, files, tmp_path):
    assert "unknown" not in survey(tiny_folder("roberta"), files, tmp_path / "a")


def test_extract_and_a_survey_of_its_maps(tiny_folder, files, tmp_path):
    shown = run("extract", tiny_folder("bert"), "--treebank", files / "strange.conllu", "--out", tmp_path / "maps")
    assert "33.3 % of the tokens of the inputs are unknown to the tokenizer of " in shown
    more = ("--least-count", 2, "--bootstrap", 10, "--no-figures", "--out", tmp_path / "a")
    assert WARNING in run("survey", "--maps", tmp_path / "maps", *more)


def test_probe(tiny_folder, files, tmp_path):
    options = ("--treebank", files / "strange.conllu", "--eval", files / "other.conllu", "--seeds", 1)
    options = (
        *options,
        "--probes",
        "attention",
        "--epochs",
        1,
        "--bootstrap",
        10,
        "--no-figures",
        "--out",
        tmp_path / "a",
    )
    assert WARNING in run("probe", tiny_folder("bert"), *options)


def test_keyphrases(tiny_folder, files, tmp_path):
    options = ("--text", files / "strange.txt", "--heads", "1-1", "--no-figures", "--out", tmp_path / "a")
    assert "of the tokens of the text are unknown" in run("keyphrases", tiny_folder("bert"), *options)


def test_ablate(tiny_folder, files, tmp_path):
    options = ("--task", "masked-lm", "--text", files / "strange.txt", "--heads", "1-1", "--bootstrap", 10)
    shown = run("ablate", tiny_folder("bert"), *options, "--no-figures", "--out", tmp_path / "a")
    assert "of the tokens of the inputs of masked-lm are unknown" in shown
    unknown = json.loads((tmp_path / "a" / "manifest.json").read_text())["corpora"]["masked-lm"]["unknown"]
    assert unknown["of_tokens"] >= unknown["tokens"] > 0
