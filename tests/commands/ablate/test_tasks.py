"""The tasks against slow loops: each example alone, each token by hand."""

from __future__ import annotations

import pytest
import torch
import transformers

from headatlas.commands.ablate.tasks.classification import Classification, features_of, split_for_training, train_head
from headatlas.commands.ablate.tasks.minimal_pairs import MinimalPairs
from headatlas.commands.ablate.tasks.token_prediction import MaskedLM, NextToken
from headatlas.commands.ablate.tasks.translation import Translation
from headatlas.corpora.labelled import LabelledText
from headatlas.corpora.minimal_pairs import MinimalPair
from headatlas.encoding.masking import IGNORED, Masker
from headatlas.errors import CorpusError, ModelError
from headatlas.models.loading import load_model

PAIRS = [
    MinimalPair("one.0", "the dog ran.", "the dog dog."),
    MinimalPair("one.1", "she sat by the river.", "she sat by river the river."),
    MinimalPair("one.2", "they were there", "they was there"),
]


def by_id(task, values):
    return dict(zip(task.ids, values, strict=True))


def all_scores(task):
    with torch.no_grad():
        return by_id(task, torch.cat([task.scores(batch) for batch in task.batches]).tolist())


def all_losses(task):
    with torch.no_grad():
        return by_id(task, torch.cat([task.losses(batch) for batch in task.batches]).tolist())


def test_masked_tokens_by_hand(load_tiny, segments_for, batch_for):
    model = load_tiny("bert")
    segments = segments_for(model.tokenizer)
    task = MaskedLM(model, segments, batch_tokens=40, seed=3)
    assert len(task.batches) > 1
    scores = all_scores(task)
    for segment in segments:
        batch = batch_for(model, segments=[segment])
        masked = Masker(model.tokenizer, 3)(batch)
        with torch.no_grad():
            logits = model.network(**model.inputs(batch, masked.input_ids)).logits[0].log_softmax(-1)
        places = [place for place, label in enumerate(masked.labels[0]) if label != IGNORED]
        likelihood = [float(logits[place, masked.labels[0, place]]) for place in places]
        right = [float(logits[place].argmax() == masked.labels[0, place]) for place in places]
        expected = [sum(likelihood) / len(places), sum(right) / len(places)]
        assert scores[segment.id] == pytest.approx(expected, abs=1e-4)
        assert all_losses(task)[segment.id] == pytest.approx(-expected[0], abs=1e-4)


def test_next_tokens_by_hand(load_tiny, segments_for, batch_for):
    model = load_tiny("gpt2")
    segments = segments_for(model.tokenizer)
    scores = all_scores(NextToken(model, segments, batch_tokens=200))
    for segment in segments:
        batch = batch_for(model, segments=[segment])
        with torch.no_grad():
            logits = model.network(**model.inputs(batch)).logits[0].log_softmax(-1)
        following = [float(logits[place, segment.ids[place + 1]]) for place in range(len(segment) - 1)]
        assert scores[segment.id][0] == pytest.approx(sum(following) / len(following), abs=1e-4)


def test_the_commonest_answer_by_hand(load_tiny, segments_for, classifier):
    model = load_tiny("bert")
    masked = MaskedLM(model, segments_for(model.tokenizer), batch_tokens=40, seed=3)
    tokens = [
        [label for label in row if label != IGNORED]
        for batch in masked.batches
        for row in batch.targets["labels"].tolist()
    ]
    flat = [token for row in tokens for token in row]
    commonest = min(set(flat), key=lambda token: (-flat.count(token), token))
    assert masked.commonest_answer().tolist() == pytest.approx([row.count(commonest) / len(row) for row in tokens])
    texts = texts_of(("the dog ran", "dog"), ("a cat sat", "cat"), ("she sat", "cat"))
    task = Classification(classifier, texts, max_tokens=20, batch_tokens=100)
    assert by_id(task, task.commonest_answer().tolist()) == {text.id: float(text.label == "cat") for text in texts}
    assert MinimalPairs(model, PAIRS, max_tokens=20, batch_tokens=100).commonest_answer().tolist() == [0.5] * 3


def test_segments_of_one_token_are_counted(load_tiny, segments_for):
    model = load_tiny("gpt2")
    task = NextToken(model, segments_for(model.tokenizer, ["a", "the dog ran"]), batch_tokens=200)
    assert task.left_out == {"segment_of_one_token": 1}
    assert len(task.ids) == 1


@pytest.mark.parametrize("family", ["bert", "gpt2"])
def test_margins_of_minimal_pairs_by_hand(family, load_tiny):
    model = load_tiny(family)
    task = MinimalPairs(model, PAIRS, max_tokens=64, batch_tokens=500)
    scores, losses = all_scores(task), all_losses(task)
    for pair in PAIRS:
        margin = _likelihood(model, pair.good) - _likelihood(model, pair.bad)
        assert scores[pair.id] == pytest.approx([float(margin > 0), margin], abs=1e-3)
        assert losses[pair.id] == pytest.approx(float(torch.nn.functional.softplus(torch.tensor(-margin))), abs=1e-3)


