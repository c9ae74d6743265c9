"""Predicting tokens: the masked ones of a masked language model, the next ones of a causal one.

Examples are pre-training style segments. An example's loss is the mean over its predicted tokens, in nats; its scores
are that with the sign turned (`log_likelihood`) and the share of tokens predicted right (`accuracy`). What is masked
depends on the seed and the segment alone, so that all ablations see the same.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from headatlas.commands.ablate.options import ExampleOptions
from headatlas.commands.ablate.task import ExampleBatch, Task
from headatlas.commands.ablate.tasks import NEEDS
from headatlas.corpora.text import read_text
from headatlas.encoding.batches import Batch, iterate_batches, plan_batches
from headatlas.encoding.masking import IGNORED, Masker
from headatlas.encoding.segments import Segment, document_of, sample_segments
from headatlas.errors import ModelError
from headatlas.models.language_model import logits_at, next_tokens
from headatlas.models.model import Model


def require_language_model(model: Model, kind: Literal["masked", "causal"], task: str) -> None:
    """Refuse a model without the head that a task needs."""
    if model.language_model == kind:
        return
    has, remedy = "a model without a language model head", ""
    if model.is_encoder_decoder:
        has = f"an encoder-decoder ({model.network.config.model_type})"
        remedy = " For such a model there is --task translation."
    elif model.language_model:
        has = f"a {model.language_model} language model"
    elif kind == "masked":
        remedy = " Fit one with `headatlas fit-mlm`."
    raise ModelError(f"The task {task} needs a {kind} language model, but {model.name} is {has}.{remedy}")


def predicted_tokens(logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Row, log-likelihood and rightness of every labelled token, N of them.

    logits: [N, V], of the tokens whose label is not IGNORED, in reading order; labels: [R, T].
    """
    chosen = labels != IGNORED
    wanted = labels[chosen]
    precise = torch.promote_types(logits.dtype, torch.float32)
    likelihood = -cross_entropy(logits.to(precise), wanted, reduction="none")
    return torch.nonzero(chosen)[:, 0], likelihood, (logits.argmax(-1) == wanted).to(precise)


def means_by(values: Tensor, groups: Tensor, count: int) -> Tensor:
    """The mean of the values in each of `count` groups, 0 where it has none: [count]."""
    sums = torch.zeros(count, dtype=values.dtype, device=values.device).index_add(0, groups, values)
    sizes = torch.bincount(groups, minlength=count).clamp_min(1)
    return sums / sizes


class TokenPrediction(Task):
    """Masked or next tokens of segments."""

    measures = ("log_likelihood", "accuracy")
    like_loss = "log_likelihood"

    def losses(self, examples: ExampleBatch) -> Tensor:
        """Mean negative log-likelihood of each segment's predicted tokens: [E]."""
        return -self._outcome(examples)[:, 0]

    def scores(self, examples: ExampleBatch) -> Tensor:
        """Mean log-likelihood and share right: [E, 2]."""
        return self._outcome(examples)

    def tokens_read(self, examples: ExampleBatch) -> Tensor:
        return examples.targets["labels"] != IGNORED

    def commonest_answer(self) -> Tensor:
        """The share of each segment's predicted tokens that are the commonest of all: [E]."""
        labels = [batch.targets["labels"] for batch in self.batches]
        commonest = torch.cat([part[part != IGNORED] for part in labels]).mode().values
        shares = [
            means_by((part[part != IGNORED] == commonest).double(), torch.nonzero(part != IGNORED)[:, 0], len(part))
            for part in labels
        ]
        return torch.cat(shares)

    def _outcome(self, examples: ExampleBatch) -> Tensor:
        labels = examples.targets["labels"]
        logits = logits_at(self.model.network, examples.inputs, labels != IGNORED)
        segment, likelihood, right = predicted_tokens(logits, labels)
        return torch.stack([means_by(values, segment, len(examples)) for values in (likelihood, right)], -1)


Encode = Callable[[Batch], tuple[dict[str, Any], Tensor]]
"""Makes the network's inputs of a batch, and the labels: [B, T]."""


class SegmentPrediction(TokenPrediction):
    """Tokens of segments that are sampled from a text."""

    language_model: ClassVar[Literal["masked", "causal"]]
    shortest: ClassVar[int] = 1  # tokens of a segment

    @classmethod
    def read(
        cls, model: Model, files: Mapping[str, list[Path]], options: ExampleOptions, _scratch: Path | None = None
    ) -> Self:
        """Make the task from segments sampled from a text."""
        lines = read_text(files["text"], options.format_of("text"))
        sample = sample_segments(
            lines, model.tokenizer, count=options.examples, max_tokens=options.max_tokens, seed=options.seed
        )
        task = cls(model, sample.segments, batch_tokens=options.batch_tokens, seed=options.seed)
        task.left_out = sample.left_out | task.left_out
        task.about |= {"segment_style": sample.style, "segments_available": sample.available}
        return task

    def __init__(self, model: Model, segments: Sequence[Segment], *, batch_tokens: int, seed: int = 0) -> None:
        require_language_model(model, self.language_model, self.name)
        encode = self.encoder(model, seed)
        long_enough = [segment for segment in segments if len(segment) >= self.shortest]
        batches = []
        for batch in iterate_batches(long_enough, plan_batches(long_enough, batch_tokens), model.kinds, model.pad_id):
            inputs, labels = encode(batch)
            ids = tuple(segment.id for segment in batch.segments)
            documents = tuple(map(document_of, batch.segments))
            batches.append(ExampleBatch(ids, inputs, torch.arange(len(ids)), {"labels": labels}, documents))
        super().__init__(model, batches, segment_of_one_token=len(segments) - len(long_enough))

    @staticmethod
    @abstractmethod
    def encoder(model: Model, seed: int) -> Encode:
        """Return what hides the tokens to predict."""


class MaskedLM(SegmentPrediction):
    """Masked tokens (Devlin et al. 2019)."""

    name = "masked-lm"
    needs = NEEDS[name]
    language_model = "masked"

    @staticmethod
    def encoder(model: Model, seed: int) -> Encode:
        masker = Masker(model.tokenizer, seed)

        def encode(batch: Batch) -> tuple[dict[str, Any], Tensor]:
            masked = masker(batch)
            return model.inputs(batch, masked.input_ids), masked.labels

        return encode


class NextToken(SegmentPrediction):
    """Every next token of a text."""

    name = "next-token"
    needs = NEEDS[name]
    language_model = "causal"
    shortest = 2

    @staticmethod
    def encoder(model: Model, _seed: int) -> Encode:
        return lambda batch: (model.inputs(batch), next_tokens(batch))
