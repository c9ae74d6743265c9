"""Classification of texts or pairs of texts: by a checkpoint's own classifier, or by a linear one trained here.

Where the weights bring no classifier, a logistic regression is trained on the frozen network's output, averaged over
the tokens or taken from the first one, on a part of the data that is then not scored. Scores: `accuracy`, 1 or 0, and
the `log_likelihood` of the right label in nats. The loss is the cross-entropy.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from headatlas.choices import Pooling
from headatlas.commands.ablate.options import AblateOptions
from headatlas.commands.ablate.task import ExampleBatch, Task
from headatlas.commands.ablate.tasks import NEEDS
from headatlas.commands.ablate.tasks.encoded_texts import encode_texts, pad_texts
from headatlas.commands.shared.options import list_names
from headatlas.corpora.labelled import LabelledText, read_labelled
from headatlas.corpora.sampling import draw
from headatlas.encoding.batches import plan_batches
from headatlas.errors import CorpusError, ModelError, SettingError
from headatlas.models.model import Model
from headatlas.progress import stage

WEIGHT_OF_DATA = 0.01  # scikit-learn's C: with standardised features its usual 1 overfits on hundreds of examples
_MOST_ROUNDS = 1000


@dataclass(frozen=True)
class LinearHead:
    """A classifier over the network's output: logits = features @ weight + bias."""

    classes: tuple[str, ...]
    weight: Tensor  # [D, C]
    bias: Tensor  # [C]
    pooling: Pooling


class Classification(Task):
    """Labels of texts."""

    name = "classification"
    needs = NEEDS[name]
    measures = ("accuracy", "log_likelihood")
    like_loss = "log_likelihood"

    @classmethod
    def read(
        cls, model: Model, files: Mapping[str, list[Path]], options: AblateOptions, _scratch: Path
    ) -> Classification:
        """Make the task from tables of texts and labels, and train a classifier if the model brings none."""
        columns = list_names(options.columns)
        sizes = {"max_tokens": options.max_tokens, "batch_tokens": options.batch_tokens}
        texts, training = read_labelled(files["data"], columns), list[LabelledText]()
        has_classifier = model.task_head == "classification"
        if "train" in files and has_classifier:
            raise SettingError(f"--train is given, but {model.name} has a classifier of its own.")
        if "train" in files:
            training = read_labelled(files["train"], columns)
        elif not has_classifier:
            training, texts = split_for_training(texts, options.train_share, options.seed)
        head = train_head(model, training, pooling=options.pooling, **sizes) if training else None
        task = cls(model, draw(texts, options.examples, options.seed), head=head, **sizes)
        task.about |= {"trained_on": len(training), "available": len(texts)}
        return task

    def __init__(
        self,
        model: Model,
        texts: Sequence[LabelledText],
        *,
        max_tokens: int,
        batch_tokens: int,
        head: LinearHead | None = None,
    ) -> None:
        self._head = head
        classes = head.classes if head else own_classes(model)
        numbers = {name: number for number, name in enumerate(classes)}
        for text in texts:
            if text.label not in numbers:
                known = f"unseen in training; known are: {', '.join(classes[:20])}"
                raise CorpusError(f"the label {text.label!r} is {known}.", text.path, text.line)
        if len({text.label for text in texts}) < 2:
            raise CorpusError(f"all {len(texts):,} examples to score have one label. Give examples of at least two.")
        segments, cut = encode_texts(model, [text.texts for text in texts], max_tokens)
        batches = []
        for indices in plan_batches(segments, batch_tokens):
            labels = torch.tensor([numbers[texts[index].label] for index in indices])
            batch = pad_texts(model, segments, indices)
            ids = tuple(texts[index].id for index in indices)
            batches.append(ExampleBatch(ids, batch, torch.arange(len(ids)), {"classes": labels}))
        super().__init__(model, batches, text_cut_to_fit=cut)
        self.about |= {"classes": list(classes), "head": "linear, trained here" if head else "the checkpoint's own"}

    def again(self, files: Mapping[str, list[Path]], options: AblateOptions, _scratch: Path) -> Classification:
        """Classify other texts by the same classifier."""
        texts = read_labelled(files["data"], list_names(options.columns))
        sizes = {"max_tokens": options.max_tokens, "batch_tokens": options.batch_tokens}
        task = type(self)(self.model, draw(texts, options.examples, options.seed), head=self._head, **sizes)
        task.about |= {"trained_on": self.about["trained_on"], "available": len(texts)}
        return task

    def commonest_answer(self) -> Tensor:
        """Whether each text has the commonest label: [E]."""
        classes = torch.cat([batch.targets["classes"] for batch in self.batches])
        return (classes == classes.mode().values).double()

    def tokens_read(self, examples: ExampleBatch) -> Tensor | None:
        if self._head is None:  # what the checkpoint's own classifier reads is not known
            return None
        tokens: Tensor = examples.inputs["attention_mask"].bool()
        if self._head.pooling == "first":
            tokens = tokens & (torch.arange(tokens.shape[1], device=tokens.device) == 0)
        return tokens

    def losses(self, examples: ExampleBatch) -> Tensor:
        """Cross-entropy: [E]."""
        return cross_entropy(self._logits(examples), examples.targets["classes"], reduction="none")

    def scores(self, examples: ExampleBatch) -> Tensor:
        """Whether the right label is the likeliest, and its log-likelihood: [E, 2]."""
        logits, classes = self._logits(examples), examples.targets["classes"]
        right = (logits.argmax(-1) == classes).to(logits.dtype)
        return torch.stack([right, -cross_entropy(logits, classes, reduction="none")], -1)

    def _logits(self, examples: ExampleBatch) -> Tensor:
        if self._head is None:
            logits: Tensor = self.model.network(**examples.inputs).logits
            return logits.to(torch.promote_types(logits.dtype, torch.float32))
        features = features_of(self.model, examples.inputs, self._head.pooling)
        return features @ self._head.weight.to(features) + self._head.bias.to(features)