def test_what_both_sentences_predict_alike_is_left_out_of_causal_pairs(load_tiny):
    model = load_tiny("gpt2")
    alike = MinimalPair("two.0", "the dog ran.", "the dog ran.")  # as if its unknown words were the same tokens
    prefix = MinimalPair("two.1", "she sat by", "she sat by the river.")
    task = MinimalPairs(model, [PAIRS[0], alike, prefix], max_tokens=64, batch_tokens=500)
    (batch,) = task.batches
    tokens = [model.tokenizer(text)["input_ids"] for text in (PAIRS[0].good, PAIRS[0].bad)]
    first = next(place for place, (good, bad) in enumerate(zip(*tokens, strict=False)) if good != bad)
    read = dict(zip(batch.ids, task.tokens_read(batch).view(3, 2, -1), strict=True))
    for row, ids in zip(read["one.0"], tokens, strict=True):
        assert row.nonzero()[:, 0].tolist() == list(range(first - 1, len(ids) - 1))
    assert not read["two.0"].any()
    assert not read["two.1"][0].any()
    assert all_scores(task)["two.0"] == [0.5, 0.0]
    margin = _likelihood(model, prefix.good) - _likelihood(model, prefix.bad)
    assert all_scores(task)["two.1"] == pytest.approx([float(margin > 0), margin], abs=1e-3)
    only = MinimalPairs(model, [alike], max_tokens=64, batch_tokens=500)
    assert all_scores(only)["two.0"] == [0.5, 0.0]


def _likelihood(model, text):
    ids = torch.tensor(model.tokenizer(text)["input_ids"])
    total = 0.0
    with torch.no_grad():
        if model.language_model == "causal":
            logits = model.network(input_ids=ids[None]).logits[0].log_softmax(-1)
            return sum(float(logits[place, ids[place + 1]]) for place in range(len(ids) - 1))
        for place in range(1, len(ids) - 1):
            masked = ids.clone()
            masked[place] = model.tokenizer.mask_token_id
            total += float(model.network(input_ids=masked[None]).logits[0, place].log_softmax(-1)[ids[place]])
    return total


def test_long_pairs_are_counted(load_tiny):
    task = MinimalPairs(load_tiny("bert"), PAIRS, max_tokens=6, batch_tokens=500)
    assert task.left_out == {"pair_too_long": 1 + (len(PAIRS) - len(task.ids) - 1)}
    with pytest.raises(CorpusError, match="All 3 minimal pairs are longer than 3 tokens"):
        MinimalPairs(load_tiny("bert"), PAIRS, max_tokens=3, batch_tokens=500)


def texts_of(*rows):
    return [
        LabelledText(f"0.{number}", "data.tsv", number + 2, (text,), label) for number, (text, label) in enumerate(rows)
    ]


SUBJECTS = texts_of(
    *((f"the {one} {two} by the river", "dog") for one in ("old dog", "big dog") for two in ("ran", "sat", "ate")),
    *((f"a {one} {two} in the house", "cat") for one in ("little cat", "red cat") for two in ("was", "saw", "had")),
)


@pytest.mark.parametrize("pooling", ["mean", "first"])
def test_a_linear_head_learns_and_scores_as_the_library_does(pooling, load_tiny):
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    model = load_tiny("bert")
    head = train_head(model, SUBJECTS, pooling=pooling, max_tokens=32, batch_tokens=64)
    task = Classification(model, SUBJECTS, max_tokens=32, batch_tokens=64, head=head)
    scores = all_scores(task)
    features = []
    with torch.no_grad():
        for text in SUBJECTS:
            encoded = model.tokenizer(text.texts[0], return_tensors="pt")
            features.append(features_of(model, dict(encoded), pooling)[0].numpy())
    scaled = StandardScaler().fit_transform(features)
    labels = [text.label for text in SUBJECTS]
    library = LogisticRegression(C=0.01, max_iter=1000).fit(scaled, labels)
    for text, row in zip(SUBJECTS, library.predict_log_proba(scaled), strict=True):
        assert scores[text.id][1] == pytest.approx(row[list(library.classes_).index(text.label)], abs=1e-3)
        assert all_losses(task)[text.id] == pytest.approx(-scores[text.id][1], abs=1e-5)
    right = sum(score for score, _ in scores.values())
    assert right == (library.predict(scaled) == labels).sum() > len(SUBJECTS) / 2


def test_a_linear_head_in_double_precision(tiny_folder):
    model = load_model(str(tiny_folder("bert")), device="cpu", dtype="float64")
    head = train_head(model, SUBJECTS, pooling="mean", max_tokens=32, batch_tokens=64)
    task = Classification(model, SUBJECTS, max_tokens=32, batch_tokens=64, head=head)
    assert task.losses(task.batches[0]).dtype == torch.float64


