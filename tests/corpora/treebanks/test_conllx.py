from __future__ import annotations

from pathlib import Path

import pytest

from headatlas.corpora.treebanks.columns import read_conllx
from headatlas.corpora.treebanks.sentence import ROOT
from headatlas.errors import CorpusError

STANFORD = """\
# s_type=frag
1	Spanish	_	JJ	JJ	_	2	amod	_	_
2	Art	art	NN	NNP	_	0	root	2	_

# newdoc id = b

# s_type=decl
1	Look	_	VB	_	_	0	root	_	_
2	#	_	_	_	_	1	dep	_	_
"""


def file_with(folder: Path, content: str) -> Path:
    path = folder / "bank.conll10"
    path.write_text(content, encoding="utf-8")
    return path


def row(number: object, head: object = 0, form: str = "w") -> str:
    return f"{number}\t{form}\t_\tX\tX\t_\t{head}\tdep\t_\t_\n"


def test_columns_and_documents(tmp_path: Path) -> None:
    first, second = read_conllx(file_with(tmp_path, STANFORD))
    assert (first.word_lines, first.words, first.heads) == ((2, 3), ("Spanish", "Art"), (1, ROOT))
    assert (first.relations, first.tags, first.starts_document) == (("amod", "root"), ("JJ", "NNP"), False)
    assert (second.word_lines, second.words, second.heads) == ((8, 9), ("Look", "#"), (ROOT, 0))
    assert (second.relations, second.tags, second.starts_document) == (("root", "dep"), ("VB", ""), True)


@pytest.mark.parametrize(
    ("content", "line", "problem"),
    [
        (row(1) + "2\tw\t_\tX\tX\t_\t1\tdep\n", 2, "has 8 columns, but CoNLL-X has 10. Put _ in each column"),
        ("1 w _ X X _ 0 dep _ _\n", 1, "separated by spaces, but CoNLL-X separates them by tabs.*sed -E"),
        ("1 w _ X X _ 0 dep\n", 1, "separated by spaces"),
        (row("1-2") + row(1), 1, "is word '1-2', but word 1 should follow"),
        (row(1) + row(3, 1), 2, "is word '3', but word 2 should follow"),
        (row(1) + row(1), 2, "is word '1', but word 2 should follow"),
        (row(1) + row(2, "x"), 2, "the head 'x' is not a number"),
        (row(1) + row(2, "_"), 2, "has no head, while other words"),
        (row(1) + row(2, 3), 2, "the head is word 3, but the sentence has only 2"),
        (row(1) + row(2, 1, ""), 2, "has an empty word"),
    ],
)
def test_what_is_malformed_is_named_with_file_and_line(tmp_path: Path, content: str, line: int, problem: str) -> None:
    path = file_with(tmp_path, content)
    with pytest.raises(CorpusError, match=problem) as caught:
        list(read_conllx(path))
    assert (caught.value.path, caught.value.line) == (path, line)
