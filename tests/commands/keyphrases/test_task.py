"""Tagging keyphrases as a task: spans and scores against plain loops, and training from end to end."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import headatlas as ha
from headatlas.commands.keyphrases.phrases import TAGS
from headatlas.commands.keyphrases.reading import read_keyphrases
from headatlas.commands.keyphrases.segments import keyphrase_segments
from headatlas.commands.keyphrases.task import KeyphraseTagging, f1_of_spans, spans_of
from headatlas.errors import ModelError, SettingError
from tests.commands.keyphrases.made_up import corpus


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return corpus(tmp_path_factory.mktemp("data") / "data.jsonl", 3)


@pytest.fixture(scope="module")
def tuned(tiny_folder, data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tuned")
    other = corpus(folder / "train.jsonl", 6, start=1)
    quick = {"bootstrap": 20, "device": "cpu", "progress": False, "max_tokens": 64, "heads": ["1-1"]}
    quick |= {"finetune": True, "epochs": 100, "rate": 1e-2}
    return ha.keyphrases(
        str(tiny_folder("bert")),
        train=other,
        data=data,
        out=folder / "out",
        **quick,
    )


@given(st.lists(st.integers(0, 2), max_size=12))
def test_spans_are_those_that_a_reader_of_tags_sees(tags):
    text = "".join(TAGS[tag] for tag in tags)
    spans = spans_of(np.array(tags, dtype=np.int64))
    inside = {word for start, end in spans for word in range(start, end)}
    assert inside == {word for word, tag in enumerate(text) if tag != "O"}
    starts = {
        word for word, tag in enumerate(text) if tag == "B" or (tag == "I" and (word == 0 or text[word - 1] == "O"))
    }
    assert {start for start, _ in spans} == starts


def test_f1_counts_exact_phrases():
    assert f1_of_spans({(0, 2), (3, 4)}, {(0, 2), (3, 5)}) == 0.5
    assert f1_of_spans(set(), {(0, 1)}) == 0.0


def test_a_model_learns_to_tag_and_is_ablated_and_pruned(tuned):
    table = tuned.tables["keyphrase_taggers"].set_index("tagger")
    assert table.loc["whole", "f1"] > 0.8
    assert (table.loc["whole", "heads"], table.loc["pruned", "heads"]) == (8, 7)
    ablation = ha.open_results(tuned.folder / "ablation")
    assert set(ablation.tables) == {"ablation", "importance", "removal_curve", "removable_heads"}
    assert set(ablation.tables["ablation"]["measure"]) == {"f1", "log_likelihood"}
    assert (tuned.manifest["tagger"]["trained_on"], tuned.manifest["tagger"]["held_back"]) == (20, 4)


def test_scores_are_those_of_single_documents(tuned, data):
    model = ha.load_model(str(tuned.folder / "tagger"), device="cpu", task_head="token-classification")
    segments = keyphrase_segments(read_keyphrases([data]), model.tokenizer, max_tokens=64).segments[:3]
    task = KeyphraseTagging(model, segments, batch_tokens=200)
    with torch.inference_mode():
        (batch,) = task.batches
        scores, losses = task.scores(batch), task.losses(batch)
    np.testing.assert_allclose(losses, -scores[:, 1])
    for name, (f1, likelihood) in zip(batch.ids, scores.tolist(), strict=True):
        segment = next(one for one in segments if one.id == name)
        inputs = {"input_ids": torch.from_numpy(segment.ids[None].astype(np.int64))}
        with torch.inference_mode():
            logits = model.network(**inputs).logits[0].log_softmax(-1)
        firsts = [list(segment.words).index(word) for word in range(segment.size)]
        tags = logits[firsts].argmax(-1).numpy()
        gold = segment.tags
        assert f1 == pytest.approx(f1_of_spans(spans_of(tags), spans_of(gold)))
        own = np.mean([logits[place, tag].item() for place, tag in zip(firsts, gold, strict=True)])
        assert likelihood == pytest.approx(own, abs=1e-4)


def test_what_is_no_tagger_is_refused(tiny_folder, data, tmp_path):
    with pytest.raises(ModelError, match="needs a model with the tags O, B, I"):
        ha.ablate(
            str(tiny_folder("bert")), task="keyphrases", data=data, out=tmp_path / "out", device="cpu", max_tokens=64
        )
    with pytest.raises(SettingError, match="read --data each"):
        ha.ablate("x", task=["keyphrases", "classification"], data=data, out=tmp_path / "out")
