from __future__ import annotations

import gc
import sys
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from headatlas.corpora.treebanks.read import is_doc_bin
from headatlas.corpora.treebanks.sentence import ROOT, Sentence, is_tree
from headatlas.corpora.treebanks.spacy_docs import read_doc, read_doc_bin
from headatlas.errors import CorpusError, SettingError

spacy = pytest.importorskip("spacy")
from spacy.tokens import Doc, DocBin  # noqa: E402

DOC = Path("doc")
VOCAB = spacy.blank("en").vocab


def doc_of(*tokens: tuple[str, int, str], **more: Any) -> Doc:
    words, heads, deps = zip(*tokens, strict=True)
    return Doc(VOCAB, list(words), heads=list(heads), deps=list(deps), **more)


def two_sentences() -> Doc:
    return doc_of(
        ("Dogs", 1, "nsubj"), ("bark", 1, "ROOT"), (".", 1, "punct"), ("Ann", 4, "nsubj"), ("sleeps", 4, "ROOT"),
        tags=["NNS", "VBP", ".", "NNP", ""], pos=["NOUN", "VERB", "PUNCT", "PROPN", "VERB"],
    )  # fmt: skip


def saved(folder: Path, *docs: Doc, user_data: bool = False) -> Path:
    path = folder / "bank.spacy"
    DocBin(docs=docs, store_user_data=user_data).to_disk(path)
    return path


# --- Docs


def trees_of(doc: Doc, left_out: Counter[str] | None) -> list[Sentence]:
    return [sentence for sentence in read_doc(doc, DOC) if is_tree(sentence, left_out)]


def test_a_doc_gives_its_sentences() -> None:
    first, second = read_doc(two_sentences(), Path("my.txt"), 3)
    assert (first.line, first.words, first.heads) == (3, ("Dogs", "bark", "."), (1, ROOT, 1))
    assert (first.relations, first.tags) == (("nsubj", "ROOT", "punct"), ("NNS", "VBP", "."))
    assert (second.heads, second.tags) == ((1, ROOT), ("NNP", "VERB"))
    assert second.path == Path("my.txt")


def test_white_space_is_no_word_and_what_hangs_on_it_hangs_on_its_head() -> None:
    doc = doc_of(
        ("\n", 1, "dep"), ("Dogs", 3, "nsubj"), ("  ", 1, "dep"), ("bark", 3, "ROOT"), ("\n\n", 3, "dep"),
        ("\t", 4, "dep"), ("loudly", 5, "advmod"),
    )  # fmt: skip
    (sentence,) = read_doc(doc, DOC)
    assert sentence.words == ("Dogs", "bark", "loudly")
    assert sentence.heads == (1, ROOT, 1)
    assert sentence.relations == ("nsubj", "ROOT", "advmod")


def test_what_hangs_on_a_root_of_white_space_is_a_root() -> None:
    (sentence,) = read_doc(doc_of(("a", 1, "det"), ("\n", 1, "ROOT")), DOC)
    assert (sentence.words, sentence.heads) == (("a",), (ROOT,))
    left_out: Counter[str] = Counter()
    assert not trees_of(doc_of(("a", 1, "det"), ("\n", 1, "ROOT"), ("b", 1, "dep")), left_out)
    assert left_out == {"sentence_with_several_roots": 1}


def test_nothing_but_white_space_is_no_sentence() -> None:
    assert not list(read_doc(doc_of(("\n", 0, "ROOT")), DOC))
    assert not list(read_doc(Doc(VOCAB, []), DOC))


@pytest.mark.parametrize(
    ("doc", "reason"),
    [
        (doc_of(("a", 1, "x"), ("b", 0, "x")), "sentence_without_root"),
        (doc_of(("a", 0, "x"), ("b", 1, "x"), ("c", 0, "x"), ("d", 1, "x")), "sentence_with_head_outside"),
        (doc_of(("a", 1, "x"), ("\n", 2, "x"), ("\n\n", 1, "x")), "sentence_with_head_outside"),
    ],
)
def test_what_is_no_tree(doc: Doc, reason: str) -> None:
    left_out: Counter[str] = Counter()
    trees_of(doc, left_out)
    assert left_out == {reason: 1}
    with pytest.raises(CorpusError, match="doc, line 1: the word"):
        trees_of(doc, None)


