"""Predicting tokens: the masked ones of a masked language model, the next ones of a causal one.

Examples are pre-training style segments. An example's loss is the mean over its predicted tokens, in nats; its scores
are that with the sign turned (`log_likelihood`) and the share of tokens predicted right (`accuracy`). What is masked
depends on the seed and the segment alone, so that all ablations see the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeVar

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from headatlas.commands.ablate.options import ExampleOptions
from headatlas.commands.ablate.task import ExampleBatch, Task
from headatlas.commands.ablate.tasks import NEEDS
from headatlas.corpora.text import read_text
from headatlas.encoding.batches import Batch, iterate_batches, plan_batches
from headatlas.encoding.kinds import kind_table
from headatlas.encoding.masking import IGNORED, Masker
from headatlas.encoding.segments import Segment, sample_segments
from headatlas.errors import ModelError
from headatlas.models.language_model import logits_at
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

    def _outcome(self, examples: ExampleBatch) -> Tensor:
        labels = examples.targets["labels"]
        logits = logits_at(self.model.network, examples.inputs, labels != IGNORED)
        segment, likelihood, right = predicted_tokens(logits, labels)
        return torch.stack([means_by(values, segment, len(examples)) for values in (likelihood, right)], -1)


PredictionT = TypeVar("PredictionT", bound=TokenPrediction)


class MaskedLM(TokenPrediction):
    """Masked tokens (Devlin et al. 2019)."""

    name = "masked-lm"
    needs = NEEDS[name]

    @classmethod
    def read(
        cls, model: Model, files: Mapping[str, list[Path]], options: ExampleOptions, _scratch: Path | None = None
    ) -> MaskedLM:
        """Make the task from segments sampled from a text."""
        batch_tokens, seed = options.batch_tokens, options.seed
        return _read(lambda segments: cls(model, segments, batch_tokens=batch_tokens, seed=seed), model, files, options)

    def __init__(self, model: Model, segments: Sequence[Segment], *, batch_tokens: int, seed: int) -> None:
        require_language_model(model, "masked", self.name)
        masker = Masker(model.tokenizer, seed)

        def examples(batch: Batch) -> ExampleBatch:
            masked = masker(batch)
            return _one_row_each(batch, model.inputs(batch, masked.input_ids), masked.labels)

        super().__init__(model, _batches(model, segments, batch_tokens, examples))


class NextToken(TokenPrediction):
    """Every next token of a text."""

    name = "next-token"
    needs = NEEDS[name]

    @classmethod
    def read(
        cls, model: Model, files: Mapping[str, list[Path]], options: ExampleOptions, _scratch: Path | None = None
    ) -> NextToken:
        """Make the task from segments sampled from a text."""
        return _read(lambda segments: cls(model, segments, batch_tokens=options.batch_tokens), model, files, options)

    def __init__(self, model: Model, segments: Sequence[Segment], *, batch_tokens: int) -> None:
        require_language_model(model, "causal", self.name)
        long_enough = [segment for segment in segments if len(segment) > 1]

        def examples(batch: Batch) -> ExampleBatch:
            return _one_row_each(batch, model.inputs(batch), next_tokens(batch))

        super().__init__(model, _batches(model, long_enough, batch_tokens, examples))
        if shorter := len(segments) - len(long_enough):
            self.left_out = {"segment_of_one_token": shorter}


def _read(
    make: Callable[[Sequence[Segment]], PredictionT],
    model: Model,
    files: Mapping[str, list[Path]],
    options: ExampleOptions,
) -> PredictionT:
    """Make a task from segments sampled from a text."""
    lines = read_text(files["text"], options.format_of("text"))
    sample = sample_segments(
        lines, model.tokenizer, count=options.examples, max_tokens=options.max_tokens, seed=options.seed
    )
    task = make(sample.segments)
    task.left_out = sample.left_out | task.left_out
    task.about |= {"segment_style": sample.style, "segments_available": sample.available}
    return task


def next_tokens(batch: Batch) -> Tensor:
    """What each token is followed by, IGNORED at the last: [B, T]."""
    labels = torch.full_like(batch.input_ids, IGNORED)
    labels[:, :-1] = batch.input_ids[:, 1:].masked_fill(~batch.mask[:, 1:], IGNORED)
    return labels


def _one_row_each(batch: Batch, inputs: dict[str, Tensor], labels: Tensor) -> ExampleBatch:
    names = tuple(segment.id for segment in batch.segments)
    return ExampleBatch(names, inputs, torch.arange(len(names)), {"labels": labels})


def _batches(
    model: Model, segments: Sequence[Segment], batch_tokens: int, make: Callable[[Batch], ExampleBatch]
) -> list[ExampleBatch]:
    plan = plan_batches(segments, batch_tokens)
    batches = iterate_batches(segments, plan, kind_table(model.tokenizer), model.pad_id)
    return [make(batch) for batch in batches]
