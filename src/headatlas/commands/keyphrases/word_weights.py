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

from headatlas.commands.keyphrases.key_words import Document, tag_words
from headatlas.commands.keyphrases.ranking import HeadRanking
from headatlas.commands.keyphrases.segments import KeyphraseSegment, text_windows
from headatlas.encoding.batches import Batch, make_batch, plan_batches
from headatlas.encoding.template import SPECIAL
from headatlas.engine.progress import TokenProgress
from headatlas.engine.run_folder import UNSAVED, Arrays, RunPart
from headatlas.errors import CorpusError
from headatlas.models.model import Model
from headatlas.models.stacks import Stack
from headatlas.statistics.received import POOLINGS, ROWS, received
from headatlas.statistics.words import segments_of

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

WordWeights = NDArray[np.float32]  # [words, heads]


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
    progress: bool = False,
) -> list[WordWeights]:
    """Of every document, what each word receives from each head (layer after layer), 0 where a word has no token.

    segments: the windows of the documents. run: saves what each batch gives. ranking: measures heads on the way.
    """
    weights_of = _no_weights(documents, model.shapes[stack].total)

    def observe(indices: Sequence[int]) -> Arrays:
        batch = make_batch([segments[index] for index in indices], model.kinds, model.pad_id).to(model.device)
        text = _text(batch)
        layers: list[Tensor] = []
        causal = stack == "decoder"
        model.observe(batch, lambda _, weights, __: layers.append(received(weights, batch.mask, text, causal)), stack)
        of_words = [words_receive(layer, batch, pooling, rows, causal) for layer in layers]
        arrays = _by_segment(torch.cat(of_words, 1), indices, batch)
        return arrays | (ranking.measure(batch, layers) if ranking else {})

    description = f"{model.name}: attention received"
    with TokenProgress(description, sum(map(len, segments)), show=progress) as bar:
        for number, indices in enumerate(plan_batches(segments, batch_tokens)):
            arrays = run.compute_once(f"batch-{number:05}", partial(observe, indices))
            _fill(weights_of, indices, segments, arrays)
            if ranking:
                ranking.add([segments[index].document for index in indices], arrays)
            bar.advance(sum(len(segments[index]) for index in indices))
    return [weights_of[document.id] for document in documents]


def uniform_weights(
    model: Model,
    documents: Sequence[Document],
    segments: Sequence[KeyphraseSegment],
    *,
    pooling: str,
    rows: str,
    stack: Stack,
    batch_tokens: int,
) -> list[NDArray[np.float64]]:
    """Of every document, what each word would receive if all tokens attended evenly to all they see: [words]."""
    weights_of = _no_weights(documents, 1)
    causal = stack == "decoder"
    for indices in plan_batches(segments, batch_tokens):
        batch = make_batch([segments[index] for index in indices], model.kinds, model.pad_id)
        seen = batch.mask[:, None, None].expand(-1, 1, batch.mask.shape[1], -1)
        seen = (seen.tril() if causal else seen).float()
        of_tokens = received(seen / seen.sum(-1, keepdim=True).clamp_min(1), batch.mask, _text(batch), causal)
        of_words = words_receive(of_tokens, batch, pooling, rows, causal)
        _fill(weights_of, indices, segments, _by_segment(of_words, indices, batch))
    return [weights_of[document.id][:, 0].astype(np.float64) for document in documents]


def words_receive(tokens: Tensor, batch: Batch, pooling: str, rows: str, causal: bool) -> Tensor:
    """What the words of a batch receive in one form, [B, H, W], of what its tokens do in all: [B, H, 4, T]."""
    words = _words(batch)
    size = int(words.max()) + 1
    slots = torch.where(words == SPECIAL, size, words).to(tokens.device)
    in_form = tokens[:, :, ROWS.index(rows) * len(POOLINGS) + POOLINGS.index(pooling)]  # [B, H, T]
    if pooling == "mean":
        seen = batch.mask if rows == "all" else _text(batch)
        attending = seen.flip(1).cumsum(1).flip(1) if causal else seen.sum(1, keepdim=True).expand_as(seen)
        in_form = in_form * attending[:, None].to(in_form.dtype)
    into = in_form.new_zeros((*in_form.shape[:2], size + 1))
    how = "sum" if pooling == "mean" else "amax"
    return into.scatter_reduce(2, slots[:, None].expand_as(in_form), in_form, how)[..., :size].float()


def _no_weights(documents: Iterable[Document], heads: int) -> dict[str, WordWeights]:
    return {document.id: np.zeros((len(document.words), heads), np.float32) for document in documents}


def _by_segment(words: Tensor, indices: Sequence[int], batch: Batch) -> Arrays:
    """What the words that count receive, by the number of their segment: each [words, heads]. words: [B, heads, W]."""
    segments = segments_of(batch, KeyphraseSegment)
    return {
        str(index): of_segment[:, np.flatnonzero(segment.counted)].T
        for index, segment, of_segment in zip(indices, segments, words.cpu().numpy(), strict=True)
    }


def _fill(
    weights_of: dict[str, WordWeights], indices: Sequence[int], segments: Sequence[KeyphraseSegment], arrays: Arrays
) -> None:
    for index in indices:
        segment = segments[index]
        weights_of[segment.document][segment.first + np.flatnonzero(segment.counted)] = arrays[str(index)]


def _words(batch: Batch) -> Tensor:
    """The word of each token, [B, T]; SPECIAL for padding too."""
    words = torch.full(batch.mask.shape, SPECIAL, dtype=torch.int64)
    for row, segment in enumerate(batch.segments):
        words[row, : len(segment)] = torch.from_numpy(segment.words.astype(np.int64))
    return words


def _text(batch: Batch) -> Tensor:
    return (_words(batch) != SPECIAL).to(batch.mask.device)
