"""Translation: corpus scores, their shares and resampling against sacrebleu; beams, copies, limits and the table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import sacrebleu
import torch
import transformers

from headatlas.commands.ablate.findings import head_findings, score_table
from headatlas.commands.ablate.options import AblateOptions
from headatlas.commands.ablate.passes import HeadRemoval, find_replacement
from headatlas.commands.ablate.task_run import run_task
from headatlas.commands.ablate.tasks.translation import LONGEST_EXTRA, LONGEST_RATIO, Translation
from headatlas.corpora.labelled import Translation as TranslatedText
from headatlas.engine.run_folder import UNSAVED
from headatlas.models.loading import load_model
from headatlas.models.observing import observe_network
from headatlas.statistics.paired import paired_changes
from headatlas.statistics.resampling import percentile_interval, poisson_weights

ROWS = [("the dog ran", "the old dog"), ("she sat by the river and", "they saw"), ("a cat", "a little cat")]
TEXTS = [TranslatedText(f"0.{number}", *row) for number, row in enumerate(ROWS)]
OPTIONS = AblateOptions("marian", task="translation", data="a.tsv", bootstrap=99, curves=False, progress=False)


class _TwoWayTokenizer(transformers.ByT5Tokenizer):
    """Slow, and reads what is written in capitals: as Marian's, which has a tokenizer for each language."""

    written = False

    def _switch_to_target_mode(self):
        self.written = True

    def _switch_to_input_mode(self):
        self.written = False

    def _tokenize(self, text):
        return super()._tokenize(text.upper() if self.written else text)