def own_classes(model: Model) -> tuple[str, ...]:
    """The labels of a checkpoint's own classifier, in its order."""
    config: Any = model.network.config
    if model.task_head != "classification":
        raise ModelError(f"{model.name} has no classifier of its own. Train one: give labelled data with --data.")
    if config.num_labels < 2:
        raise ModelError(f"{model.name} predicts one number for a text, not a class.")
    if model.default_stack == "decoder" and config.get_text_config().pad_token_id is None:
        raise ModelError(f"{model.name} has no padding token, so its classifier cannot read batches.")
    return tuple(str(config.id2label[number]) for number in range(config.num_labels))


def features_of(model: Model, inputs: dict[str, Any], pooling: Pooling) -> Tensor:
    """The bare network's output for each text, at least float32: [B, D]."""
    network: nn.Module = model.network.get_encoder() if model.is_encoder_decoder else model.network.base_model
    states: Tensor = network(**inputs).last_hidden_state  # [B, T, D]
    states = states.to(torch.promote_types(states.dtype, torch.float32))
    if pooling == "first":
        return states[:, 0]
    mask: Tensor = inputs["attention_mask"][..., None].to(states.dtype)
    return (states * mask).sum(1) / mask.sum(1)


def train_head(
    model: Model, texts: Sequence[LabelledText], *, pooling: Pooling, max_tokens: int, batch_tokens: int
) -> LinearHead:
    """Logistic regression with an l2 penalty on the frozen network's output, standardised."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    classes = sorted({text.label for text in texts})
    if len(classes) < 2:
        raise CorpusError(
            f"all {len(texts):,} training examples have one label ({classes[0]}). Give examples of at least two."
        )
    segments, _ = encode_texts(model, [text.texts for text in texts], max_tokens)
    features = torch.zeros(len(texts), model.network.config.get_text_config().hidden_size)
    with torch.inference_mode(), stage("Training a classifier", total=len(segments)) as bar:
        for indices in plan_batches(segments, batch_tokens):
            batch = {
                name: part.to(model.device) if isinstance(part, Tensor) else part
                for name, part in pad_texts(model, segments, indices).items()
            }
            features[indices] = features_of(model, batch, pooling).float().cpu()
            bar.advance(len(indices))
    scaler = StandardScaler().fit(features.numpy())
    labels = [classes.index(text.label) for text in texts]
    fitted = LogisticRegression(C=WEIGHT_OF_DATA, max_iter=_MOST_ROUNDS).fit(scaler.transform(features.numpy()), labels)
    weight = torch.from_numpy(fitted.coef_ / scaler.scale_).float().T  # [D, C or 1]
    bias = torch.from_numpy(fitted.intercept_).float() - torch.from_numpy(scaler.mean_).float() @ weight
    if len(classes) == 2:  # one column for the second class
        weight, bias = torch.cat([torch.zeros_like(weight), weight], 1), torch.cat([torch.zeros_like(bias), bias])
    return LinearHead(tuple(classes), weight, bias, pooling)


def split_for_training(
    texts: Sequence[LabelledText], share: float, seed: int
) -> tuple[list[LabelledText], list[LabelledText]]:
    """A part to train on, in which every label occurs, and the rest."""
    training = set(_chosen(texts, share, seed))
    rest = [text for text in texts if text.id not in training]
    if not rest:
        raise CorpusError(f"{len(texts)} examples are too few to train on some and score on others.")
    return [text for text in texts if text.id in training], rest


def _chosen(texts: Sequence[LabelledText], share: float, seed: int) -> Iterator[str]:
    for label in Counter(text.label for text in texts):
        ids = sorted(text.id for text in texts if text.label == label)
        yield from random.Random(f"{seed} train {label}").sample(ids, max(1, round(share * len(ids))))
