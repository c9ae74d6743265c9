"""Batches give what single passes give, on whatever side the tokenizer would pad."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
import torch
import transformers

from headatlas.commands.ablate.tasks.classification import Classification
from headatlas.commands.ablate.tasks.translation import Translation
from headatlas.corpora.labelled import LabelledText
from headatlas.corpora.labelled import Translation as TranslatedText
from headatlas.models.observing import observe_network

CLOSE = {"atol": 2e-5, "rtol": 1e-4}
TEXTS = ("the old man saw a little dog, and the dog ran.", "she sat by the river.", "they have not been there")


def padding_left(tokenizer):
    changed = copy.deepcopy(tokenizer)
    changed.padding_side = "left"
    changed.pad_token = changed.pad_token or changed.eos_token
    changed(list(TEXTS), padding="max_length", max_length=60)  # what a user did before
    return changed


def observed(model, batch):
    maps, states = [], []
    model.observe(batch, lambda _layer, weights, _mask: maps.append(weights.clone()), see_states=states.extend)
    return maps, [state.clone() for state in states]


def check_rows(model, batch_for):
    batch = batch_for(model, TEXTS)
    assert batch.mask[:, 0].all()
    maps, states = observed(model, batch)
    for row, segment in enumerate(batch.segments):
        length = len(segment)
        alone_maps, alone_states = observed(model, batch_for(model, segments=[segment]))
        for ours, theirs in zip(maps, alone_maps, strict=True):
            torch.testing.assert_close(ours[row, :, :length, :length], theirs[0], **CLOSE)
        for ours, theirs in zip(states, alone_states, strict=True):
            torch.testing.assert_close(ours[row, :length], theirs[0], **CLOSE)


@pytest.mark.parametrize("family", ["gpt2", "opt", "llama", "gemma2", "gpt-oss", "roberta", "xlnet"])
def test_a_tokenizer_that_pads_on_the_left(tiny_models, tokenizer_of, batch_for, family):
    styles = {"opt": "roberta", "roberta": "roberta", "xlnet": "roberta"}
    tokenizer = padding_left(tokenizer_of(styles.get(family, "gpt2")))
    check_rows(observe_network(tiny_models[family](), tokenizer), batch_for)


def test_a_classifier_over_a_decoder_finds_the_last_token(tokenizer_of):
    tokenizer = padding_left(tokenizer_of("gpt2"))
    sizes = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64, "bos_token_id": 0, "eos_token_id": 0}
    config = transformers.GPT2Config(vocab_size=len(tokenizer), pad_token_id=7, num_labels=2, **sizes)
    torch.manual_seed(0)
    network = transformers.GPT2ForSequenceClassification(config).eval()
    torch.nn.init.normal_(network.score.weight)
    model = observe_network(network, tokenizer, task_head="classification")
    texts = [
        LabelledText(f"0.{number}", Path(), 1, (text,), f"LABEL_{number % 2}") for number, text in enumerate(TEXTS)
    ]
    task = Classification(model, texts, max_tokens=64, batch_tokens=1000)
    (batch,) = task.batches
    with torch.no_grad():
        losses = dict(zip(batch.ids, task.losses(batch).tolist(), strict=True))
        for text in texts:
            inputs = tokenizer(*text.texts, return_tensors="pt", return_token_type_ids=False)
            expected = -network(**inputs).logits.log_softmax(-1)[0, int(text.label[-1])]
            assert losses[text.id] == pytest.approx(float(expected), abs=1e-5)


def test_translations_do_not_depend_on_the_side(tiny_models, tokenizer_of):
    texts = [TranslatedText(f"0.{number}", text, TEXTS[0]) for number, text in enumerate(TEXTS)]
    scores = []
    for tokenizer in (tokenizer_of("roberta"), padding_left(tokenizer_of("roberta"))):
        model = observe_network(tiny_models["bart"](), tokenizer, task_head="sequence-to-sequence")
        together = Translation(model, texts, max_tokens=24, batch_tokens=1000)
        alone = Translation(model, texts, max_tokens=24, batch_tokens=1)
        for task in (together, alone):
            with torch.no_grad():
                rows = torch.cat([task.scores(batch) for batch in task.batches]).tolist()
            scores.append(dict(zip(task.ids, rows, strict=True)))
    assert scores[0] == scores[1] == scores[2] == scores[3]
