"""Maps that others made: read as they are meant, refused by file and example where they cannot be."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from headatlas.corpora.treebanks.sentence import ROOT
from headatlas.encoding.kinds import TokenKind
from headatlas.errors import CorpusError
from headatlas.store.importing import read_maps


def softmax_maps(size, layers=2, heads=3, seed=0, causal=False):
    scores = np.exp(np.random.default_rng(seed).normal(size=(layers, heads, size, size)))
    scores = np.tril(scores) if causal else scores
    return (scores / scores.sum(-1, keepdims=True)).astype(np.float16)


def tokens_example(*tokens, **changes):
    return {"tokens": list(tokens), "attns": softmax_maps(len(tokens))} | changes


def words_example(**changes):
    example = {"words": ["she", "sat", "there"], "heads": [2, 0, 2], "relns": ["nsubj", "root", "advmod"]}
    return example | {"tokens": ["[CLS]", "she", "sat", "the", "##re", "[SEP]"], "attns": softmax_maps(5)} | changes


@pytest.fixture
def write(tmp_path):
    def call(examples, name="maps_attn.pkl"):
        path = tmp_path / name
        path.write_bytes(pickle.dumps(examples, 2))
        return path

    return call


def test_tokens(write):
    found = read_maps([write([tokens_example("[CLS]", "un", "##happy", ",", "[SEP]", "a", "Ġ.", "[SEP]")])])
    [one] = found.examples
    assert found.level == "tokens"
    assert not found.causal
    other, mark = TokenKind.OTHER, TokenKind.PERIOD_COMMA
    assert one.example.kinds.tolist() == [TokenKind.CLS, other, other, mark, TokenKind.SEP, other, mark, TokenKind.SEP]
    assert one.example.word_of.tolist() == [-1, 0, 0, 1, -1, 2, 3, -1]
    stored = one.tensors("float32").maps
    np.testing.assert_array_equal(stored, softmax_maps(8).reshape(6, 8, 8))
    assert stored.dtype == np.float32


def test_words_between_the_special_tokens_are_moved_before_them(write):
    [one] = read_maps([write([words_example()])]).examples
    assert one.example.heads.tolist() == [1, ROOT, 1]
    assert one.example.words == ("she", "sat", "there")
    given, stored = softmax_maps(5).reshape(6, 5, 5), one.tensors("float16").maps
    order = [1, 2, 3, 0, 4]
    for i in range(5):
        for j in range(5):
            np.testing.assert_array_equal(stored[:, i, j], given[:, order[i], order[j]])


def test_npz(tmp_path):
    path = tmp_path / "maps.npz"
    np.savez(path, attn=softmax_maps(3, causal=True), tokens=np.array(["The", " fox", "."]), source=np.array(["x"]))
    found = read_maps([path])
    assert found.causal
    assert found.examples[0].example.tokens == ("The", " fox", ".")
    assert found.examples[0].example.kinds.tolist() == [TokenKind.OTHER, TokenKind.OTHER, TokenKind.PERIOD_COMMA]


def test_what_is_left_out_is_counted(write):
    dummies = words_example(heads=[0, 0, 0])
    unaligned = tokens_example(*"abcdef", words=["abc", "def"])
    assert read_maps([write([words_example(), dummies])]).left_out == {"sentence_with_several_roots": 1}
    assert read_maps([write([unaligned])]).left_out == {"tree_beside_maps_between_tokens": 1}
    with pytest.raises(CorpusError, match=r"sentence_with_several_roots 2.*dummy labels"):
        read_maps([write([dummies, dummies])])


def bad_maps(change):
    maps = softmax_maps(3).astype(np.float32)
    change(maps)
    return maps


@pytest.mark.parametrize(
    ("example", "message"),
    [
        ({"tokens": ["a"]}, "example 1 has no array attns. Its keys: tokens"),
        (tokens_example("a", "b", attns=softmax_maps(3)), "example 1: the maps have 3 rows, but there are 2 tokens"),
        ({"attns": softmax_maps(3)}, "3 rows, but there are no tokens"),
        (tokens_example("a", "b", "c", attns=softmax_maps(3)[0]), r"shape \(3, 3, 3\)"),
        (tokens_example("a", "b", "c", attns=softmax_maps(4)[:, :, :3]), r"shape \(2, 3, 3, 4\)"),
        (tokens_example("a", "b", "c", attns=np.ones((2, 3, 3, 3), np.int64)), "int64"),
        (tokens_example("a", "b", "c", attns=bad_maps(lambda m: m[1, 2, 0].fill(np.nan))), "head 2-3 .* is NaN"),
        (tokens_example("a", "b", "c", attns=bad_maps(lambda m: m[0, 1].fill(0.5))), "head 1-2 .* sums to 1.500"),
        (tokens_example("a", "b", "c", attns=bad_maps(lambda m: m[0, 0, 0].put([0, 1, 2], [-1, 1, 1]))), "negative"),
        (tokens_example("a", "b", "c", attns=softmax_maps(3, layers=4)), "4 layers x 3 heads, the first one 2 layers"),
        (tokens_example("a", "b", "c", attns=softmax_maps(3, causal=True)), "attends to no later token"),
        (tokens_example("a", attns=np.ones((2_500, 1, 1, 1))), "2,500 layers of 1 heads, more than any model has"),
        (words_example(), "some maps are between words, others between tokens"),
        (words_example(heads=[2, 0]), "3 words, 2 heads and 3 relations"),
        (words_example(heads=None), "need lists heads and relns"),
        (words_example(heads=[2, 0, 2.5]), "need lists heads and relns"),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else "",
)
def test_bad_examples_are_named(write, example, message):
    with pytest.raises(CorpusError, match=rf"maps_attn\.pkl: .*{message}"):
        read_maps([write([tokens_example("[CLS]", "a", "[SEP]"), example])])


@pytest.mark.parametrize("content", [{"attns": 1}, [1, 2], "text", None], ids=str)
def test_other_pickles_are_refused(write, content):
    with pytest.raises(CorpusError, match="not a list of dicts"):
        read_maps([write(content)])


def test_bad_npz(tmp_path):
    path = tmp_path / "maps.npz"
    np.savez(path, attn=softmax_maps(3))
    with pytest.raises(CorpusError, match=r"maps\.npz: has no tokens\. Its arrays: attn"):
        read_maps([path])
    np.savez(path, attn=softmax_maps(3), tokens=np.array(["a", "b", None], dtype=object))
    with pytest.raises(CorpusError, match=r"maps\.npz: cannot be read as \.npz.*no objects"):
        read_maps([path])
    np.savez(path, attn=softmax_maps(3), tokens=np.array([101, 7, 102]))
    with pytest.raises(
        CorpusError, match=r"maps\.npz: the tokens are int64 .* not text\. Save one string for each row"
    ):
        read_maps([path])
    np.savez(path, attn=softmax_maps(3), tokens=np.array(["a", "b"]))
    with pytest.raises(CorpusError, match=r"maps\.npz: the maps have 3 rows, but there are 2 tokens"):
        read_maps([path])
    np.savez(path)
    with pytest.raises(CorpusError, match=r"maps\.npz: is an empty archive"):
        read_maps([path])
    np.savez(path, attn=softmax_maps(3), tokens=np.array(["a", "b", "c"]))
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(CorpusError, match=r"maps\.npz"):
        read_maps([path])
    path.write_bytes(b"")
    with pytest.raises(CorpusError, match=r"maps\.npz: is an empty file"):
        read_maps([path])


@pytest.mark.parametrize("shape", [(2, 100_000, 5, 5), (20_000, 1, 5, 5), (1, 2, 3_000, 2), (20_000_000,)], ids=str)
def test_a_large_npz_is_refused_by_its_headers(tmp_path, shape, monkeypatch):
    path = tmp_path / "maps.npz"
    np.savez_compressed(path, attn=np.zeros(shape, np.float16), tokens=np.array(["a"] * 5))
    monkeypatch.setattr(np, "load", lambda *_, **__: pytest.fail("it was unpacked"))
    with pytest.raises(CorpusError, match=r"maps\.npz: attn: .* Give floats \[layers, heads, n, n\]"):
        read_maps([path])
