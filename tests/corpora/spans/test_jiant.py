"""jiant's JSON lines: one or two spans, one or several labels, and what is malformed."""

import json

import pytest

from headatlas.corpora.spans.spans import read_jiant
from headatlas.errors import CorpusError


def read(tmp_path, *records):
    path = tmp_path / "a.jsonl"
    lines = [record if isinstance(record, str) else json.dumps(record) for record in records]
    path.write_text("\n".join(lines), encoding="utf-8")
    return list(read_jiant(path, 0, "srl"))


def target(**changes):
    return {"text": "a b c", "targets": [{"span1": [0, 1], "label": "x", **changes}]}


def test_spans_and_labels(tmp_path):
    both = target(span2=[1, 3], label=["y", "x", "y"])
    texts = read(tmp_path, target(info={"more": 1}), "", both, target(label=1), {"text": "a", "targets": []})
    assert [text.words for text in texts] == [("a", "b", "c")] * 3 + [("a",)]
    (first,), (second,), (third,), none = (text.targets["srl"] for text in texts)
    assert (first.spans, first.labels, first.line) == (((0, 1),), ("x",), 1)
    assert (second.spans, second.labels, second.line) == (((0, 1), (1, 3)), ("y", "x"), 3)
    assert third.labels == ("1",)
    assert none == ()


@pytest.mark.parametrize(
    ("record", "what"),
    [
        ("{", "is not valid JSON"),
        ("[]", "is not a JSON object"),
        ({"targets": []}, "has no text"),
        ({"text": " ", "targets": []}, "has no text"),
        ({"text": "a"}, "has no targets"),
        ({"text": "a", "targets": [1]}, "has no targets"),
        ({"text": "a", "targets": [{"label": "x"}]}, "a target without span1"),
        (target(span1=[0]), "has the span1"),
        (target(span1=[0, 1.5]), "has the span1"),
        (target(span1=[0, True]), "has the span1"),
        (target(span1=[2, 4]), "the span from word 2 to 4"),
        (target(span1=[1, 1]), "the span from word 1 to 1"),
        (target(span1=[-1, 1]), "the span from word -1 to 1"),
        (target(label=None), "with the label None"),
        (target(label={"a": 1}), "with the label"),
    ],
)
def test_malformed_records_are_named(tmp_path, record, what):
    with pytest.raises(CorpusError, match=f"a.jsonl, line 2: .*{what}"):
        read(tmp_path, target(), record)
