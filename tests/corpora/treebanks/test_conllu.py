from __future__ import annotations

import gzip
from pathlib import Path

import conllu
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headatlas.corpora.treebanks.columns import MISC, is_empty_node, read_conllu, read_rows
from headatlas.corpora.treebanks.sentence import NO_TREE, ROOT
from headatlas.errors import CorpusError

SPANISH = """\
# newdoc id = es-1
# newpar
# sent_id = 1
# text = Vámonos del mar.
1-2	Vámonos	_	_	_	_	_	_	_	SpaceAfter=No
1	Vamos	ir	VERB	_	Mood=Imp	0	root	0:root	Entity=(e1-a=b)|Odd
2	nos	yo	PRON	PP	_	1	obj	1:obj	Entity=(e2)
2.1	_	_	_	_	_	_	_	1:dep	Entity=(e3)
3-4	del	_	_	_	_	_	_	_	_
3	de	de	ADP	IN	_	5	case	5:case	_
4	el	el	_	_	_	5	det	5:det	_
5	mar	mar	NOUN	NN	_	1	obl	1:obl	SpaceAfter=No
6	.	.	PUNCT	.	_	1	punct	1:punct	_

# sent_id = 2
1	Sí	sí	INTJ	_	_	_	_	_	_
"""


def file_with(folder: Path, content: bytes | str, name: str = "bank.conllu") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def row(number: object, head: object = 0, form: str = "w", misc: str = "_") -> str:
    return f"{number}\t{form}\t_\tX\t_\t_\t{head}\tdep\t_\t{misc}\n"


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("line_break", ["\n", "\r\n"])
def test_columns_ranges_and_empty_nodes(tmp_path: Path, zipped: bool, line_break: str) -> None:
    content = SPANISH.replace("\n", line_break).encode()
    path = file_with(tmp_path, gzip.compress(content) if zipped else content)
    first, second = read_conllu(path)
    assert first.word_lines == (6, 7, 10, 11, 12, 13)
    assert first.words == ("Vamos", "nos", "de", "el", "mar", ".")
    assert first.tags == ("VERB", "PP", "IN", "", "NN", ".")
    assert first.heads == (ROOT, 0, 4, 4, 0, 0)
    assert first.relations == ("root", "obj", "case", "det", "obl", "punct")
    assert (first.starts_document, second.starts_document) == (True, False)
    assert (second.word_lines, second.words, second.heads, second.relations) == ((16,), ("Sí",), (NO_TREE,), ("_",))
    assert first.multiword == (("Vámonos", "Vamos nos"), ("del", "de el"))
    assert first.classes == ("VERB", "PRON", "ADP", "", "NOUN", "PUNCT")
    (comments, rows, ranges), _ = read_rows(path, "CoNLL-U")
    assert [columns[0] for _, columns in ranges] == ["1-2", "3-4"]
    assert comments == ["# newdoc id = es-1", "# newpar", "# sent_id = 1", "# text = Vámonos del mar."]
    assert [(line, columns[MISC]) for line, columns in rows[:3]] == [
        (6, "Entity=(e1-a=b)|Odd"),
        (7, "Entity=(e2)"),
        (8, "Entity=(e3)"),
    ]
    assert [is_empty_node(row) for row in rows] == [False, False, True, False, False, False, False]


def test_the_conllu_package_reads_the_same(tmp_path: Path) -> None:
    ours = list(read_conllu(file_with(tmp_path, SPANISH)))
    theirs = [[token for token in sentence if isinstance(token["id"], int)] for sentence in conllu.parse(SPANISH)]
    assert [sentence.words for sentence in ours] == [tuple(token["form"] for token in words) for words in theirs]
    assert ours[0].heads == tuple(token["head"] - 1 for token in theirs[0])
    assert ours[0].relations == tuple(token["deprel"] for token in theirs[0])


