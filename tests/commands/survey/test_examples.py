"""Examples are short, of every corpus, the same for the same seed, and their maps are the model's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from headatlas.commands.survey.examples import MOST_BYTES, choose_example, choose_examples, make_example
from headatlas.corpora.coreference.mentions import Mention, MentionDocument
from headatlas.corpora.treebanks.sentence import ROOT, Sentence
from headatlas.encoding.batches import make_batch
from headatlas.encoding.mention_segments import mention_segments
from headatlas.encoding.segments import Segment
from headatlas.encoding.template import SPECIAL
from headatlas.encoding.word_segments import parsed_segments, shorten
from headatlas.engine.corpora import Corpus
from headatlas.engine.corpora.coreference import shorten_mentions
from headatlas.views.figures.sentence import all_maps
from random_maps import segment

RELATIONS = ["det", "obj", "amod", "nsubj"]


def sentence(number: int, relation: str, size: int = 5) -> Sentence:
    words = ("the", "old", "man", "saw", "water", *["dog"] * (size - 5))
    relations = ("root", *[relation] * (size - 1))
    return Sentence(f"0.0.{number}", Path("t"), 1, words, (ROOT, *[0] * (size - 1)), relations, ("",) * size)


def document(number: int) -> MentionDocument:
    words = ("the", "old", "man", "saw", "a", "dog", ".", "he", "ran", ".", *["water"] * 60)
    mentions = (
        Mention(0, 3, 2, "man", "nominal"),
        Mention(7, 8, 7, "man", "pronoun"),
        Mention(60, 61, 60, "w", "nominal"),
    )
    return MentionDocument(f"0.{number}", Path("t"), 1, words, ("",) * len(words), (0, 7, 10), mentions)


@pytest.fixture
def corpora(load_tiny, segments_for):
    tokenizer = load_tiny("bert").tokenizer
    trees = [sentence(number, "rare" if number == 7 else RELATIONS[number % 2]) for number in range(20)]
    trees.append(sentence(20, "long", 60))
    parsed = parsed_segments(trees, tokenizer, max_tokens=64)
    mentions = mention_segments([document(number) for number in range(5)], tokenizer, max_tokens=64)
    segments = {"text": segments_for(tokenizer), "treebank": parsed.segments, "coreference": mentions.segments}
    about = {"treebank": {"relations": parsed.relations}}
    return {kind: Corpus(of_kind, about.get(kind, {})) for kind, of_kind in segments.items()}


def test_the_first_example_is_the_one_that_fits_a_picture_best():
    segments = [segment([0] * n, f"0.{n}.0") for n in (90, 3, 24, 60)]
    assert len(choose_example("text", segments)) == 24
    assert len(choose_example("text", segments[:1])) == 28
    assert len(choose_example("text", segments[1:2])) == 3


def test_shortening_keeps_the_frame_and_the_start_of_both_spans():
    words = np.array([SPECIAL, *range(50), SPECIAL, *range(50, 60), SPECIAL], dtype=np.int32)
    ids = np.arange(len(words), dtype=np.int32)
    short = shorten(Segment("0.0.0", ids, np.zeros_like(ids), words), 23)
    assert short.ids.tolist() == [0, *range(1, 11), 51, *range(52, 62), 62]


def test_mentions_are_cut_after_a_sentence(corpora):
    long = corpora["coreference"].segments[0]
    short = shorten_mentions(long, 20)
    assert short.text[-1] == "."
    assert short.size == len(short.tags) == 10
    assert [mention.head for mention in short.mentions] == [2, 7]
    assert set(short.words.tolist()) == {SPECIAL, *range(10)}
    assert shorten_mentions(short, 20) is short


def test_every_corpus_has_a_share_and_a_new_relation_comes_first(corpora):
    chosen = choose_examples(corpora, 9, seed=0, heads=144)
    assert {kind: len(segments) for kind, segments in chosen.items()} == {"text": 3, "treebank": 3, "coreference": 3}
    assert all(len(one) <= 36 for segments in chosen.values() for one in segments)
    relations = corpora["treebank"].about["relations"]
    seen = {relations[number] for one in chosen["treebank"] for number in one.relations}
    assert seen == {"root", "rare", "det", "obj"}  # `long` is too long


def test_a_small_corpus_leaves_its_share_to_the_others(corpora):
    chosen = choose_examples(corpora, 1000, seed=0, heads=144)
    assert {kind: len(segments) for kind, segments in chosen.items()} == {"text": 3, "treebank": 20, "coreference": 5}
    assert choose_examples(corpora, 1, seed=0, heads=144)["treebank"] == []


@pytest.mark.parametrize("heads", [1_024, 30_000, 10_000_000])
def test_examples_of_very_many_heads_are_fewer(corpora, heads):
    """They are the first of those that fewer heads would have, and as many as fit; one is always chosen."""
    every, fewer = (choose_examples(corpora, 1000, seed=0, heads=number) for number in (1, heads))
    size = sum(2 * heads * len(one) ** 2 for segments in fewer.values() for one in segments)
    number = sum(map(len, fewer.values()))
    assert size <= MOST_BYTES or number == 1
    assert {1_024: number == 28, 30_000: 1 < number < 28, 10_000_000: number == 1}[heads]
    for kind, segments in fewer.items():
        assert [one.id for one in segments] == [one.id for one in every[kind][: len(segments)]]


def test_the_same_seed_chooses_the_same(corpora):
    first, again, other = (
        [one.id for one in choose_examples({"treebank": corpora["treebank"]}, 8, seed=seed, heads=144)["treebank"]]
        for seed in (0, 0, 1)
    )
    assert first == again != other


def test_maps_words_and_gold_belong_together(load_tiny, corpora):
    model = load_tiny("bert")
    chosen = [
        (kind, one) for kind, segments in choose_examples(corpora, 9, seed=0, heads=144).items() for one in segments
    ]
    examples = []
    for corpus, one in chosen:
        maps = all_maps(model, make_batch([one], model.kinds, model.pad_id), "encoder")
        example = make_example(model, corpus, corpora[corpus], one, maps)
        examples.append(example)
        assert example.corpus == corpus
        assert model.tokenizer.convert_tokens_to_ids(example.tokens) == one.ids.tolist()
        ids, types = (torch.from_numpy(part.astype(np.int64))[None] for part in (one.ids, one.type_ids))
        network = model.network
        with torch.inference_mode():
            maps = network.base_model(input_ids=ids, token_type_ids=types, output_attentions=True).attentions
        np.testing.assert_allclose(example.maps, torch.cat(maps).numpy(), atol=1e-5)
        assert (example.tree is not None, bool(example.mentions)) == (corpus == "treebank", corpus == "coreference")
    assert examples[3].tree.heads[0] == ROOT
    assert examples[0].words[:2] == ("they", "have")