def test_mean_pooling_leaves_padding_out(load_tiny, batch_for):
    model = load_tiny("bert")
    batch = batch_for(model)
    with torch.no_grad():
        states = model.network.base_model(**model.inputs(batch)).last_hidden_state
        pooled = features_of(model, model.inputs(batch), "mean")
    for row, length in enumerate(batch.lengths.tolist()):
        torch.testing.assert_close(pooled[row], states[row, :length].mean(0), atol=1e-5, rtol=1e-4)


@pytest.fixture(scope="module")
def classifier(tiny_models, tokenizer_of, tmp_path_factory):
    folder = tmp_path_factory.mktemp("classifier")
    config = tiny_models["bert"]().config
    config.id2label, config.label2id = {0: "cat", 1: "dog", 2: "bird"}, {"cat": 0, "dog": 1, "bird": 2}
    transformers.BertForSequenceClassification(config).eval().save_pretrained(folder)
    tokenizer_of("wordpiece").save_pretrained(folder)
    return load_model(str(folder), device="cpu", task_head="classification")


def test_a_checkpoint_with_its_own_classifier(classifier):
    assert classifier.task_head == "classification"
    task = Classification(classifier, SUBJECTS, max_tokens=32, batch_tokens=64)
    assert task.about["classes"] == ["cat", "dog", "bird"]
    scores = all_scores(task)
    for text in SUBJECTS:
        with torch.no_grad():
            logits = classifier.network(**classifier.tokenizer(text.texts[0], return_tensors="pt")).logits[0]
        number = {"cat": 0, "dog": 1}[text.label]
        expected = [float(logits.argmax() == number), float(logits.log_softmax(-1)[number])]
        assert scores[text.id] == pytest.approx(expected, abs=1e-4)


def test_the_classifier_is_loaded_only_where_there_is_one(tiny_folder):
    assert load_model(str(tiny_folder("bert")), device="cpu", task_head="classification").task_head is None


def test_labels_unseen_and_one_class_data_are_refused(classifier, load_tiny):
    with pytest.raises(CorpusError, match=r"data.tsv, line 3: the label 'fish' is unseen in training"):
        Classification(classifier, texts_of(("a", "cat"), ("b", "fish")), max_tokens=32, batch_tokens=64)
    one = texts_of(("a", "cat"), ("b", "cat"), ("c", "cat"))
    with pytest.raises(CorpusError, match="3 examples to score have one label"):
        Classification(classifier, one, max_tokens=32, batch_tokens=64)
    with pytest.raises(CorpusError, match=r"have one label \(cat\). Give examples of at least two"):
        train_head(load_tiny("bert"), one, pooling="mean", max_tokens=32, batch_tokens=64)


def test_the_part_to_train_on_has_every_label():
    rows = texts_of(*((str(number), "rare" if number == 7 else "usual") for number in range(40)))
    training, rest = split_for_training(rows, 0.5, seed=1)
    assert {text.label for text in training} == {"rare", "usual"}
    assert sorted(text.id for text in [*training, *rest]) == sorted(text.id for text in rows)
    assert (training, rest) == split_for_training(rows, 0.5, seed=1)
    with pytest.raises(CorpusError, match="too few"):
        split_for_training(rows[7:8], 0.5, seed=1)


def test_texts_too_long_are_cut_and_counted(load_tiny):
    head = train_head(load_tiny("bert"), SUBJECTS, pooling="mean", max_tokens=32, batch_tokens=64)
    task = Classification(load_tiny("bert"), SUBJECTS, max_tokens=7, batch_tokens=64, head=head)
    assert task.left_out == {"text_cut_to_fit": len(SUBJECTS)}
    assert max(batch.inputs["input_ids"].shape[1] for batch in task.batches) == 7


@pytest.mark.parametrize(
    ("family", "make", "problem"),
    [
        ("gpt2", lambda model: MaskedLM(model, [], batch_tokens=9, seed=0), "needs a masked language model"),
        ("bert", lambda model: NextToken(model, [], batch_tokens=9), "needs a causal language model"),
        ("bert", lambda model: Classification(model, SUBJECTS, max_tokens=9, batch_tokens=9), "no classifier"),
        ("bert", lambda model: Translation(model, [], max_tokens=9, batch_tokens=9), "needs an encoder-decoder"),
    ],
)
def test_a_model_without_the_needed_head_is_refused(family, make, problem, load_tiny):
    with pytest.raises(ModelError, match=problem):
        make(load_tiny(family))


def test_a_model_without_any_head_has_no_minimal_pairs(save_tiny):
    model = load_model(str(save_tiny("bert", head=False)), device="cpu")
    with pytest.raises(ModelError, match=r"without a language model head\. Fit one"):
        MinimalPairs(model, PAIRS, max_tokens=64, batch_tokens=500)


@pytest.mark.parametrize("family", ["t5", "bart"])
def test_an_encoder_decoder_is_told_what_it_is(family, load_tiny):
    with pytest.raises(ModelError, match=rf"is an encoder-decoder \({family}\)\. .* --task translation"):
        MaskedLM(load_tiny(family), [], batch_tokens=9, seed=0)
