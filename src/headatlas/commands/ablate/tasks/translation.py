"""Translation, or any other rewriting, by an encoder-decoder: how good is what it writes?

The model writes greedily. Scores are those of single sentences, 0 to 100, by sacrebleu: `chrf` (Popović 2015) and
`bleu` with effective order. Their means are not the corpus-level figures of the same name. The loss is the mean
negative log-likelihood of the reference's tokens, each given those before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from headatlas.commands.ablate.options import AblateOptions
from headatlas.commands.ablate.task import ExampleBatch, Task
from headatlas.commands.ablate.tasks import NEEDS
from headatlas.commands.ablate.tasks.encoded_texts import encode_texts, pad_texts
from headatlas.commands.ablate.tasks.token_prediction import means_by
from headatlas.commands.shared.options import list_names
from headatlas.corpora.sampling import draw
from headatlas.corpora.translations import Translation as TranslatedText
from headatlas.corpora.translations import read_translations
from headatlas.encoding.batches import plan_batches
from headatlas.encoding.masking import IGNORED
from headatlas.errors import ModelError
from headatlas.models.model import Model
from headatlas.models.pretrained import require_package

# A model's other settings remain: the token to begin with, tokens never to write.
_GREEDILY = {"num_beams": 1, "do_sample": False, "early_stopping": False, "length_penalty": 1.0, "max_length": None}


def require_sacrebleu() -> Any:
    """The module `sacrebleu`, or how to install it."""
    return require_package("sacrebleu", "Scoring translations", "translation")


class Translation(Task):
    """Texts written by an encoder-decoder, beside their references."""

    name = "translation"
    needs = NEEDS[name]
    measures = ("chrf", "bleu")
    like_loss = "chrf"
    replayable = False

    @classmethod
    def read(cls, model: Model, files: Mapping[str, list[Path]], options: AblateOptions, _scratch: Path) -> Translation:
        """Make the task from tables of sources and targets."""
        texts = draw(read_translations(files["data"], list_names(options.columns)), options.examples, options.seed)
        return cls(model, texts, max_tokens=options.max_tokens, batch_tokens=options.batch_tokens)

    def __init__(self, model: Model, texts: Sequence[TranslatedText], *, max_tokens: int, batch_tokens: int) -> None:
        if model.task_head != "sequence-to-sequence":
            raise ModelError(
                f"The task {self.name} needs an encoder-decoder with its language model head (such as T5ForConditional"
                f"Generation), but {model.name} is {type(model.network).__name__}."
            )
        metrics = require_sacrebleu().metrics
        self._metrics = (metrics.CHRF(), metrics.BLEU(effective_order=True))
        self._references = {text.id: text.target for text in texts}
        self._most_written = max_tokens
        sources, cut_sources = encode_texts(model, [(text.source,) for text in texts], max_tokens)
        targets, cut_targets = encode_texts(model, [(text.target,) for text in texts], max_tokens, written=True)
        batches = []
        for indices in plan_batches(sources, batch_tokens):
            inputs, wanted = (pad_texts(model, segments, indices) for segments in (sources, targets))
            labels = wanted["input_ids"].masked_fill(wanted["attention_mask"] == 0, IGNORED)
            ids = tuple(texts[index].id for index in indices)
            batches.append(ExampleBatch(ids, inputs, torch.arange(len(ids)), {"labels": labels}))
        super().__init__(model, batches, text_cut_to_fit=cut_sources + cut_targets)

    def losses(self, examples: ExampleBatch) -> Tensor:
        """Mean negative log-likelihood of each reference: [E]."""
        labels = examples.targets["labels"]
        logits = self.model.network(**examples.inputs | {"use_cache": False}, labels=labels).logits
        precise = torch.promote_types(logits.dtype, torch.float32)
        losses = cross_entropy(logits.to(precise).transpose(1, 2), labels, reduction="none", ignore_index=IGNORED)
        chosen = labels != IGNORED
        return means_by(losses[chosen], torch.nonzero(chosen)[:, 0], len(examples))

    def scores(self, examples: ExampleBatch) -> Tensor:
        """chrF and BLEU of each text as it is written: [E, 2]."""
        names = ("input_ids", "attention_mask")
        written = self.model.network.generate(
            **{name: examples.inputs[name] for name in names},
            **_GREEDILY,
            max_new_tokens=self._most_written,
        )
        texts = self.model.tokenizer.batch_decode(written, skip_special_tokens=True)
        scores = [
            [metric.sentence_score(text, [self._references[name]]).score for metric in self._metrics]
            for name, text in zip(examples.ids, texts, strict=True)
        ]
        return torch.tensor(scores, device=self.model.device)
