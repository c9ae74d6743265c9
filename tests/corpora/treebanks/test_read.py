from __future__ import annotations

import gzip
import os
import tracemalloc
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headatlas.corpora.treebanks.read import TREEBANK_FORMATS, TreebankFormat, read_treebank
from headatlas.corpora.treebanks.sentence import ROOT, Sentence
from headatlas.errors import CorpusError


def columns(*heads: int, tag: str = "NOUN", fine: str = "NN") -> str:
    rows = (f"{i}\tw{i}\t_\t{tag}\t{fine}\t_\t{head}\tdep\t_\t_\n" for i, head in enumerate(heads, start=1))
    return "".join(rows) + "\n"


CONLLU = "# newdoc id = a\n" + columns(0, 1) + "1-2\tx" + "\t_" * 8 + "\n" + columns(2, 0)
CONLLX = "# s_type=frag\n" + columns(0, 1, tag="NN") + columns(2, 0, tag="NN")
HEAD_LABEL = "w1 0-dep\nw2 1-dep\n\nw1 2-dep\nw2 0-dep\n"


def file_with(folder: Path, content: bytes | str, name: str = "bank") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def spacy_file(folder: Path) -> Path:
    spacy = pytest.importorskip("spacy")
    words, deps = ["w1", "w2"], ["dep", "dep"]
    vocab = spacy.blank("en").vocab
    docs = [spacy.tokens.Doc(vocab, words, heads=heads, deps=deps) for heads in ([0, 0], [1, 1])]
    path = folder / "bank"
    spacy.tokens.DocBin(docs=docs).to_disk(path)
    return path


# --- formats


@pytest.mark.parametrize("layout", ["auto", "named"])
@pytest.mark.parametrize("kind", TREEBANK_FORMATS[1:])
def test_every_format_gives_the_same_trees(tmp_path: Path, kind: TreebankFormat, layout: str) -> None:
    contents = {"conllu": CONLLU, "conllx": CONLLX, "head-label": HEAD_LABEL}
    path = spacy_file(tmp_path) if kind == "spacy" else file_with(tmp_path, contents[kind])
    sentences = list(read_treebank([path], "auto" if layout == "auto" else kind))
    assert [(tree.words, tree.heads, tree.relations) for tree in sentences] == [
        (("w1", "w2"), (ROOT, 0), ("dep", "dep")),
        (("w1", "w2"), (1, ROOT), ("dep", "dep")),
    ]
    assert {tree.path for tree in sentences} == {path}
    expected = ["0.0.0", "0.1.0"] if kind == "spacy" else ["0.0.0", "0.0.1"]
    assert [tree.id for tree in sentences] == expected


def test_auto_by_name_where_the_content_leaves_two(tmp_path: Path) -> None:
    """A range is a fault in CoNLL-X, so it shows which reader was taken."""
    with_range = "1-2\tx" + "\t_" * 8 + "\n" + columns(0, 1)
    assert len(list(read_treebank([file_with(tmp_path, with_range, "a.conllu.gz")]))) == 1
    assert len(list(read_treebank([file_with(tmp_path, with_range, "a.txt")]))) == 1
    with pytest.raises(CorpusError, match="is word '1-2'"):
        list(read_treebank([file_with(tmp_path, with_range, "a.conllx")]))
    with pytest.raises(CorpusError, match="is word '1-2'"):
        list(read_treebank([file_with(tmp_path, with_range.replace("NOUN", "NN"), "b.txt")]))


def test_auto_takes_a_number_sign_for_a_word_where_it_is_one(tmp_path: Path) -> None:
    (tree,) = read_treebank([file_with(tmp_path, "# newdoc\n# 2-dep\n3 0-root\n")])
    assert tree.words == ("#", "3")


def test_auto_looks_past_comments_that_stand_alone(tmp_path: Path) -> None:
    assert len(list(read_treebank([file_with(tmp_path, "# newdoc\n\n" + CONLLX)]))) == 2


def test_auto_takes_blanks_between_columns_for_tabs_that_were_lost(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"columns separated by spaces.*sed"):
        list(read_treebank([file_with(tmp_path, "# c\n1 w _ X X _ 0 dep _ _\n")]))


@pytest.mark.parametrize("content", ["Dogs bark.\n", "(S (NP Dogs) (VP bark))\n", "a\tb\tc\n"])
def test_auto_says_what_it_knows(tmp_path: Path, content: str) -> None:
    with pytest.raises(CorpusError, match="none of the known formats: conllu, conllx, head-label, spacy") as caught:
        list(read_treebank([file_with(tmp_path, "# c\n" + content)]))
    assert caught.value.line == 2


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_auto_does_not_eat_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(CorpusError, match=r"is a pipe.*Name its format"):
        list(read_treebank([tmp_path / "pipe"]))


# --- documents and ids


