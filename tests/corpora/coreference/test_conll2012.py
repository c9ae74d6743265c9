from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from headatlas.corpora.coreference.mentions import Mention, MentionDocument
from headatlas.corpora.coreference.read import detect_format, read_conll2012, read_coreference
from headatlas.errors import CorpusError

ALIGNED = """\
#begin document (nw/x_0001); part 000
nw/x_0001   0   0     The   DT   (TOP(S(NP(NP*   -   -   -   -   *        *     (0
nw/x_0001   0   1     man   NN              *)   -   -   -   -   *        *      -
nw/x_0001   0   2      in   IN            (PP*   -   -   -   -   *        *      -
nw/x_0001   0   3   black   NN         (NP*)))   -   -   -   -   *        *     0)
nw/x_0001   0   4     saw  VBD            (VP*   see 01 -   -   *      (V*)      -
nw/x_0001   0   5     his PRP$         (NP(NP*   -   -   -   -   *        *   (1|(0)
nw/x_0001   0   6     dog   NN              *)   -   -   -   -   *        *      -
nw/x_0001   0   7     Rex  NNP          (NP*)))   -   -   -   -   *        *     1)
nw/x_0001   0   8       .    .            *))   -   -   -   -   *        *      -

nw/x_0001   0   0     Rex  NNP  (TOP(S(NP*)   -   -   -   -   *        *    (1)
nw/x_0001   0   1     ran  VBD       (VP*)))   -   -   -   -   *        *      -

#end document
#begin document (nw/x_0001); part 001
nw/x_0001   1   0      It  PRP  (TOP(S(NP*)   -   -   -   -   *        *    (0)
nw/x_0001   1   1   rains  VBZ       (VP*)))   -   -   -   -   *        *      -
#end document
"""


def read(folder: Path, content: str, left_out: Counter[str] | None = None) -> list[MentionDocument]:
    path = folder / "x.conll"
    path.write_text(content, encoding="utf-8")
    return list(read_conll2012(path, 3, Counter() if left_out is None else left_out))


def tabs(*rows: str, tag: str = "_", parse: str = "_") -> str:
    """Rows of ``word brackets`` as LitBank writes them: tabs, empty last columns, no end line."""
    lines = ["#begin document (book); part 0"]
    for row in rows:
        word, _, brackets = row.partition(" ")
        lines.append("\t".join(["book", "0", "0", word, tag, parse, *"______", brackets]) if row else "")
    return "\n".join(lines) + "\n"


def test_columns_aligned_by_blanks_with_heads_from_the_parse(tmp_path: Path) -> None:
    first, second = read(tmp_path, ALIGNED)
    assert first.words == ("The", "man", "in", "black", "saw", "his", "dog", "Rex", ".", "Rex", "ran")
    assert first.tags[:3] == ("DT", "NN", "IN")
    assert first.sentences == (0, 9)
    assert (first.id, first.line, first.path) == ("3.0", 2, tmp_path / "x.conll")
    assert first.mentions == (
        Mention(0, 4, 1, "0", "nominal"),
        Mention(5, 8, 6, "1", "nominal"),
        Mention(5, 6, 5, "0", "pronoun"),
        Mention(9, 10, 9, "1", "proper"),
    )
    assert (second.id, second.line, second.words) == ("3.1", 17, ("It", "rains"))
    assert second.mentions == (Mention(0, 1, 0, "0", "pronoun"),)


def test_tabs_with_empty_columns(tmp_path: Path) -> None:
    (found,) = read(tmp_path, tabs("Old (1", "Helen 1)", "sang", "", "She (1)", "wept"))
    assert found.words == ("Old", "Helen", "sang", "She", "wept")
    assert found.tags == ("",) * 5
    assert found.sentences == (0, 3)
    assert found.mentions == (Mention(0, 2, 1, "1", "proper"), Mention(3, 4, 3, "1", "pronoun"))


SCORER = """\
#begin document (TestCase); part 000
case\t0\t0\tOld\t(0
case\t0\t1\tHelen\t0)
case\t0\t2\tsang\t-

case\t0\t0\tShe\t(0)|(1
case\t0\t1\twept\t1)
#end document
#begin document (TestCase); part 001
case 1 0 It (3)
#end document
"""


