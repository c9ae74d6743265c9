from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from headatlas.corpora.coreference.mentions import Mention, MentionDocument
from headatlas.corpora.coreference.read import read_bracket_columns
from headatlas.errors import CorpusError

GUM = """\
# begin document news_one
0	Dogs	(1)
1	of	_
2	Ann	(3(2
3	's	2)
4	aunt	3)
5	ran	_
# end document

# begin document news_two
0	They	(1)
1	bit	_
2	Ann	(2)
# end document
"""


def read(folder: Path, content: str) -> list[MentionDocument]:
    path = folder / "x.conll"
    path.write_text(content, encoding="utf-8")
    return list(read_bracket_columns(path, 0, Counter()))


def test_documents_of_three_columns(tmp_path: Path) -> None:
    first, second = read(tmp_path, GUM)
    assert (first.id, first.line, first.words) == ("0.0", 2, ("Dogs", "of", "Ann", "'s", "aunt", "ran"))
    assert (first.tags, first.sentences) == (("",) * 6, (0,))
    assert first.mentions == (
        Mention(0, 1, 0, "1", "nominal"),
        Mention(2, 5, 4, "3", "nominal"),
        Mention(2, 4, 2, "2", "proper"),
    )
    assert (second.id, second.line, second.words) == ("0.1", 11, ("They", "bit", "Ann"))
    assert [mention.type for mention in second.mentions] == ["pronoun", "proper"]


def test_an_empty_line_ends_a_sentence(tmp_path: Path) -> None:
    (found,) = read(tmp_path, "0\tDogs\t(1)\n1\tran\t_\n\n2\tThey\t(1)\n3\tbit\t\n")
    assert found.sentences == (0, 2)


@pytest.mark.parametrize(
    ("content", "line", "problem"),
    [
        ("0\tDogs\t(1)\n1\tran\n", 2, "has 2 columns.*number, word, brackets"),
        ("0\tDogs\t(1)\n1\tran\t_\t_\n", 2, "has 4 columns"),
        ("0\t\t(1)\n", 1, "no word in the second"),
        ("0\tDogs\t(1\n", 1, "never closes"),
        ("0\tDogs\t1)\n", 1, "not open"),
        ("0\tDogs\tone\n", 1, "not a row of brackets"),
    ],
)
def test_what_is_malformed_is_named(tmp_path: Path, content: str, line: int, problem: str) -> None:
    with pytest.raises(CorpusError, match=problem) as caught:
        read(tmp_path, content)
    assert (caught.value.path, caught.value.line) == (tmp_path / "x.conll", line)
