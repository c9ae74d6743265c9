"""Translation, or any other rewriting, by an encoder-decoder: how good is what it writes?

The measures are those of the corpus, 0 to 100, by sacrebleu with its own settings: `bleu` (Papineni et al. 2002) and
`chrf` (Popović 2015). Both are computed from counts that are summed over texts (matching n-grams, lengths), so each
text brings its counts, and the score of all is divided among the texts by the jackknife (`jackknife_shares`): the mean
of their shares is the score of the corpus, and resampling shares resamples texts. The loss is the mean negative
log-likelihood of the reference's tokens, each given those before it.

The model writes greedily or with beams, at most LONGEST_RATIO tokens per token of the source and LONGEST_EXTRA more: a
model without one of its heads may otherwise repeat itself until the limit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from headatlas.commands.ablate.options import AblateOptions
from headatlas.commands.ablate.passes import Floats
from headatlas.commands.ablate.task import ExampleBatch, Task
from headatlas.commands.ablate.tasks import NEEDS
from headatlas.commands.ablate.tasks.encoded_texts import encode_texts, pad_texts
from headatlas.commands.ablate.tasks.token_prediction import means_by
from headatlas.commands.shared.options import list_names
from headatlas.corpora.labelled import Translation as TranslatedText
from headatlas.corpora.labelled import read_translations
from headatlas.corpora.sampling import draw
from headatlas.encoding.batches import plan_batches
from headatlas.encoding.masking import IGNORED
from headatlas.errors import ModelError
from headatlas.models.gates import Gates
from headatlas.models.model import Model
from headatlas.models.pretrained import require_package
from headatlas.models.stacks import Stack
from headatlas.statistics.paired import jackknife_shares, shares_beside

LONGEST_RATIO, LONGEST_EXTRA = 2, 10

# A model's other settings remain: the token to begin with, tokens never to write.
_SEARCH = {"do_sample": False, "early_stopping": False, "length_penalty": 1.0, "max_length": None}


def require_sacrebleu() -> Any:
    """The module `sacrebleu`, or how to install it."""
    return require_package("sacrebleu", "Scoring translations", "translation")


class Translation(Task):
    """Texts written by an encoder-decoder, beside their references."""

    name = "translation"
    needs = NEEDS[name]
    measures = ("bleu", "chrf")
    like_loss = "chrf"
    replayable = False
    copyable = True

    @classmethod
    def read(cls, model: Model, files: Mapping[str, list[Path]], options: AblateOptions, _scratch: Path) -> Translation:
        """Make the task from tables of sources and targets."""
        texts = draw(read_translations(files["data"], list_names(options.columns)), options.examples, options.seed)
        sizes = {"max_tokens": options.max_tokens, "batch_tokens": options.batch_tokens}
        return cls(model, texts, **sizes, beams=options.beams)

    def __init__(
        self, model: Model, texts: Sequence[TranslatedText], *, max_tokens: int, batch_tokens: int, beams: int = 1
    ) -> None:
        if model.task_head != "sequence-to-sequence":
            raise ModelError(
                f"The task {self.name} needs an encoder-decoder with its language model head (such as T5ForConditional"
                f"Generation), but {model.name} is {type(model.network).__name__}."
            )
        metrics = require_sacrebleu().metrics
        self._metrics = {"bleu": metrics.BLEU(), "chrf": metrics.CHRF()}
        self._references = {text.id: text.target for text in texts}
        self._beams = beams
        sources, cut_sources = encode_texts(model, [(text.source,) for text in texts], max_tokens)
        targets, cut_targets = encode_texts(model, [(text.target,) for text in texts], max_tokens, written=True)
        self._most_written = {
            text.id: min(max_tokens, LONGEST_RATIO * len(source) + LONGEST_EXTRA)
            for text, source in zip(texts, sources, strict=True)
        }
        batches = []
        for indices in plan_batches(sources, batch_tokens):
            inputs, wanted = (pad_texts(model, segments, indices) for segments in (sources, targets))
            labels = wanted["input_ids"].masked_fill(wanted["attention_mask"] == 0, IGNORED)
            ids = tuple(texts[index].id for index in indices)
            batches.append(ExampleBatch(ids, inputs, torch.arange(len(ids)), {"labels": labels}))
        super().__init__(model, batches, text_cut_to_fit=cut_sources + cut_targets)
        self.about |= {"beams": beams, "sacrebleu": require_sacrebleu().__version__}

    @contextmanager
    def removing(self, gates: Gates, stack: Stack) -> Iterator[None]:
        """Within this context the heads are gated; the beams of a text, which follow one another, share its gates."""

        def change(layer: int, output: Tensor) -> Tensor:
            if gates.inputs is None or len(output) == gates.inputs:
                return gates(layer, output)
            folded = output.reshape(gates.inputs, -1, *output.shape[2:])  # [texts, beams * Q, H, D]
            return gates(layer, folded).view_as(output)

        with self.model.changing_outputs(change, stack):
            yield

    def losses(self, examples: ExampleBatch) -> Tensor:
        """Mean negative log-likelihood of each reference: [E]."""
        labels = examples.targets["labels"]
        logits = self.model.network(**examples.inputs | {"use_cache": False}, labels=labels).logits
        precise = torch.promote_types(logits.dtype, torch.float32)
        losses = cross_entropy(logits.to(precise).transpose(1, 2), labels, reduction="none", ignore_index=IGNORED)
        chosen = labels != IGNORED
        return means_by(losses[chosen], torch.nonzero(chosen)[:, 0], len(examples))

    def scores(self, examples: ExampleBatch) -> Tensor:
        """The counts of each text as it is written, of both measures side by side: [E, counts]."""
        counts = [
            [
                count
                for metric in self._metrics.values()
                for count in metric._extract_corpus_statistics([text], [[self._references[name]]])[0]
            ]
            for name, text in zip(examples.ids, self.write(examples), strict=True)
        ]
        return torch.tensor(counts, dtype=torch.float64, device=self.model.device)

    def write(self, examples: ExampleBatch) -> list[str]:
        """What the model writes for each text."""
        limits = [self._most_written[name] for name in examples.ids]
        written = self.model.network.generate(
            **{name: examples.inputs[name] for name in ("input_ids", "attention_mask")},
            **_SEARCH,
            num_beams=self._beams,
            max_new_tokens=max(limits),
        )
        rows = [row[: 1 + limit] for row, limit in zip(written, limits, strict=True)]  # the first token is given
        return list(self.model.tokenizer.batch_decode(rows, skip_special_tokens=True))

    def pooled(self, scores: Floats, plain: Floats | None = None) -> Floats:
        """Each text's share in BLEU and chrF of all texts, from their counts."""
        sizes = [2 + 2 * self._metrics["bleu"].max_ngram_order]
        shares = []
        for place, metric in enumerate(self._metrics.values()):
            counts, score = np.split(scores, sizes, axis=-1)[place], scorer(metric)
            if plain is None:
                shares.append(jackknife_shares(counts, score))
            else:
                shares.append(shares_beside(counts, np.split(plain, sizes, axis=-1)[place], score))
        return np.stack(shares, axis=-1)


def scorer(metric: Any) -> Callable[[Floats], float]:
    """A metric as a function of the counts of a corpus."""
    return lambda counts: float(metric._compute_score_from_stats([int(count) for count in counts]).score)
