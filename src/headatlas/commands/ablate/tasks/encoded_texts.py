"""Texts, or pairs of texts, as network inputs in the tokenizer's own frame, cut to fit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from headatlas.encoding.segments import Segment
from headatlas.encoding.template import SPECIAL
from headatlas.errors import CorpusError
from headatlas.models.model import Model


def encode_texts(
    model: Model, texts: Sequence[tuple[str, ...]], max_tokens: int, written: bool = False
) -> tuple[list[Segment], int]:
    """Encode one text or two together, and count those that were cut: the longer side first, at its end.

    written: texts that the model is to write; translation models may have another tokenizer for them.
    """
    first, second = ("text_target", "text_pair_target") if written else ("text", "text_pair")
    given = {first: [text[0] for text in texts]} | ({second: [text[1] for text in texts]} if len(texts[0]) == 2 else {})
    cut = model.tokenizer(**given, truncation=True, max_length=max_tokens, return_token_type_ids=True)
    whole = model.tokenizer(**given, verbose=False)
    lengths = [len(ids) for ids in cut["input_ids"]]
    if min(lengths) == 0:
        raise CorpusError(f"The text {texts[lengths.index(0)][0]!r} turns into no tokens.")
    segments = [
        Segment(str(number), np.array(ids, np.int32), np.array(types, np.uint8), np.full(len(ids), SPECIAL, np.int32))
        for number, (ids, types) in enumerate(zip(cut["input_ids"], cut["token_type_ids"], strict=True))
    ]
    return segments, sum(len(ids) != length for ids, length in zip(whole["input_ids"], lengths, strict=True))


def pad_texts(model: Model, segments: Sequence[Segment], indices: Sequence[int]) -> dict[str, Any]:
    """Pad some of the segments: the network's inputs, on the CPU. Slow tokenizers do, unlike for `make_batch`."""
    chosen = [segments[index] for index in indices]

    def padded(rows: Iterable[NDArray[Any]], value: int = 0) -> Tensor:
        return pad_sequence([torch.from_numpy(row).long() for row in rows], batch_first=True, padding_value=value)

    ids, types = padded((text.ids for text in chosen), model.pad_id), padded(text.type_ids for text in chosen)
    return model.network_inputs(ids, padded(np.ones(len(text)) for text in chosen), types)
