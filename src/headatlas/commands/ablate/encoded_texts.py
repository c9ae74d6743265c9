"""Texts, or pairs of texts, as network inputs in the tokenizer's own frame, cut to fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from headatlas.errors import CorpusError
from headatlas.models.model import Model


class EncodedTexts(Sequence[range]):
    """Encoded texts; as a sequence, each stands as a range as long as its tokens, which is what plans need."""

    def __init__(self, model: Model, encodings: Sequence[tuple[list[int], list[int]]]) -> None:
        self._model, self._encodings = model, encodings

    def __len__(self) -> int:
        return len(self._encodings)

    def __getitem__(self, index: Any) -> Any:
        return range(len(self._encodings[index][0]))

    def batch(self, indices: Sequence[int]) -> dict[str, Any]:
        """Some of them padded: the network's inputs, on the CPU."""
        width = max(len(self[index]) for index in indices)
        ids = torch.full((len(indices), width), self._model.pad_id)
        types, mask = torch.zeros_like(ids), torch.zeros_like(ids)
        for row, index in enumerate(indices):
            tokens, kinds = self._encodings[index]
            ids[row, : len(tokens)] = torch.tensor(tokens)
            types[row, : len(tokens)] = torch.tensor(kinds)
            mask[row, : len(tokens)] = 1
        return self._model.network_inputs(ids, mask, types)


def encode_texts(
    model: Model, texts: Sequence[tuple[str, ...]], max_tokens: int, written: bool = False
) -> tuple[EncodedTexts, int]:
    """Encode one text or two together, and say how many were cut: the longer side first, at its end.

    written: texts that the model is to write; translation models may have another tokenizer for them.
    """
    first, second = ("text_target", "text_pair_target") if written else ("text", "text_pair")
    given = {first: [text[0] for text in texts]} | ({second: [text[1] for text in texts]} if len(texts[0]) == 2 else {})
    cut = model.tokenizer(**given, truncation=True, max_length=max_tokens, return_token_type_ids=True)
    whole = model.tokenizer(**given, verbose=False)
    lengths = [len(ids) for ids in cut["input_ids"]]
    if min(lengths) == 0:
        raise CorpusError(f"The text {texts[lengths.index(0)][0]!r} turns into no tokens.")
    encoded = list(zip(cut["input_ids"], cut["token_type_ids"], strict=True))
    return EncodedTexts(model, encoded), sum(
        len(ids) != length for ids, length in zip(whole["input_ids"], lengths, strict=True)
    )
