"""How much attention every word of a document receives from every head.

A word split into tokens receives what its tokens do together (or the largest of them, where the largest weight is asked
for). The mean of a column is given times the number of rows that can attend to it: 1 is what a token would receive if
all attended evenly to all, whatever the length of the window. Of a document in windows each word is taken from one.
`uniform_weights` gives the same for a head that attends evenly to all that it may see: a control without a model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headatlas.commands.keyphrases.phrases import Document, tag_words
from headatlas.commands.keyphrases.ranking import HeadRanking
from headatlas.commands.keyphrases.segments import KeyphraseSegment, text_windows
from headatlas.encoding.batches import Batch, make_batch, plan_batches
from headatlas.encoding.template import SPECIAL
from headatlas.engine.run_folder import UNSAVED, Arrays, RunPart
from headatlas.errors import CorpusError
from headatlas.models.model import Model
from headatlas.models.stacks import Stack
from headatlas.progress import stage
from headatlas.statistics.received import POOLINGS, ROWS, received
from headatlas.wording import counted

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

WordWeights = NDArray[np.float32]  # [words, heads]
Floats = NDArray[np.float64]


def encode_documents(
    documents: Sequence[Document], tokenizer: PreTrainedTokenizerBase, max_tokens: int, left_out: Counter[str]
) -> list[KeyphraseSegment]:
    """The windows of all documents, their words tagged; CorpusError if there are none."""
    ids, texts = [document.id for document in documents], [document.words for document in documents]
    tags = [tag_words(document.words, document.gold)[0] for document in documents]
    segments = list(text_windows(ids, texts, tokenizer, max_tokens, left_out, tags))
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
    ranking: HeadRanking | None = None,
) -> list[WordWeights]:
    """Of every document, what each word receives from each head (layer after layer), 0 where a word has no token.

    segments: the windows of the documents. run: saves what each batch gives. ranking: measures heads on the way.
    """
    weights_of = _no_weights(documents, model.shapes[stack].total)
    causal = stack == "decoder"

    def observe(indices: Sequence[int]) -> Arrays:
        batch = make_batch([segments[index] for index in indices], model.kinds, model.pad_id).to(model.device)
        words = _words(batch)
        text = (words != SPECIAL).to(batch.mask.device)
        layers: list[Tensor] = []
        model.observe(batch, lambda _, weights, __: layers.append(received(weights, batch.mask, text, causal)), stack)
        seen = batch.mask if rows == "all" else text
        attending = seen.flip(1).cumsum(1).flip(1) if causal else seen.sum(1, keepdim=True).expand_as(seen)
        form = ROWS.index(rows) * len(POOLINGS) + POOLINGS.index(pooling)
        of_words = torch.cat([_sum_words(layer[:, :, form], words, attending, pooling) for layer in layers], 1)
        arrays = {
            str(index): of_segment[:, np.flatnonzero(segments[index].counted)].T
            for index, of_segment in zip(indices, of_words.cpu().numpy(), strict=True)
        }
        return arrays | (ranking.measure(batch, layers) if ranking else {})

    description = f"Weighing the words of {counted(len(documents), 'document')}"
    with stage(description, sum(map(len, segments))) as bar:
        for number, indices in enumerate(plan_batches(segments, batch_tokens)):
            arrays = run.compute_once(f"batch-{number:05}", partial(observe, indices))
            for index in indices:
                weights_of[segments[index].document][_counted(segments[index])] = arrays[str(index)]
            if ranking:
                ranking.add([segments[index].document for index in indices], arrays)
            bar.advance(sum(len(segments[index]) for index in indices))
    return [weights_of[document.id] for document in documents]


def uniform_weights(
    documents: Sequence[Document], segments: Sequence[KeyphraseSegment], *, pooling: str, rows: str, stack: Stack
) -> list[Floats]:
    """Of every document, what each word would receive if all tokens attended evenly to all they see: [words]."""
    weights_of = _no_weights(documents, 1)
    for segment in segments:
        size, text = len(segment), segment.words != SPECIAL
        share = 1 / np.arange(1, size + 1) if stack == "decoder" else np.full(size, 1 / size)
        given = np.where(text | (rows == "all"), share, 0.0)[::-1]  # by each row to each token that it sees
        pool = np.add if pooling == "mean" else np.maximum
        columns = pool.accumulate(given)[::-1] if stack == "decoder" else np.full(size, pool.reduce(given))
        of_words = np.zeros(len(segment.text))
        pool.at(of_words, segment.words[text], columns[text])
        weights_of[segment.document][_counted(segment), 0] = of_words[segment.counted]
    return [weights_of[document.id][:, 0].astype(np.float64) for document in documents]


def _sum_words(tokens: Tensor, words: Tensor, attending: Tensor, pooling: str) -> Tensor:
    """What words receive of what their tokens do: [B, H, W]. tokens: [B, H, T]; words, attending: [B, T]."""
    size = int(words.max()) + 1
    slots = torch.where(words == SPECIAL, size, words).to(tokens.device)[:, None].expand_as(tokens)
    if pooling == "mean":
        tokens = tokens * attending[:, None].to(tokens.dtype)
    into = tokens.new_zeros((*tokens.shape[:2], size + 1))
    return into.scatter_reduce(2, slots, tokens, "sum" if pooling == "mean" else "amax")[..., :size].float()


def _no_weights(documents: Iterable[Document], heads: int) -> dict[str, WordWeights]:
    return {document.id: np.zeros((len(document.words), heads), np.float32) for document in documents}


def _counted(segment: KeyphraseSegment) -> NDArray[np.int64]:
    """The numbers, in the document, of the words that count in this window."""
    return np.asarray(segment.first + np.flatnonzero(segment.counted))


def _words(batch: Batch) -> Tensor:
    """The word of each token, [B, T]; SPECIAL for padding too."""
    words = torch.full(batch.mask.shape, SPECIAL, dtype=torch.int64)
    for row, segment in enumerate(batch.segments):
        words[row, : len(segment)] = torch.from_numpy(segment.words.astype(np.int64))
    return words
