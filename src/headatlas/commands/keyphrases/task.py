"""Tagging keyphrases: a fine-tuned model says of each word whether it begins a keyphrase, continues one, or neither.

Scores of a document (or a window of one): the `f1` of the phrases tagged, exact in both ends, against those of the
gold tags, and the mean `log_likelihood` of the gold tags in nats. A word is tagged at its first token. Windows without
a word of a keyphrase have no F1 and are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy

from headatlas.commands.ablate.options import AblateOptions
from headatlas.commands.ablate.task import ExampleBatch, Task
from headatlas.commands.ablate.tasks.token_prediction import means_by
from headatlas.commands.keyphrases import NEEDS
from headatlas.commands.keyphrases.phrases import BEGINS, INSIDE, OUTSIDE, TAGS
from headatlas.commands.keyphrases.reading import read_keyphrases
from headatlas.commands.keyphrases.segments import KeyphraseSegment, keyphrase_segments
from headatlas.corpora.sampling import draw
from headatlas.encoding.batches import Batch, iterate_batches, plan_batches
from headatlas.encoding.masking import IGNORED
from headatlas.encoding.template import SPECIAL
from headatlas.errors import CorpusError, ModelError
from headatlas.models.model import Model

Spans = set[tuple[int, int]]


def word_tags(batch: Batch) -> Tensor:
    """The tag of every counted word at its first token, IGNORED elsewhere: [B, T]."""
    labels = torch.full(batch.mask.shape, IGNORED)
    for row, segment in enumerate(batch.segments):
        if not isinstance(segment, KeyphraseSegment):
            raise TypeError("The batch has segments without tags; encode it with keyphrase_segments.")
        words, firsts = np.unique(segment.words, return_index=True)
        counted = (words != SPECIAL) & segment.counted[words]
        labels[row, torch.from_numpy(firsts[counted])] = torch.from_numpy(segment.tags[words[counted]])
    return labels


def spans_of(tags: NDArray[np.int64]) -> Spans:
    """First word and one past the last of each phrase; a continuation after nothing begins one."""
    spans: Spans = set()
    start = None
    for place, tag in enumerate([*tags.tolist(), OUTSIDE]):
        if start is not None and tag != INSIDE:
            spans.add((start, place))
            start = None
        if tag == BEGINS or (tag == INSIDE and start is None):
            start = place
    return spans


def f1_of_spans(tagged: Spans, gold: Spans) -> float:
    """F1 of phrases that match at both ends; 0 if none does."""
    return 2 * len(tagged & gold) / (len(tagged) + len(gold)) if tagged or gold else 0.0


class KeyphraseTagging(Task):
    """Tags of words by the checkpoint's own head."""

    name = "keyphrases"
    needs = NEEDS[name]
    measures = ("f1", "log_likelihood")
    like_loss = "log_likelihood"

    @classmethod
    def read(
        cls, model: Model, files: Mapping[str, list[Path]], options: AblateOptions, _scratch: Path
    ) -> KeyphraseTagging:
        """Make the task from documents with keyphrases."""
        left_out: Counter[str] = Counter()
        documents = list(read_keyphrases(files["data"], options.format_of("keyphrases"), left_out))
        chosen = draw(documents, options.examples, options.seed)
        encoded = keyphrase_segments(chosen, model.tokenizer, max_tokens=options.max_tokens)
        task = cls(model, encoded.segments, batch_tokens=options.batch_tokens)
        task.left_out = dict(left_out) | encoded.left_out | task.left_out
        task.about |= {"available": len(documents)}
        return task

    def __init__(self, model: Model, segments: Sequence[KeyphraseSegment], *, batch_tokens: int) -> None:
        require_tagger(model)
        tagged = [segment for segment in segments if (segment.tags[segment.counted] != OUTSIDE).any()]
        if not tagged:
            raise CorpusError("No document to tag contains any of its keyphrases.")
        batches = []
        plan = plan_batches(tagged, batch_tokens)
        for batch in iterate_batches(tagged, plan, model.kinds, model.pad_id):
            ids = tuple(segment.id for segment in batch.segments)
            batches.append(ExampleBatch(ids, model.inputs(batch), torch.arange(len(ids)), {"labels": word_tags(batch)}))
        super().__init__(model, batches, window_without_keyphrase=len(segments) - len(tagged))

    def losses(self, examples: ExampleBatch) -> Tensor:
        """Mean negative log-likelihood of each document's tags: [E]."""
        return -self._likelihoods(examples, self._logits(examples))

    def scores(self, examples: ExampleBatch) -> Tensor:
        """F1 of phrases, and mean log-likelihood of tags: [E, 2]."""
        logits, labels = self._logits(examples), examples.targets["labels"]
        tags, gold = logits.argmax(-1).cpu().numpy(), labels.cpu().numpy()
        f1 = []
        for row, wanted in enumerate(gold):
            counted = wanted != IGNORED
            f1.append(f1_of_spans(spans_of(tags[row, counted]), spans_of(wanted[counted])))
        likelihoods = self._likelihoods(examples, logits)
        return torch.stack([torch.tensor(f1, dtype=likelihoods.dtype, device=likelihoods.device), likelihoods], -1)

    def _logits(self, examples: ExampleBatch) -> Tensor:
        logits: Tensor = self.model.network(**examples.inputs).logits
        return logits.to(torch.promote_types(logits.dtype, torch.float32))

    def _likelihoods(self, examples: ExampleBatch, logits: Tensor) -> Tensor:
        labels = examples.targets["labels"]
        counted = labels != IGNORED
        likelihood = -cross_entropy(logits[counted], labels[counted], reduction="none")
        return means_by(likelihood, torch.nonzero(counted)[:, 0], len(examples))


def require_tagger(model: Model) -> None:
    """Refuse a model without a head that gives words the tags of keyphrases."""
    config = model.network.config
    names = tuple(str(config.id2label.get(number)) for number in range(len(TAGS)))
    if model.task_head != "token-classification" or names != TAGS:
        raise ModelError(
            f"The task keyphrases needs a model with the tags {', '.join(TAGS)}, which {model.name} does not have. "
            "Train one: headatlas keyphrases MODEL --train DIR --data DIR --finetune; it is saved in keyphrases/tagger."
        )
