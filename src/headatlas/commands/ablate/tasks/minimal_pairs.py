"""Minimal pairs: does the model find the acceptable sentence likelier than the other? (Warstadt et al. 2020)

A sentence's log-likelihood is the sum over its tokens; for a masked model the pseudo-log-likelihood, each token masked
in turn in an input of its own (Salazar et al. 2020). A causal model's first token is predicted only after a start
token, and what it predicts before the sentences differ is left out, since it is the same for both. Scores: `accuracy`,
1 where the good sentence is likelier, one half where both are alike; `margin`, the difference in nats. The loss is that
of choosing between the two, softplus(-margin).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import softplus

from headatlas.commands.ablate.options import AblateOptions
from headatlas.commands.ablate.task import ExampleBatch, Task
from headatlas.commands.ablate.tasks import NEEDS
from headatlas.commands.ablate.tasks.token_prediction import predicted_tokens, require_language_model
from headatlas.commands.shared.options import list_names
from headatlas.corpora.minimal_pairs import MinimalPair, read_minimal_pairs
from headatlas.corpora.sampling import draw
from headatlas.encoding.batches import make_batch, plan_batches
from headatlas.encoding.masking import IGNORED
from headatlas.encoding.segments import Segment
from headatlas.encoding.template import Frame, single_frame
from headatlas.errors import CorpusError, ModelError
from headatlas.models.language_model import logits_at, next_tokens
from headatlas.models.model import Model


class MinimalPairs(Task):
    """Which of two sentences is likelier."""

    name = "minimal-pairs"
    needs = NEEDS[name]
    measures = ("accuracy", "margin")
    like_loss = "margin"

    @classmethod
    def read(
        cls, model: Model, files: Mapping[str, list[Path]], options: AblateOptions, _scratch: Path
    ) -> MinimalPairs:
        """Make the task from files of pairs."""
        pairs = draw(read_minimal_pairs(files["pairs"], list_names(options.sets)), options.examples, options.seed)
        return cls(model, pairs, max_tokens=options.max_tokens, batch_tokens=options.batch_tokens)

    def __init__(self, model: Model, pairs: Sequence[MinimalPair], *, max_tokens: int, batch_tokens: int) -> None:
        if model.language_model is None:
            require_language_model(model, "masked", self.name)
        masked = model.language_model == "masked"
        if masked and model.tokenizer.mask_token_id is None:
            raise ModelError(f"The tokenizer of {model.name} has no mask token, which pseudo-log-likelihoods need.")
        frame = single_frame(model.tokenizer)
        encoded = [_Pair(pair, model, frame) for pair in pairs]
        fitting = [pair for pair in encoded if pair.longest <= max_tokens]
        if not fitting:
            raise CorpusError(f"All {len(pairs):,} minimal pairs are longer than {max_tokens} tokens.")
        # a pair's size in the plan is that of all its rows, so that a batch holds whole pairs
        plan = plan_batches([range(pair.tokens(masked)) for pair in fitting], batch_tokens)
        rows = _masked_rows if masked else _causal_rows
        batches = [rows(model, frame, [fitting[index] for index in indices]) for indices in plan]
        super().__init__(model, batches, pair_too_long=len(encoded) - len(fitting))
        self.about["sets"] = len({pair.id.rpartition(".")[0] for pair in pairs})

    def commonest_answer(self) -> Tensor:
        """One half for every pair: [E]."""
        return torch.full((len(self.ids),), 0.5, dtype=torch.float64)

    def tokens_read(self, examples: ExampleBatch) -> Tensor:
        return examples.targets["labels"] != IGNORED

    def losses(self, examples: ExampleBatch) -> Tensor:
        """softplus(-margin): [E]."""
        return softplus(-self._margins(examples))

    def scores(self, examples: ExampleBatch) -> Tensor:
        """Whether the good sentence is likelier, and by how much: [E, 2]."""
        margins = self._margins(examples)
        return torch.stack([(margins.sign() + 1) / 2, margins], -1)

    def _margins(self, examples: ExampleBatch) -> Tensor:
        labels = examples.targets["labels"]
        logits = logits_at(self.model.network, examples.inputs, labels != IGNORED)
        row, likelihood, _ = predicted_tokens(logits, labels)
        signed = likelihood * examples.targets["signs"][row]
        return torch.zeros(len(examples), dtype=signed.dtype, device=signed.device).index_add(
            0, examples.rows[row], signed
        )


class _Pair:
    """A pair's sentences as segments, the good one first."""

    def __init__(self, pair: MinimalPair, model: Model, frame: Frame) -> None:
        self.id = pair.id
        self.segments = []
        for text in (pair.good, pair.bad):
            encoded = model.tokenizer(text, add_special_tokens=False, truncation=False, verbose=False)
            ids = np.asarray(encoded["input_ids"], dtype=np.int32)
            if not len(ids):
                raise CorpusError(f"The minimal pair {pair.id} has a sentence that turns into no tokens: {text!r}.")
            self.segments.append(
                Segment(pair.id, frame.ids(ids), frame.type_ids(ids), frame.words(np.arange(len(ids), dtype=np.int32)))
            )

    @property
    def longest(self) -> int:
        return max(map(len, self.segments))

    def tokens(self, masked: bool) -> int:
        """Tokens of all its rows, all as long as the longest."""
        return self.longest * (sum(map(len, self.segments)) if masked else 2)


def _causal_rows(model: Model, _frame: Frame, pairs: Sequence[_Pair]) -> ExampleBatch:
    segments = [segment for pair in pairs for segment in pair.segments]
    batch = make_batch(segments, model.kinds, model.pad_id)
    signs = torch.tensor([1.0, -1.0]).repeat(len(pairs))
    rows = torch.arange(len(pairs)).repeat_interleave(2)
    of_good, of_bad = batch.input_ids.view(len(pairs), 2, -1).unbind(1)
    alike = (of_good == of_bad).cummin(1).values.repeat_interleave(2, 0)  # [R, T]: up to here, nothing differs
    labels = next_tokens(batch)
    labels[:, :-1].masked_fill_(alike[:, 1:], IGNORED)
    targets = {"labels": labels, "signs": signs}
    return ExampleBatch(tuple(pair.id for pair in pairs), model.inputs(batch), rows, targets)


def _masked_rows(model: Model, frame: Frame, pairs: Sequence[_Pair]) -> ExampleBatch:
    """A row for each token of each sentence, with that token masked."""
    inputs = [
        (segment, place, number, sign)
        for number, pair in enumerate(pairs)
        for sign, segment in zip((1.0, -1.0), pair.segments, strict=True)
        for place in range(len(frame.before), len(segment) - len(frame.after))
    ]
    segments, places, rows, signs = zip(*inputs, strict=True)
    batch = make_batch(segments, model.kinds, model.pad_id)
    at = torch.arange(len(places)), torch.tensor(places)
    labels = torch.full_like(batch.input_ids, IGNORED)
    labels[at] = batch.input_ids[at]
    ids = batch.input_ids.clone()
    ids[at] = model.tokenizer.mask_token_id
    targets = {"labels": labels, "signs": torch.tensor(signs)}
    return ExampleBatch(tuple(pair.id for pair in pairs), model.inputs(batch, ids), torch.tensor(rows), targets)