def test_documents_and_sentences_are_numbered_from_0_in_each_file(tmp_path: Path) -> None:
    marked = "# newdoc\n" + columns(0) + columns(0) + "# newdoc id = b\n" + columns(0) + "# newpar\n" + columns(0)
    late = columns(0) + "# newdoc\n" + columns(0)
    paths = [file_with(tmp_path, marked, "a.conllu"), file_with(tmp_path, late, "b.conllu")]
    paths += [file_with(tmp_path, gzip.compress(HEAD_LABEL.encode()), "c.gz")]
    sentences = list(read_treebank(paths))
    assert [tree.id for tree in sentences] == ["0.0.0", "0.0.1", "0.1.0", "0.1.1", "1.0.0", "1.1.0", "2.0.0", "2.0.1"]
    assert [tree.line for tree in sentences[:4]] == [2, 4, 7, 10]
    assert sentences[3].document == "0.1"


# --- trees that are none


def test_sentences_that_are_no_tree_are_left_out_by_reason_and_keep_their_number(tmp_path: Path) -> None:
    content = columns(0, 0) + columns(0) + columns(0, 3, 2) + columns(0, 0) + columns(1) + columns(2, 0)
    path = file_with(tmp_path, content)
    left_out: Counter[str] = Counter()
    assert [tree.id for tree in read_treebank([path], left_out=left_out)] == ["0.0.1", "0.0.5"]
    assert left_out == {"sentence_with_several_roots": 2, "sentence_with_cycle": 1, "sentence_without_root": 1}
    with pytest.raises(CorpusError, match="line 2: the word 'w2' is a second root"):
        list(read_treebank([path]))


def test_a_document_that_begins_with_a_sentence_left_out(tmp_path: Path) -> None:
    path = file_with(tmp_path, columns(0) + "# newdoc\n" + columns(0, 0) + columns(0))
    assert [tree.id for tree in read_treebank([path], left_out=Counter())] == ["0.0.0", "0.1.1"]


def test_what_is_malformed_raises_even_where_someone_counts(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="the head is word 9, but the sentence has only 2"):
        list(read_treebank([file_with(tmp_path, columns(0, 9))], left_out=Counter()))


@pytest.mark.parametrize("layout", ["conllu", "conllx"])
def test_text_without_syntax(tmp_path: Path, layout: TreebankFormat) -> None:
    path = file_with(tmp_path, columns(0) + "# text = w\n1\tw" + "\t_" * 8 + "\n")
    with pytest.raises(CorpusError, match=r"line 4: .*has no dependency tree"):
        list(read_treebank([path], layout, Counter()))


# --- files


@pytest.mark.parametrize("content", [b"", b"\n \n", b"# newdoc\n", gzip.compress(b"", mtime=0)])
@pytest.mark.parametrize("layout", ["auto", "conllu", "conllx", "head-label"])
def test_a_file_without_sentences(tmp_path: Path, content: bytes, layout: TreebankFormat) -> None:
    good, empty = file_with(tmp_path, CONLLX, "good"), file_with(tmp_path, content, "empty")
    with pytest.raises(CorpusError, match=r"empty: has no sentence. Give a treebank"):
        list(read_treebank([empty], layout))
    with pytest.raises(CorpusError, match="empty: has no sentence"):
        list(read_treebank([good, empty]))


def test_a_file_given_twice_is_refused(tmp_path: Path) -> None:
    path = file_with(tmp_path, CONLLX)
    with pytest.raises(CorpusError, match=r"given twice.*Name it once"):
        list(read_treebank([path, path]))


@pytest.mark.parametrize("layout", TREEBANK_FORMATS)
def test_missing_file_and_folder(tmp_path: Path, layout: TreebankFormat) -> None:
    if layout == "spacy":
        pytest.importorskip("spacy")
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(CorpusError, match=r"cannot be read .*Check the path") as caught:
            list(read_treebank([path], layout))
        assert caught.value.path == path


@pytest.mark.parametrize("layout", ["conllu", "conllx"])
def test_streams(tmp_path: Path, layout: TreebankFormat) -> None:
    path = file_with(tmp_path, columns(0, 1, 1, 1, fine="N" * 200) * 1500)
    tracemalloc.start()
    try:
        assert sum(1 for _ in read_treebank([path], layout)) == 1500
        assert tracemalloc.get_traced_memory()[1] < path.stat().st_size / 3
    finally:
        tracemalloc.stop()


# --- properties


@st.composite
def trees(draw: st.DrawFn) -> list[int]:
    """Heads from 1 of a random tree: each word hangs on one drawn before it, then words are shuffled."""
    size = draw(st.integers(1, 8))
    order = draw(st.permutations(range(1, size + 1)))
    heads = [0] * size
    for place in range(1, size):
        heads[order[place] - 1] = order[draw(st.integers(0, place - 1))]
    return heads


@given(st.lists(trees(), min_size=1, max_size=4))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_trees_come_back_from_every_text_format(tmp_path: Path, corpus: list[list[int]]) -> None:
    def heads_of(sentences: list[Sentence]) -> list[list[int]]:
        return [[head + 1 for head in tree.heads] for tree in sentences]

    table = file_with(tmp_path, "".join(columns(*heads) for heads in corpus), "table")
    pairs = "\n".join("".join(f"w{i} {head}-dep\n" for i, head in enumerate(heads)) for heads in corpus)
    assert heads_of(list(read_treebank([table], "conllu"))) == corpus
    assert heads_of(list(read_treebank([table], "conllx"))) == corpus
    assert heads_of(list(read_treebank([file_with(tmp_path, pairs, "pairs")]))) == corpus
