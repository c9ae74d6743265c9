"""How much attention every word of a document receives from every head.

A word split into tokens receives what its tokens do together (or the largest of them, where the largest weight is asked
for). The mean of a column is given times the number of rows that can attend to it: 1 is what a token would receive if
all attended evenly to all, whatever the length of the window. Of a document in windows each word is taken from one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headatlas.commands.keyphrases.key_words import Document
from headatlas.commands.keyphrases.segments import KeyphraseSegment, text_windows
from headatlas.encoding.batches import Batch, make_batch, plan_batches
from headatlas.encoding.template import SPECIAL
from headatlas.engine.progress import TokenProgress
from headatlas.engine.run_folder import UNSAVED, Arrays, RunPart
from headatlas.errors import CorpusError
from headatlas.models.model import Model
from headatlas.models.stacks import Stack
from headatlas.statistics.received import POOLINGS, ROWS, received

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

WordWeights = NDArray[np.float32]  # [words, heads]


def encode_documents(
    documents: Sequence[Document], tokenizer: PreTrainedTokenizerBase, max_tokens: int, left_out: Counter[str]
) -> list[KeyphraseSegment]:
    """The windows of all documents; CorpusError if there are none."""
    ids, texts = [document.id for document in documents], [document.words for document in documents]
    segments = list(text_windows(ids, texts, tokenizer, max_tokens, left_out))
    if not segments:
        raise CorpusError("The documents turn into no tokens. Does this model's tokenizer know their script?")
    return segments


def word_weights(
    model: Model,
    documents: Sequence[Document],
    segments: Sequence[KeyphraseSegment],
    *,
    pooling: str,
    rows: str,
    stack: Stack,
    batch_tokens: int,
    run: RunPart = UNSAVED,
    progress: bool = False,
) -> list[WordWeights]:
    """Of every document, what each word receives from each head (layer after layer), 0 where a word has no token.

    segments: the windows of the documents. run: saves what each batch gives.
    """
    heads = model.shapes[stack].total
    weights_of = {document.id: np.zeros((len(document.words), heads), np.float32) for document in documents}
    form = ROWS.index(rows) * len(POOLINGS) + POOLINGS.index(pooling)

    def observe(indices: Sequence[int]) -> Arrays:
        batch = make_batch([segments[index] for index in indices], model.kinds, model.pad_id).to(model.device)
        weights = torch.cat(_received(model, batch, form, pooling, stack), 1).cpu().numpy()  # [B, heads, W]
        return {
            str(index): of_segment[:, np.flatnonzero(segments[index].counted)].T
            for index, of_segment in zip(indices, weights, strict=True)
        }

    description = f"{model.name}: attention received"
    with TokenProgress(description, sum(map(len, segments)), show=progress) as bar:
        for number, indices in enumerate(plan_batches(segments, batch_tokens)):
            received_by = run.compute_once(f"batch-{number:05}", partial(observe, indices))
            for index in indices:
                segment = segments[index]
                words = segment.first + np.flatnonzero(segment.counted)
                weights_of[segment.document][words] = received_by[str(index)]
            bar.advance(sum(len(segments[index]) for index in indices))
    return [weights_of[document.id] for document in documents]


def _received(model: Model, batch: Batch, form: int, pooling: str, stack: Stack) -> list[Tensor]:
    """What the words of a batch receive, a layer each: [B, H, W]."""
    words = torch.full(batch.mask.shape, SPECIAL, dtype=torch.int64)
    for row, segment in enumerate(batch.segments):
        words[row, : len(segment)] = torch.from_numpy(segment.words.astype(np.int64))
    text = (words != SPECIAL).to(batch.mask.device)
    size = int(words.max()) + 1
    slots = torch.where(words == SPECIAL, size, words).to(batch.mask.device)
    causal = stack == "decoder"
    seen = text if form >= len(POOLINGS) else batch.mask
    attending = seen.flip(1).cumsum(1).flip(1) if causal else seen.sum(1, keepdim=True).expand_as(seen)
    layers: list[Tensor] = []

    def see(_layer: int, weights: Tensor, _mask: Tensor | None) -> None:
        tokens = received(weights, batch.mask, text, causal)[:, :, form]  # [B, H, T]
        if pooling == "mean":
            tokens = tokens * attending[:, None].to(tokens.dtype)
        into = tokens.new_zeros((*tokens.shape[:2], size + 1))
        places = slots[:, None].expand_as(tokens)
        how = "sum" if pooling == "mean" else "amax"
        layers.append(into.scatter_reduce(2, places, tokens, how)[..., :size].float())

    model.observe(batch, see, stack)
    return layers