@pytest.fixture(scope="module")
def marian():
    """A tiny Marian with random weights and a slow tokenizer."""
    torch.manual_seed(0)
    tokenizer = _TwoWayTokenizer()
    sides = {f"{side}_{name}": size for side in ("encoder", "decoder") for name, size in SIZES.items()}
    tokens = {"pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0, "forced_eos_token_id": 1}
    config = transformers.MarianConfig(
        vocab_size=len(tokenizer), d_model=32, max_position_embeddings=128, init_std=0.6, **sides, **tokens
    )
    network = transformers.MarianMTModel(config)
    settings = {"max_length": 512, "num_beams": 4, "early_stopping": True, "length_penalty": 2.0}
    network.generation_config.update(**settings)
    return observe_network(network.eval(), tokenizer, task_head="sequence-to-sequence")


SIZES = {"layers": 2, "attention_heads": 4, "ffn_dim": 48}


def counts_of(task):
    with torch.no_grad():
        return torch.cat([task.scores(batch) for batch in task.batches]).numpy()


@pytest.mark.parametrize(("family", "changes"), [("t5", {"num_decoder_layers": 2}), ("bart", {})])
def test_the_scores_are_those_of_the_corpus(family, changes, save_tiny):
    model = load_model(str(save_tiny(family, **changes)), device="cpu", task_head="sequence-to-sequence")
    task = Translation(model, TEXTS, max_tokens=12, batch_tokens=64)
    with torch.no_grad():
        losses = dict(zip(task.ids, torch.cat([task.losses(batch) for batch in task.batches]).tolist(), strict=True))
    said = {}
    for text in TEXTS:
        inputs = model.tokenizer(text.source, return_tensors="pt", return_token_type_ids=False)
        written = model.network.generate(**inputs, max_new_tokens=12, num_beams=1, do_sample=False)
        said[text.id] = model.tokenizer.batch_decode(written, skip_special_tokens=True)[0]
        labels = torch.tensor([model.tokenizer(text.target)["input_ids"]])
        with torch.no_grad():
            assert losses[text.id] == pytest.approx(float(model.network(**inputs, labels=labels).loss), abs=1e-4)
    texts, references = list(said.values()), [[text.target for text in TEXTS]]
    bleu, chrf = task.pooled(counts_of(task)).mean(0)
    assert task.measures == ("bleu", "chrf")
    assert bleu == pytest.approx(sacrebleu.corpus_bleu(texts, references).score)
    assert chrf == pytest.approx(sacrebleu.corpus_chrf(texts, references).score)


def made_translations(rng, count=80):
    """References, and what two systems write: one word in five wrong, and one in three."""
    words = [f"w{number}" for number in range(60)]
    references = [[words[word] for word in rng.integers(0, 60, size=rng.integers(6, 16))] for _ in range(count)]

    def spoiled(share):
        return [" ".join("x" if rng.random() < share else word for word in words) for words in references]

    return [" ".join(words) for words in references], spoiled(0.2), spoiled(0.33)


def test_resampled_shares_agree_with_sacrebleu_on_resampled_corpora(marian):
    references, before, after = made_translations(np.random.default_rng(0))
    texts = [TranslatedText(f"0.{number}", "a", text) for number, text in enumerate(references)]
    task = Translation(marian, texts, max_tokens=12, batch_tokens=100_000)
    place = {f"0.{number}": number for number in range(len(texts))}
    counts = []
    for system in (before, after):
        task.write = lambda batch, system=system: [system[place[name]] for name in batch.ids]
        counts.append(counts_of(task))
    changes = task.pooled(counts[1][:, None], counts[0])[:, 0] - task.pooled(counts[0])
    order = [place[name] for name in task.ids]
    corpora = [[[system[number] for number in order] for system in (before, after)], [references[n] for n in order]]
    tested = paired_changes(changes, task.ids, seed=0, resamplings=400)
    for column, metric in enumerate((sacrebleu.BLEU(), sacrebleu.CHRF())):

        def change_of(drawn, metric=metric):
            wanted = [[corpora[1][number] for number in drawn]]
            first, second = (
                metric.corpus_score([system[number] for number in drawn], wanted).score for system in corpora[0]
            )
            return second - first

        everything = range(len(order))
        assert tested.mean[column] == pytest.approx(change_of(everything))
        weights = poisson_weights(task.ids, 150, 0)
        drawn = [change_of(np.repeat(everything, weights[:, replicate])) for replicate in range(150)]
        low, high = percentile_interval(np.array(drawn), len(order))
        width = high - low
        assert abs(tested.low[column] - low) < 0.15 * width
        assert abs(tested.high[column] - high) < 0.15 * width


def test_a_slow_tokenizer_does_and_nothing_warns(marian, caplog):
    texts = [TranslatedText("0.0", "a dog", "ein Hund"), TranslatedText("0.1", "the cats", "die Katzen")]
    transformers.logging.enable_propagation()
    try:
        task = Translation(marian, texts, max_tokens=12, batch_tokens=64)
        counts_of(task)
    finally:
        transformers.logging.disable_propagation()
    assert caplog.messages == []
    tokenizer = marian.tokenizer
    labels = task.batches[0].targets["labels"]
    assert tokenizer.batch_decode(labels.clamp_min(0), skip_special_tokens=True) == ["DIE KATZEN", "EIN HUND"]
    inputs = task.batches[0].inputs["input_ids"]
    assert tokenizer.batch_decode(inputs, skip_special_tokens=True) == ["the cats", "a dog"]


@pytest.mark.parametrize("beams", [1, 3])
@pytest.mark.parametrize("stack", ["encoder", "decoder", "cross"])
@pytest.mark.parametrize("kind", ["zero", "mean"])
def test_heads_removed_together_in_copies_are_those_removed_alone(kind, stack, beams, marian):
    task = Translation(marian, TEXTS, max_tokens=24, batch_tokens=4096, beams=beams)
    replacement = find_replacement(task, kind, stack, 0)
    heads = marian.shapes[stack].places
    plain, together = HeadRemoval(task, stack, replacement, 4096).scores(heads)
    _, alone = HeadRemoval(task, stack, replacement, 1).scores(heads)
    assert (together == alone).all()
    assert (together != plain[:, None]).any(), "some head matters, so that the comparison can fail"


def test_a_text_is_at_most_twice_its_source_whatever_its_batch(marian):
    limits = {text.id: LONGEST_RATIO * (len(text.source) + 1) + LONGEST_EXTRA for text in TEXTS}
    together = Translation(marian, TEXTS, max_tokens=60, batch_tokens=4096)
    alone = Translation(marian, TEXTS, max_tokens=60, batch_tokens=1)
    written = {}
    for task in (together, alone):
        with torch.no_grad():
            rows = [pair for batch in task.batches for pair in zip(batch.ids, task.write(batch), strict=True)]
        for name, text in rows:
            assert written.setdefault(name, text) == text
            assert len(text.encode()) <= limits[name]


def test_a_network_with_random_weights_has_no_head_that_is_named(marian):
    words = ["the", "old", "dog", "ran", "by", "a", "river", "and", "she", "saw", "their", "little", "cat", "sit"]
    rng = np.random.default_rng(0)
    rows = [(" ".join(rng.choice(words, 4)), " ".join(rng.choice(words, 5))) for _ in range(24)]
    texts = [TranslatedText(f"0.{number}", *row) for number, row in enumerate(rows)]
    task = Translation(marian, texts, max_tokens=40, batch_tokens=4096)
    result = run_task(task, "cross", [], OPTIONS, UNSAVED)
    bleu = result.tables["ablation"].query("measure == 'bleu'")
    assert [finding.heads for finding in head_findings(result.tables["ablation"], result.summary)] == [()]
    assert not any("*" in line for line in list(score_table(bleu))[1:-1])


def test_the_table_has_the_shape_of_the_lectures():
    places = [(layer, head) for layer in (1, 2) for head in (1, 2, 3)][:-1]
    rows = pd.DataFrame(places, columns=["layer", "head"]).assign(
        measure="bleu", change=[0.01, -0.31, 0.2, -12.0, 0.0], p_value=[0.5, 0.009, 0.01, 0.001, 1.0], count=32
    )
    rows = rows.assign(score=36.05 + rows["change"], low=rows["change"] - 1, high=rows["change"] + 1)
    assert [line.rstrip() for line in score_table(rows)] == [
        "change of BLEU without each head, 36.05 with all of them:",
        "layer      1       2       3",
        "    1  +0.01   -0.31*  +0.20",
        "    2 -12.00*  +0.00",
        "* p < 0.01, corrected for 5 heads; texts resampled: 32",
    ]
