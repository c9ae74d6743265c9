"""SemEval-2010 task 8: marks within a text, the relation after it, and what is malformed."""

import pytest

from headatlas.corpora.spans.spans import is_marked, read_marked_relations
from headatlas.errors import CorpusError

GOOD = '1\t"The <e1>child</e1> was bound into the <e2>old cradle</e2>."\nEntity-Destination(e1,e2)\nComment: none\n\n'


def read(tmp_path, text):
    path = tmp_path / "train.txt"
    path.write_text(text, encoding="utf-8")
    return list(read_marked_relations(path, 0, "relations"))


def test_words_spans_and_relation(tmp_path):
    second = '2\t"A half-<e2>time</e2> of <e1>the boy\'s dog</e1>"\nOther\n'
    one, other = read(tmp_path, GOOD + second)
    assert one.words == ("The", "child", "was", "bound", "into", "the", "old", "cradle", ".")
    (target,) = one.targets["relations"]
    assert (target.spans, target.labels, target.line) == (((1, 2), (6, 8)), ("Entity-Destination(e1,e2)",), 1)
    (target,) = other.targets["relations"]
    assert [other.words[start:end] for start, end in target.spans] == [("the", "boy's", "dog"), ("time",)]
    assert target.line == 5


def test_a_marked_line_is_told_from_others():
    assert is_marked(GOOD.splitlines()[0])
    assert not is_marked("The <e1>child</e1> and <e2>another</e2>")
    assert not is_marked('1\t"no marks"')


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("no number\nOther\n", 1, "is not a marked text"),
        (GOOD + '2\t"a <e1>b</e1> c"\nOther\n', 5, "has no <e2>"),
        ('1\t"<e1>a</e1> <e1>b</e1> <e2>c</e2>"\nOther\n', 1, "has <e1> twice"),
        ('1\t"</e1>a<e1> <e2>c</e2>"\nOther\n', 1, "marks no word as e1"),
        ('1\t"<e1>a</e1> <e2>b</e2>"\n\n', 1, "has no relation"),
        ('1\t"<e1>a</e1> <e2>b</e2>"\nComment: x\n', 1, "has no relation"),
    ],
)
def test_malformed_texts_are_named(tmp_path, text, line, what):
    with pytest.raises(CorpusError, match=f"train.txt, line {line}: {what}"):
        read(tmp_path, text)
