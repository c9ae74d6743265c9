"""Answers to what is typed: every head's attention, with some heads removed, and the words that the model expects.

Words chosen in a text are masked before a masked language model reads it, and a mask token that was typed counts as
chosen. A causal model reads the text as it is and says what it expects in their place from the words before; with none
chosen, what comes next.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from headatlas.choices import LanguageModel
from headatlas.commands.explore.predictions import predictions
from headatlas.commands.explore.requests import Question
from headatlas.encoding.template import require_fast
from headatlas.errors import SettingError
from headatlas.models.model import Model
from headatlas.models.stacks import Stack
from headatlas.views.figures.sentence import Sentence, read_sentence, sentence_batch, sentence_example, sentence_words
from headatlas.views.page.maps import packed_example
from headatlas.views.page.packing import FAST

MOST_WEIGHTS = 96 * 2**20  # of all maps of one text, a byte each on the way to the browser: 512 tokens of BERT-large


class Explorer:
    """A model that answers questions about a text; one at a time."""

    def __init__(self, model: Model, stack: Stack) -> None:
        require_fast(model.tokenizer)
        self.model = model
        self.stack = stack
        self.shape = model.shapes[stack]
        room = math.isqrt(MOST_WEIGHTS // self.shape.total)
        self.most_tokens = min(room, model.longest_input or room)

    @property
    def predicts(self) -> LanguageModel | None:
        """How the model can be asked for words, if at all."""
        masks = self.model.tokenizer.mask_token_id is not None
        return None if self.model.language_model == "masked" and not masks else self.model.language_model

    def about(self) -> dict[str, Any]:
        """What the page must know to ask."""
        return {"predicts": self.predicts, "removable": self.model.uses_interface, "most_tokens": self.most_tokens}

    def answer(self, question: Question) -> dict[str, Any]:
        """The text with all maps, packed for the page, its words, and the predictions at the chosen ones."""
        typed = read_sentence(self.model, question.text)
        if len(typed.tokens) > self.most_tokens:
            raise SettingError(f"The text has {len(typed.tokens):,} tokens. Here {self.most_tokens:,} can be shown.")
        word_of, words = sentence_words(typed)
        if question.words and question.words[-1] >= len(words):
            raise SettingError(f"There is no word {question.words[-1]} in this text: it has {len(words)}.")
        places = self._places(typed, word_of, question.words)
        own: list[int | None] = [int(typed.segment.ids[place]) if place < len(word_of) else None for place in places]
        read = self._masked(typed, places) if self.predicts == "masked" else typed
        gates = self._gates(question)
        if gates is None:
            example = sentence_example(self.model, read, self.stack)
        else:
            with self.model.gated(gates, stack=self.stack):
                example = sentence_example(self.model, read, self.stack)
        predicted = predictions(self.model, sentence_batch(self.model, read), places, self._unmasked(own), gates)
        return {
            "example": packed_example(example, self.shape.heads, level=FAST),
            "words": list(words),
            "predictions": [one | {"word": self._word(word_of, one["place"])} for one in predicted],
        }

    def _places(self, typed: Sentence, word_of: Sequence[int], chosen: Sequence[int]) -> list[int]:
        """Tokens to predict: those of the chosen words, and masks that were typed; of a causal model else the next."""
        if self.predicts is None:
            return []
        wanted = set(chosen)
        if self.predicts == "masked":
            mask = self.model.tokenizer.mask_token_id
            return [at for at, word in enumerate(word_of) if word in wanted or typed.segment.ids[at] == mask]
        places = [at for at, word in enumerate(word_of) if word in wanted and at > 0]
        if wanted and not places:
            raise SettingError("Nothing stands before the first word, so it cannot be predicted. Choose a later one.")
        return places or [len(word_of)]

    def _masked(self, typed: Sentence, places: Sequence[int]) -> Sentence:
        """The sentence with masks at some places, in its tokens and its words."""
        mask, name = self.model.tokenizer.mask_token_id, self.model.tokenizer.mask_token
        ids = np.array(typed.segment.ids)
        ids[list(places)] = mask
        hidden = {int(typed.unit[place]) for place in places}
        return replace(
            typed,
            segment=replace(typed.segment, ids=ids),
            tokens=tuple(name if at in set(places) else token for at, token in enumerate(typed.tokens)),
            words=tuple(name if number in hidden else word for number, word in enumerate(typed.words)),
        )

    def _unmasked(self, own: Sequence[int | None]) -> list[int | None]:
        """A mask that was typed stands for no word of the text."""
        return [None if token == self.model.tokenizer.mask_token_id else token for token in own]

    def _gates(self, question: Question) -> Tensor | None:
        if not question.removed:
            return None
        gates = torch.ones(self.shape.layers, self.shape.most_heads, device=self.model.device, dtype=self.model.dtype)
        for layer, head in question.removed:
            gates[layer - 1, head - 1] = 0
        return gates

    @staticmethod
    def _word(word_of: Sequence[int], place: int) -> int:
        """The word that a place belongs to, -1 for what comes after the text."""
        return word_of[place] if place < len(word_of) else -1
