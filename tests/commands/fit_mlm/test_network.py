"""The head and the adapters: fresh, small, and only on the masked positions."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from transformers import BertModel

from headatlas.commands.fit_mlm.corpus import BatchMaker
from headatlas.commands.fit_mlm.network import FitNetwork, encoder_matrices
from headatlas.commands.fit_mlm.run import load_base
from headatlas.commands.fit_mlm.training import Trainer, score, unigram_scores, warm_up
from headatlas.corpora.sampling import rng_of
from headatlas.encoding.template import single_frame
from headatlas.errors import ModelError

FAMILIES = ["bert", "roberta", "distilbert", "albert", "electra", "xlm-roberta", "modernbert", "mpnet", "deberta-v2"]


@pytest.fixture
def make(headless):
    def build(family="bert", seed=0, freeze=False):
        base = load_base(str(headless(family)), None, force=False, trust_remote_code=False)
        network = FitNetwork(base.network, "base", rank=4, alpha=8, freeze=freeze, seed=seed)
        frame = single_frame(base.tokenizer)
        dice = rng_of("pieces")
        pieces = [frame.ids(dice.integers(60, 120, size=size).astype(np.int32)) for size in (20, 9, 3)]
        return network, BatchMaker(base.tokenizer, frame)(pieces, dice)

    return build


@pytest.mark.parametrize("family", FAMILIES)
def test_masked_positions_only_give_the_loss_of_all_logits(make, family):
    network, batch = make(family)
    few = network.masked_logits(batch)
    every = network.network(input_ids=batch.input_ids, attention_mask=batch.mask).logits
    assert few.shape == (len(batch.labels), every.shape[-1])
    labels = torch.full_like(batch.input_ids, -100)
    labels[batch.chosen] = batch.labels
    oracle = torch.nn.functional.cross_entropy(every.flatten(0, 1), labels.flatten(), ignore_index=-100)
    assert torch.nn.functional.cross_entropy(few, batch.labels).item() == pytest.approx(oracle.item(), rel=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("freeze", [False, True])
def test_only_head_and_adapters_learn(make, family, freeze):
    network, batch = make(family, freeze=freeze)
    before = {key: tensor.clone() for key, tensor in network.network.state_dict().items()}
    Trainer(network, 1e-2, 1000).step(batch, 60)
    changed = {key for key, tensor in network.network.state_dict().items() if not torch.equal(tensor, before[key])}
    prefix = network.network.base_model_prefix
    assert all("lora_" in key for key in changed if key.startswith(f"{prefix}."))
    assert any("lora_" in key for key in changed) != freeze
    assert any(".modules_to_save." in key for key in changed)
    assert f"{network.decoder}.bias" in changed
    assert f"{network.decoder}.weight" not in changed
    assert network.network.get_output_embeddings().weight is network.network.get_input_embeddings().weight


def test_a_pooler_gets_no_adapter(tiny_models):
    network = BertModel(tiny_models["bert"]().config)
    names = encoder_matrices(network)
    assert any("pooler" in name for name, _ in network.named_modules())
    assert len(names) == 2 * 6
    assert not any("pooler" in name for name in names)


def test_the_bias_starts_as_log_frequencies(make):
    network, _ = make()
    counts = np.random.default_rng(0).integers(0, 9, size=network.network.config.vocab_size)
    network.set_bias(counts)
    total = sum(int(count) + 1 for count in counts)
    oracle = [np.log((int(count) + 1) / total) for count in counts]
    assert network.network.cls.predictions.bias.tolist() == pytest.approx(oracle, rel=1e-5)
    assert network.network.cls.predictions.decoder.bias is network.network.cls.predictions.bias


def test_the_head_is_drawn_from_the_seed(make):
    weights = [make(seed=seed)[0].learning for seed in (0, 0, 1)]
    dense = "cls.predictions.transform.dense.modules_to_save.default.weight"
    assert all(torch.equal(tensor, weights[1][key]) for key, tensor in weights[0].items())
    assert not torch.equal(weights[0][dense], weights[2][dense])
    assert weights[0][dense].std().item() == pytest.approx(0.02, rel=0.2)


def test_scores_by_hand(make):
    network, batch = make()
    found = score(network, [batch, batch])
    logits = network.masked_logits(batch).detach().numpy()
    ranks = [int((row > row[label]).sum()) for row, label in zip(logits, batch.labels.tolist(), strict=True)]
    assert found.top1 == pytest.approx(np.mean([rank == 0 for rank in ranks]))
    assert found.top5 == pytest.approx(np.mean([rank < 5 for rank in ranks]))
    assert found.masked_tokens == 2 * len(ranks)
    counts = np.zeros(logits.shape[1], int)
    counts[batch.labels[0]] = 50
    unigram = unigram_scores(counts, [batch])
    share = np.mean([label == batch.labels[0] for label in batch.labels])
    assert unigram.top1 == pytest.approx(share)
    seen, unseen = -np.log(51 / (50 + len(counts))), -np.log(1 / (50 + len(counts)))
    assert unigram.loss == pytest.approx(share * seen + (1 - share) * unseen, rel=1e-5)


def test_the_learning_rate_goes_up_and_down():
    assert warm_up(0, 0.06) == 0
    assert warm_up(0.03, 0.06) == pytest.approx(0.5)
    assert warm_up(0.06, 0.06) == pytest.approx(1)
    assert warm_up(0.53, 0.06) == pytest.approx(0.5)
    assert warm_up(1.2, 0.06) == 0


def test_an_untied_decoder_is_refused(save_tiny):
    folder = save_tiny("bert", tie_word_embeddings=False)
    base = load_base(str(folder), None, force=True, trust_remote_code=False)
    with pytest.raises(ModelError, match="tie_word_embeddings"):
        FitNetwork(base.network, "x", rank=4, alpha=8, freeze=False, seed=0)