def test_comments_alone_count_for_the_next_sentence(tmp_path: Path) -> None:
    path = file_with(tmp_path, "# newdoc\n\n\n# text = w\n" + row(1) + "\n# newpar_block\n" + row(1) + "\n# newdoc\n")
    first, second = read_conllu(path)
    assert (first.starts_document, first.line, second.starts_document) == (True, 5, False)


def test_words_of_any_characters(tmp_path: Path) -> None:
    forms = ["_", "#", "10 000", "a  b", "-", "1-2", "“", "=|"]
    content = "".join(row(i, int(i > 1), form) for i, form in enumerate(forms, start=1))
    (sentence,) = read_conllu(file_with(tmp_path, content))
    assert sentence.words == ("_", "#", "10 000", "a  b", "-", "1-2", "“", "=|")


@pytest.mark.parametrize(
    ("content", "line", "problem"),
    [
        (row(1) + row(2, 1)[:-3] + "\n", 2, "has 9 columns, but CoNLL-U has 10. Put _ in"),
        (row(1)[:-1] + "\tx\n", 1, "has 11 columns"),
        (row(1).replace("\t", " "), 1, "separated by spaces, but CoNLL-U separates them by tabs.*sed -E"),
        (row(1).replace("\t", "   "), 1, "separated by spaces"),
        ("Just some text.\n", 1, "has 1 columns"),
        (row(1) + row(3, 1), 2, "is word '3', but word 2 should follow.*empty line between sentences"),
        (row(1) + row(1), 2, "is word '1', but word 2 should follow"),
        (row(0), 1, "is word '0', but word 1 should follow"),
        (row("_"), 1, "is word '_', but word 1 should follow"),
        (row("x"), 1, "is word 'x', but word 1 should follow"),
        (row("9" * 5000), 1, "is word '9{20}', but"),
        (row("2-1"), 1, "is word '2-1'"),
        (row("1-2"), 1, "starts a sentence without a word"),
        (row(1, form=""), 1, "has an empty word"),
        (row(1) + row(2, "x"), 2, "the head 'x' is not a number"),
        (row(1) + row(2, "1.1"), 2, "the head '1.1' is not a number"),
        (row(1) + row(2, "9" * 5000), 2, "is not a number"),
        ("# a\n" + row(1) + row(2, 3), 3, "the head is word 3, but the sentence has only 2"),
        (row(1) + row(2, -1), 2, "the head '-1' is not a number"),
        (row(1) + row(2, "_"), 2, "has no head, while other words of the sentence have one"),
        ("\n# global.columns = ID FORM\n1\tx\n", 2, "is CoNLL-U Plus. Convert it"),
        (row(1, form="é").encode("latin-1"), 1, "not UTF-8"),
        (gzip.compress(SPANISH.encode(), mtime=0)[:-9], ..., "damaged or cut short"),
    ],
)  # fmt: skip
def test_what_is_malformed_is_named_with_file_and_line(
    tmp_path: Path, content: bytes | str, line: object, problem: str
) -> None:
    path = file_with(tmp_path, content)
    with pytest.raises(CorpusError, match=problem) as caught:
        list(read_conllu(path))
    assert caught.value.path == path
    if line is not ...:
        assert caught.value.line == line


forms = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zs"]), min_size=1, max_size=8)
sentences = st.lists(st.lists(forms, min_size=1, max_size=6), min_size=1, max_size=5)


@given(corpus=sentences, blank=st.sampled_from(["\n", "\n\n", " \n", "\r\n"]))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_sentences_come_back(tmp_path: Path, corpus: list[list[str]], blank: str) -> None:
    blocks = ["".join(row(i, i - 1, form) for i, form in enumerate(words, start=1)) for words in corpus]
    found = list(read_conllu(file_with(tmp_path, blank.join(blocks))))
    assert [list(sentence.words) for sentence in found] == corpus
    assert all(sentence.heads == tuple(range(-1, len(sentence.words) - 1)) for sentence in found)
