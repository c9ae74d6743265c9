"""Inputs are read and refused before a model is loaded."""

from __future__ import annotations

import shutil

import pytest

import headatlas as ha
from headatlas.commands.reproduce import run as module
from headatlas.corpora.sample import sample_text
from headatlas.errors import CorpusError, HeadatlasError, SettingError
from tests.treebank_parts import write_parts


@pytest.fixture
def reproduce(tmp_path, monkeypatch):
    """`reproduce` where loading a model is a failure."""
    monkeypatch.setattr(module, "run_survey", lambda *_, **__: pytest.fail("the survey has begun"))
    return lambda paper="clark2019", **options: ha.reproduce(paper, out=tmp_path / "out", **options)


@pytest.fixture
def treebanks(tmp_path):
    return write_parts(tmp_path, 30, 20)


def test_an_unknown_paper_is_refused_with_those_known(reproduce):
    with pytest.raises(SettingError, match=r'Invalid value "vig2019" for --paper\. Choose from: "clark2019"'):
        reproduce("vig2019", wikipedia=sample_text())


def test_nothing_is_answered_with_advice(reproduce):
    with pytest.raises(SettingError, match=r"(?s)nothing to reproduce from.*OntoNotes \(LDC licence\).*OntoGUM"):
        reproduce()


def test_train_is_not_dev(reproduce, treebanks):
    copy = shutil.copy(treebanks / "dev.conllu", treebanks / "copy.conllu")
    with pytest.raises(SettingError, match=r"copy\.conllu is a file to train on too.*another file with --ptb-dev"):
        reproduce(ptb_train=treebanks / "dev.conllu", ptb_dev=copy)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["ptb_train"], "scored on --ptb-dev"),
        (["ptb_dev", "glove"], "--glove serves the probes"),
        (["ptb_dev", "probe_sentences"], "sampled from --ptb-train"),
    ],
)
def test_halves_of_inputs_are_refused(reproduce, treebanks, options, why):
    every = {
        "ptb_train": treebanks / "train.conllu",
        "ptb_dev": treebanks / "dev.conllu",
        "glove": "glove-6b-50d",
        "probe_sentences": 50,
    }
    with pytest.raises(SettingError, match=why):
        reproduce(**{name: every[name] for name in options})


@pytest.mark.parametrize("option", ["wikipedia", "ptb_train", "ptb_dev", "conll2012", "glove"])
@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00\x01 x\n", b""])
def test_unreadable_files_are_found_first(reproduce, treebanks, option, content):
    bad = treebanks / "bad.txt"
    if content is not None:
        bad.write_bytes(content)
    given = {"wikipedia": sample_text(), "ptb_train": treebanks / "train.conllu", "ptb_dev": treebanks / "dev.conllu"}
    with pytest.raises(HeadatlasError, match=r"bad\.txt"):
        reproduce(**given | {option: bad})


def test_a_malformed_line_is_named(reproduce, treebanks):
    text = (treebanks / "dev.conllu").read_text(encoding="utf-8")
    lines = text.splitlines()
    place = next(number for number, line in enumerate(lines) if line.startswith("2\t"))
    columns = lines[place].split("\t")
    lines[place] = "\t".join([*columns[:6], "x", *columns[7:]])
    (treebanks / "dev.conllu").write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(CorpusError, match=f"dev.conllu, line {place + 1}:"):
        reproduce(ptb_dev=treebanks / "dev.conllu")


def test_parts_of_two_treebanks_are_refused(reproduce, treebanks):
    other = treebanks / "train.conllu"
    rows = [line.split("\t") for line in other.read_text(encoding="utf-8").splitlines()]
    renamed = [[*row[:7], "root" if row[6] == "0" else "nn", *row[8:]] if len(row) == 10 else row for row in rows]
    other.write_text("\n".join("\t".join(row) for row in renamed) + "\n", encoding="utf-8")
    with pytest.raises(SettingError, match="two parts of one treebank"):
        reproduce(ptb_train=other, ptb_dev=treebanks / "dev.conllu")
