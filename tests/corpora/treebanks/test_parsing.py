"""Text parsed by a spaCy pipeline, and what is said of pipelines that cannot parse."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import spacy

from headatlas.corpora.text import TextLine
from headatlas.corpora.treebanks.sentence import ROOT
from headatlas.corpora.treebanks.spacy_docs import LINES_AT_ONCE, parse_text
from headatlas.errors import SettingError


def lines() -> Iterator[TextLine]:
    a, b = Path("a.txt"), Path("b.txt")
    yield TextLine(a, 1, 0, "Dogs bark . Cats sleep .")
    yield TextLine(a, 2, 0, "Cats sleep .")
    yield TextLine(a, 4, 1, "Dogs bark .")
    yield TextLine(b, 9, 0, "Dogs bark .")


def test_sentences_keep_file_document_and_line(spacy_pipeline: str) -> None:
    sentences = list(parse_text(lines(), spacy_pipeline))
    assert [(sentence.id, sentence.path.name, sentence.line) for sentence in sentences] == [
        ("0.0.0", "a.txt", 1),
        ("0.0.1", "a.txt", 1),
        ("0.0.2", "a.txt", 2),
        ("0.1.0", "a.txt", 4),
        ("1.0.0", "b.txt", 9),
    ]
    assert sentences[1].words == ("Cats", "sleep", ".")
    assert {sentence.heads for sentence in sentences} == {(1, ROOT, 1)}
    assert {sentence.relations for sentence in sentences} == {("nsubj", "ROOT", "punct")}


def test_lines_are_read_as_they_are_needed(spacy_pipeline: str) -> None:
    read = []

    def endless() -> Iterator[TextLine]:
        while True:
            read.append(1)
            yield TextLine(Path("a.txt"), len(read), 0, "Dogs bark .")

    sentences = parse_text(endless(), spacy_pipeline)
    assert [next(sentences).line for _ in range(3)] == [1, 2, 3]
    assert len(read) <= 4 * LINES_AT_ONCE


def test_a_pipeline_that_is_not_installed() -> None:
    with pytest.raises(SettingError, match=r"xx_none is not installed.*python -m spacy download xx_none; or give"):
        list(parse_text(lines(), "xx_none"))


def test_a_folder_without_a_pipeline(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"does not contain a spaCy pipeline.*config\.cfg"):
        list(parse_text(lines(), str(tmp_path)))


def test_a_pipeline_that_does_not_load(tmp_path: Path) -> None:
    spacy.blank("en").to_disk(tmp_path)
    config = tmp_path / "config.cfg"
    config.write_text(config.read_text().replace('lang = "en"', 'lang = "no-such-language"'))
    with pytest.raises(SettingError, match=r"cannot be loaded .*Install what it needs"):
        list(parse_text(lines(), str(tmp_path)))


@pytest.mark.parametrize(("parts", "said"), [([], "it has nothing"), (["sentencizer"], "it has sentencizer")])
def test_a_pipeline_without_a_parser(tmp_path: Path, parts: list[str], said: str) -> None:
    nlp = spacy.blank("en")
    for part in parts:
        nlp.add_pipe(part)
    nlp.to_disk(tmp_path)
    with pytest.raises(SettingError, match=f"has no parser .{said}.*such as en_core_web_sm"):
        list(parse_text(lines(), str(tmp_path)))