def test_no_parse_and_half_a_parse() -> None:
    with pytest.raises(CorpusError, match=r"has no dependency tree.*spaCy pipeline that has a parser"):
        list(read_doc(Doc(VOCAB, ["a", "b"]), DOC))
    with pytest.raises(CorpusError, match="the word 'b' has no relation"):
        list(read_doc(doc_of(("a", 0, "ROOT"), ("b", 0, "")), DOC))


# --- DocBins


def test_a_doc_bin_gives_a_document_a_doc(tmp_path: Path) -> None:
    path = saved(tmp_path, two_sentences(), doc_of(("Yes", 0, "ROOT")))
    trees = list(read_doc_bin(path))
    assert [(tree.words, tree.line, tree.starts_document) for tree in trees] == [
        (("Dogs", "bark", "."), 1, True),
        (("Ann", "sleeps"), 1, False),
        (("Yes",), 2, True),
    ]
    assert trees[0].heads == (1, ROOT, 1)
    assert trees[0].tags == ("NNS", "VBP", ".")
    assert is_doc_bin(path)


def test_free_form_data_are_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import srsly

    doc = two_sentences()
    doc.user_data["note"] = "free form"
    doc.spans["all"] = [doc[0:2]]
    path = saved(tmp_path, doc, user_data=True)
    unpacked = []
    honest = srsly.msgpack_loads
    monkeypatch.setattr(srsly, "msgpack_loads", lambda data, **more: unpacked.append(data) or honest(data, **more))
    assert len(list(read_doc_bin(path))) == 2
    assert len(unpacked) == 1  # the file itself


def test_no_object_comes_out_of_a_doc_bin(tmp_path: Path) -> None:
    """An array of Python objects, which a pickle could hide in, is refused."""
    import srsly

    array = {b"nd": True, b"type": "|O", b"kind": b"", b"shape": [1], b"data": b"cos\nsystem\n(S'true'\ntR."}
    path = tmp_path / "evil.spacy"
    path.write_bytes(zlib.compress(srsly.msgpack_dumps({"attrs": array})))
    with pytest.raises(CorpusError, match="is not a valid DocBin"):
        list(read_doc_bin(path))


@pytest.mark.parametrize(
    "content", [b"", b"Dogs bark.\n", b"x\x9cnothing", zlib.compress(b"\xc1"), zlib.compress(b"\x80"), "cut"]
)
def test_what_is_no_doc_bin(tmp_path: Path, content: bytes | str) -> None:
    path = saved(tmp_path, two_sentences())
    path.write_bytes(content if isinstance(content, bytes) else path.read_bytes()[:-20])
    with pytest.raises(CorpusError, match=r"bank\.spacy: is not a valid DocBin .*DocBin\(docs=docs\)"):
        list(read_doc_bin(path))
    assert gc.isenabled()


def test_missing_file(tmp_path: Path) -> None:
    for read in (is_doc_bin, lambda path: list(read_doc_bin(path))):
        with pytest.raises(CorpusError, match=r"cannot be read .*No such file.*Check the path"):
            read(tmp_path / "none.spacy")


def test_an_unparsed_doc_is_named_by_its_number(tmp_path: Path) -> None:
    path = saved(tmp_path, two_sentences(), Doc(VOCAB, ["a"]))
    with pytest.raises(CorpusError, match="line 2: has no dependency tree"):
        list(read_doc_bin(path))


def test_without_spacy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(tmp_path, two_sentences())
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(SettingError, match=r'pip install "headatlas\[spacy\]"'):
        list(read_doc_bin(path))
