from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from headatlas.corpora.coreference.mentions import Mention, MentionDocument
from headatlas.corpora.coreference.read import read_corefud
from headatlas.errors import CorpusError


def row(number: int | str, word: str, entity: str = "", head: str = "_", upos: str = "_", xpos: str = "_") -> str:
    misc = f"SpaceAfter=No|Entity={entity}" if entity else "_"
    relation = "_" if head == "_" else "dep"
    return "\t".join([str(number), word, "_", upos, xpos, "_", head, relation, "_", misc])


def read(folder: Path, *lines: str, left_out: Counter[str] | None = None) -> list[MentionDocument]:
    path = folder / "x.conllu"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return list(read_corefud(path, 1, Counter() if left_out is None else left_out))


def test_documents_with_trees(tmp_path: Path) -> None:
    first, second = read(
        tmp_path,
        "# newdoc id = one",
        "# global.Entity = GRP-etype-infstat",
        "# text = The old man in black saw his dog",
        row(1, "The", "(1-person-new", "3", "DET", "DT"),
        row(2, "old", "", "3", "ADJ", "JJ"),
        row(3, "man", "", "6", "NOUN", "NN"),
        row("4-5", "inblack"),
        row(4, "in", "", "5", "ADP", "IN"),
        row(5, "black", "1)", "3", "NOUN", "NN"),
        row(6, "saw", "", "0", "VERB", "VBD"),
        row(7, "his", "(2-animal-new(1-person-giv)", "8", "PRON", "PRP$"),
        row(8, "dog", "2)", "6", "NOUN", "NN"),
        "",
        row(1, "Rex", "(2-animal-giv)", "2", "PROPN", "NNP"),
        row(2, "ran", "", "0", "VERB", "VBD"),
        "",
        "# newdoc id = two",
        row(1, "It", "(1-event-new)", "2", "PRON", "PRP"),
        row(2, "rains", "", "0", "VERB", "VBZ"),
        "",
    )
    assert (first.id, first.line, first.sentences) == ("1.0", 4, (0, 8))
    assert first.words == ("The", "old", "man", "in", "black", "saw", "his", "dog", "Rex", "ran")
    assert first.tags[:3] == ("DT", "JJ", "NN")
    assert first.mentions == (
        Mention(0, 5, 2, "1", "nominal"),
        Mention(6, 8, 7, "2", "nominal"),
        Mention(6, 7, 6, "1", "pronoun"),
        Mention(8, 9, 8, "2", "proper"),
    )
    assert (second.id, second.line, second.words) == ("1.1", 18, ("It", "rains"))
    assert second.mentions == (Mention(0, 1, 0, "1", "pronoun"),)


def test_heads_in_the_second_sentence_count_from_the_document(tmp_path: Path) -> None:
    (found,) = read(
        tmp_path,
        row(1, "Go", "", "0"),
        "",
        row(1, "a", "(e1", "0"),
        row(2, "dog", "", "1"),
        row(3, "x", "e1)", "2"),
        "",
    )
    assert [mention.head for mention in found.mentions] == [1]


def test_a_sentence_without_a_tree_gets_its_heads_by_rule(tmp_path: Path) -> None:
    (found,) = read(tmp_path, row(1, "the", "(e1-x"), row(2, "man"), row(3, "in"), row(4, "black", "e1)"), "")
    assert found.mentions == (Mention(0, 4, 1, "e1", "nominal"),)
    assert found.tags == ("",) * 4


@pytest.mark.parametrize(
    ("fields", "opening", "closing"),
    [
        ("eid-etype-head", "(e1-person-1", "e1)"),
        ("entity-GRP-infstat", "(person-e1-new", "person-e1)"),
        ("entity-GRP-infstat", "(person-e1-new", "e1)"),
        ("eid", "(e1", "e1)"),
        ("name", "(e1-other", "e1)"),
        ("eid-etype-identity", "(e1-person-Ann%2DMarie_%28x%29", "e1)"),
    ],
)
def test_the_entity_is_the_field_that_is_named_so(tmp_path: Path, fields: str, opening: str, closing: str) -> None:
    (found,) = read(tmp_path, f"# global.Entity = {fields}", row(1, "old", opening), row(2, "Ann", closing), "")
    assert [(mention.start, mention.end, mention.entity) for mention in found.mentions] == [(0, 2, "e1")]


def test_fields_hold_until_they_are_named_anew(tmp_path: Path) -> None:
    documents = read(
        tmp_path,
        "# newdoc\n# global.Entity = etype-eid",
        row(1, "Ann", "(person-a)"),
        "\n# newdoc",
        row(1, "Ann", "(person-b)"),
        "\n# newdoc\n# global.Entity = eid-etype",
        row(1, "Ann", "(c-person)"),
        "",
    )
    assert [document.mentions[0].entity for document in documents] == ["a", "b", "c"]


def test_universal_tags_where_the_others_are_not_penn(tmp_path: Path) -> None:
    (found,) = read(
        tmp_path,
        row(1, "Anna", "(e1)", "2", "PROPN", "NE"),
        row(2, "sah", "", "0", "VERB", "VVFIN"),
        row(3, "sie", "(e2)", "2", "PRON", "PPER"),
        row(4, "x", "(e2)", "2", "_", "ODD"),
        "",
    )
    assert found.tags == ("PROPN", "VERB", "PRON", "ODD")
    assert [mention.type for mention in found.mentions] == ["proper", "pronoun", "nominal"]


def test_what_a_model_cannot_read_is_left_out_and_counted(tmp_path: Path) -> None:
    left_out: Counter[str] = Counter()
    (found,) = read(
        tmp_path,
        row("0.1", "_", "(e9)"),
        row(1, "Ann", "(e1[1/2]-person)(e2"),
        row(2, "came"),
        row("2.1", "_", "(e1-person)(e3"),
        row(3, "Lee", "(e1[2/2]-person)e3)"),
        row("3.1", "_", "e2)"),
        "",
        left_out=left_out,
    )
    assert [(one.start, one.end, one.entity) for one in found.mentions] == [(0, 3, "e2"), (2, 3, "e3")]
    assert left_out == {"mention_in_several_parts": 1, "mention_on_empty_node": 2}


@pytest.mark.parametrize(
    ("lines", "line", "problem"),
    [
        ([row(1, "Ann", "(e1")], 1, "never closes"),
        ([row(1, "Ann", "(e1"), "", "# newdoc", row(1, "Lee", "e1)")], 1, "never closes"),
        ([row(1, "Ann"), row(2, "Lee", "e1)")], 2, "not open"),
        ([row(1, "Ann"), row(2, "Lee", "e1")], 2, "not a row of brackets"),
        ([row(1, "Ann"), row("1.1", "_", "e1)")], 2, "not open"),
        ([row(1, "Ann", "(e1)"), "2\tLee"], 2, "columns"),
    ],
)
def test_what_is_malformed_is_named(tmp_path: Path, lines: list[str], line: int, problem: str) -> None:
    with pytest.raises(CorpusError, match=problem) as caught:
        read(tmp_path, *lines, "")
    assert (caught.value.path, caught.value.line) == (tmp_path / "x.conllu", line)