def test_the_five_columns_of_the_scorer(tmp_path: Path) -> None:
    first, second = read(tmp_path, SCORER)
    assert (first.words, first.tags) == (("Old", "Helen", "sang", "She", "wept"), ("",) * 5)
    assert first.sentences == (0, 3)
    assert first.mentions == (
        Mention(0, 2, 1, "0", "proper"),
        Mention(3, 5, 4, "1", "nominal"),
        Mention(3, 4, 3, "0", "pronoun"),
    )
    assert (second.id, second.words, len(second.mentions)) == ("3.1", ("It",), 1)
    assert detect_format(tmp_path / "x.conll") == "conll2012"
    assert next(iter(read_coreference([tmp_path / "x.conll"]))).mentions == first.mentions


@pytest.mark.parametrize("none", ["-", "_", ""])
def test_marks_for_no_bracket(tmp_path: Path, none: str) -> None:
    (found,) = read(tmp_path, tabs("She (1)", f"left {none}"))
    assert len(found.mentions) == 1


def test_a_file_without_document_lines_is_one_document(tmp_path: Path) -> None:
    rows = tabs("She (1)", "left").partition("\n")[2]
    (found,) = read(tmp_path, "\n\n" + rows + "# a comment\n\n")
    assert (found.id, found.line, found.words, found.sentences) == ("3.0", 3, ("She", "left"), (0,))


def test_a_document_that_only_the_next_one_ends_and_one_without_words(tmp_path: Path) -> None:
    found = read(tmp_path, tabs("She (1)") + tabs() + tabs("He (1)"))
    assert [(one.id, one.words) for one in found] == [("3.0", ("She",)), ("3.1", ("He",))]


def test_windows_line_ends(tmp_path: Path) -> None:
    (found,) = read(tmp_path, tabs("She (1)", "left", "", "He (2)").replace("\n", "\r\n"))
    assert (len(found.mentions), found.sentences) == (2, (0, 2))


@pytest.mark.parametrize(
    ("content", "line", "problem"),
    [
        (tabs("She (1", "left"), 2, "never closes"),
        (tabs("She (1", "", "left") + tabs("x 1)"), 2, "never closes"),
        (tabs("She", "left 1)"), 3, "not open"),
        (tabs("She", "left 1"), 3, "not a row of brackets"),
        ("#begin document (x); part 0\nx 0 0 She - -\n", 2, "has 6 columns.*at least 7"),
        ("x 0 0 She (1)\nx 0 1 (1)\n", 2, "has 4 columns.* 5 in every line of this document"),
        ("x 0 0 She (1)\nx 0 1 left - -\n", 2, "has 6 columns.* 5 in every line of this document"),
        ("x\t0\t0\tShe\t(1)\nx\t0\t1\t \t-\n", 2, "no word in the fourth"),
        ("x 0 0 She (1)\nx 0 1 left 1)\n", 2, "not open"),
        ("x 0 0 She (1\nx 0 1 left -\n", 1, "never closes"),
        (tabs("She (1)") + "x 0 0 She (1)\n", 3, "has 5 columns.*at least 7"),
        (tabs("She (1)").replace("She", " "), 2, "no word in the fourth"),
        (tabs("She (1)", "left", parse="(NP*"), 2, "parse of the sentence.*NP is never closed.*column 6"),
        (tabs("Go", "", "She (1)", "left").replace("left\t_\t_", "left\t_\t*)"), 4, "'_' is not a parse bit"),
    ],
)
def test_what_is_malformed_is_named(tmp_path: Path, content: str, line: int, problem: str) -> None:
    with pytest.raises(CorpusError) as caught:
        read(tmp_path, content)
    assert re.search(problem, str(caught.value))
    assert (caught.value.path, caught.value.line) == (tmp_path / "x.conll", line)


def test_duplicates_are_counted(tmp_path: Path) -> None:
    left_out: Counter[str] = Counter()
    (found,) = read(tmp_path, tabs("She (1)|(1)", "left"), left_out)
    assert len(found.mentions) == 1
    assert left_out == {"mention_given_twice": 1}
