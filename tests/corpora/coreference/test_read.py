from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path

import pytest

from headatlas.corpora.coreference.read import COREFERENCE_FORMATS, CoreferenceFormat, detect_format, read_coreference
from headatlas.corpora.sample import sample_text
from headatlas.errors import CorpusError

CONLL2012 = "#begin document (x); part 0\nx 0 0 Ann NNP * - - - - * (1)\nx 0 1 left VBD * - - - - * -\n#end document\n"
TEN_COLUMNS = "#begin document (x); part 0\nx\t0\t0\tAnn\tNNP\t*\t-\t-\t-\t(1)\n"
COREFUD = "# newdoc id = a\n1\tAnn\t_\t_\t_\t_\t_\t_\t_\tEntity=(1)\n2\tleft\t_\t_\t_\t_\t_\t_\t_\t_\n\n"
BRACKETS = "# begin document a\n0\tAnn\t(1)\n1\tleft\t_\n# end document\n"


def file_with(folder: Path, content: str | bytes, name: str = "x") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize(
    ("content", "layout"),
    [
        (CONLL2012, "conll2012"),
        (TEN_COLUMNS, "conll2012"),
        (COREFUD, "corefud"),
        (BRACKETS, "brackets"),
        ("\n\n# a comment\n" + BRACKETS, "brackets"),
        (BRACKETS.replace("\t", " "), "brackets"),
    ],
)
def test_the_columns_tell_the_layout(tmp_path: Path, content: str, layout: CoreferenceFormat) -> None:
    path = file_with(tmp_path, content)
    assert detect_format(path) == layout
    assert layout in COREFERENCE_FORMATS
    assert list(read_coreference([path])) == list(read_coreference([path], layout))


def test_files_of_all_layouts_are_numbered_in_order(tmp_path: Path) -> None:
    paths = [
        file_with(tmp_path, BRACKETS + BRACKETS, "a"),
        file_with(tmp_path, gzip.compress(COREFUD.encode()), "b"),
        file_with(tmp_path, CONLL2012, "c"),
    ]
    found = list(read_coreference(paths))
    assert [document.id for document in found] == ["0.0", "0.1", "1.0", "2.0"]
    assert [document.path for document in found] == [paths[0], *paths]
    assert {document.words for document in found} == {("Ann", "left")}
    assert all((one.mentions[0].start, one.mentions[0].end) == (0, 1) for one in found)


def test_what_is_left_out_is_counted_over_all_files(tmp_path: Path) -> None:
    twice = [file_with(tmp_path, BRACKETS.replace("(1)", "(1)(1)"), name) for name in "ab"]
    left_out = Counter({"other": 1})
    assert len(list(read_coreference(twice, left_out=left_out))) == 2
    assert left_out == {"other": 1, "mention_given_twice": 2}


@pytest.mark.parametrize(
    ("content", "line", "problem"),
    [
        ("", None, "is empty"),
        ("\n# newdoc\n\n", None, "is empty"),
        (
            "# Title\nPlain text without any columns .\n",
            2,
            "none of the known coreference formats .6 columns.*Give CoNLL-2012",
        ),
        (
            "Plain text of as many words as there are columns in such a file .\n",
            1,
            "none of the known coreference formats",
        ),
        ("Three plain words\n", 1, "none of the known coreference formats"),
        ("word\n", 1, "none of the known coreference formats .1 columns"),
        (CONLL2012.replace("(1)", "-"), None, "has no coreferent mention"),
        (COREFUD.replace("Entity=(1)", "_"), None, "has no coreferent mention"),
        (BRACKETS.replace("(1)", "_"), None, "has no coreferent mention"),
        (b"0\tAnn\t\xff\n", 1, "not UTF-8"),
    ],
)
def test_what_is_no_coreference_is_named(tmp_path: Path, content: str | bytes, line: int | None, problem: str) -> None:
    path = file_with(tmp_path, content)
    with pytest.raises(CorpusError, match=problem) as caught:
        list(read_coreference([path]))
    assert (caught.value.path, caught.value.line) == (path, line)


@pytest.mark.parametrize("layout", ["conll2012", "corefud", "brackets"])
def test_an_empty_file_of_a_known_layout_is_refused_too(tmp_path: Path, layout: CoreferenceFormat) -> None:
    with pytest.raises(CorpusError, match="has no coreferent mention"):
        list(read_coreference([file_with(tmp_path, "")], layout))


def test_a_second_file_without_mentions_is_named(tmp_path: Path) -> None:
    good, bare = file_with(tmp_path, BRACKETS, "good"), file_with(tmp_path, BRACKETS.replace("(1)", "_"), "bare")
    with pytest.raises(CorpusError, match="bare: has no coreferent mention"):
        list(read_coreference([good, bare]))


def test_a_file_given_twice_and_a_missing_one_are_refused(tmp_path: Path) -> None:
    path = file_with(tmp_path, BRACKETS)
    with pytest.raises(CorpusError, match=r"given twice.*Name it once"):
        list(read_coreference([path, path]))
    with pytest.raises(CorpusError, match="cannot be read"):
        list(read_coreference([tmp_path / "none"]))


def test_documents_are_streamed(tmp_path: Path) -> None:
    documents = read_coreference([file_with(tmp_path, BRACKETS * 3 + "0\tAnn\t(1\n")])
    assert [next(documents).id for _ in range(3)] == ["0.0", "0.1", "0.2"]
    with pytest.raises(CorpusError, match="never closes"):
        next(documents)


def test_the_embedded_sample() -> None:
    left_out: Counter[str] = Counter()
    found = list(read_coreference([sample_text().with_name("sample.conllu")], left_out=left_out))
    card = sample_text().with_name("README.md").read_text(encoding="utf-8")
    entities = sum(len({mention.entity for mention in document.mentions}) for document in found)
    assert f"{entities:,} entities with {sum(len(one.mentions) for one in found):,} mentions" in card
    assert not left_out
    assert all(one.start <= one.head < one.end for document in found for one in document.mentions)
