"""Answers to a typed text: every head's attention, with some heads removed, and the tokens that the model predicts.

Words chosen in a text are masked before a masked language model reads it, and a mask token that was typed counts as
chosen. A causal model reads the text as it is and predicts the chosen words from those before them; if none is chosen,
it predicts the next token, whose place is after the last. Everything in a question is checked.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from headatlas.choices import LanguageModel
from headatlas.encoding.batches import Batch
from headatlas.encoding.template import require_fast
from headatlas.errors import ModelError, SettingError
from headatlas.models.gates import gates_without
from headatlas.models.heads import check_head, parse_head
from headatlas.models.model import Model
from headatlas.models.stacks import HeadShape, Stack
from headatlas.views.figures.sentence import Sentence, read_sentence, sentence_batch, sentence_example, sentence_words
from headatlas.views.page.content import FAST
from headatlas.views.page.maps import packed_example

MOST_WEIGHTS = 96 * 2**20  # of all maps of one text, a byte each on the way to the browser: 512 tokens of BERT-large
MOST_SHOWN = 5
MOST_BYTES = 64 * 1024
_KEYS = {"text", "words", "removed"}


@dataclass(frozen=True)
class Question:
    """A text, the words to predict (from 0), and the heads to remove (layer and head from 1)."""

    text: str
    words: tuple[int, ...] = ()
    removed: tuple[tuple[int, int], ...] = ()


def read_question(body: bytes, shape: HeadShape, model: str) -> Question:
    """Read the question in the body of a request. Raises SettingError if it is malformed."""
    try:
        asked = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise SettingError("The request is not JSON.") from error
    if not isinstance(asked, dict) or not asked.keys() <= _KEYS or "text" not in asked:
        raise SettingError(f"The request must be an object with a text; its only keys are {', '.join(sorted(_KEYS))}.")
    removed = tuple(parse_head(_text(name)) for name in _list(asked, "removed", shape.total))
    for layer, head in removed:
        check_head(layer, head, shape, model)
    words = _list(asked, "words", MOST_BYTES)
    if not all(type(word) is int and word >= 0 for word in words):
        raise SettingError("Words must be given as their positions in the text: whole numbers from 0.")
    return Question(_text(asked["text"]), tuple(sorted(set(words))), tuple(sorted(set(removed))))


def _list(asked: dict[str, Any], key: str, most: int) -> list[Any]:
    values = asked.get(key, [])
    if not isinstance(values, list) or len(values) > most:
        raise SettingError(f"{key} must be a list of at most {most:,}.")
    return values


def _text(value: object) -> str:
    """Return a string that UTF-8 can encode, which JSON does not guarantee."""
    if not isinstance(value, str):
        raise SettingError("The text and the names of heads must be strings.")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise SettingError("The text holds half of a surrogate pair. Paste it again from its source.") from error
    return value


class Explorer:
    """A model that answers questions about a text, one at a time."""

    def __init__(self, model: Model, stack: Stack) -> None:
        require_fast(model.tokenizer)
        self.model = model
        self.stack = stack
        self.shape = model.shapes[stack]
        room = math.isqrt(MOST_WEIGHTS // self.shape.total)
        self.most_tokens = min(room, model.longest_input or room)

    @property
    def predicts(self) -> LanguageModel | None:
        """How the model predicts words, if at all."""
        masks = self.model.tokenizer.mask_token_id is not None
        return None if self.model.language_model == "masked" and not masks else self.model.language_model

    def about(self) -> dict[str, Any]:
        """Describe the model to the page."""
        return {"predicts": self.predicts, "removable": self.model.uses_interface, "most_tokens": self.most_tokens}

    def answer(self, question: Question) -> dict[str, Any]:
        """Return the text with all maps, packed for the page, its words, and the predictions at the chosen words."""
        typed = read_sentence(self.model, question.text)
        if len(typed.tokens) > self.most_tokens:
            raise SettingError(f"The text has {len(typed.tokens):,} tokens. At most {self.most_tokens:,} can be shown.")
        word_of, words = sentence_words(typed)
        if question.words and question.words[-1] >= len(words):
            raise SettingError(f"The text has no word {question.words[-1]}: it has {len(words)} words.")
        places = self._places(typed, word_of, question.words)
        read = self._masked(typed, places) if self.predicts == "masked" else typed
        gates = self._gates(question)
        with _removed(self.model, gates, self.stack):
            example = sentence_example(self.model, read, self.stack)
        typed_ids = self._typed_ids(typed, places)
        predicted = predictions(self.model, sentence_batch(self.model, read), places, typed_ids, gates)
        word_at = [*word_of, -1]  # the place after the text belongs to no word
        return {
            "example": packed_example(example, self.shape.heads, level=FAST),
            "words": list(words),
            "predictions": [row | {"word": word_at[row["place"]]} for row in predicted],
        }

    def _places(self, typed: Sentence, word_of: Sequence[int], chosen: Sequence[int]) -> list[int]:
        """Return the tokens to predict: those of chosen words and typed masks; a causal model's default is the next."""
        if self.predicts is None:
            return []
        wanted = set(chosen)
        if self.predicts == "masked":
            mask = self.model.tokenizer.mask_token_id
            return [at for at, word in enumerate(word_of) if word in wanted or typed.segment.ids[at] == mask]
        places = [at for at, word in enumerate(word_of) if word in wanted and at > 0]
        if wanted and not places:
            raise SettingError("The first word cannot be predicted, because no word precedes it. Choose a later word.")
        return places or [len(word_of)]

    def _masked(self, typed: Sentence, places: Sequence[int]) -> Sentence:
        """Return the sentence with masks at some places, in its tokens and its words."""
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

    def _typed_ids(self, typed: Sentence, places: Sequence[int]) -> list[int | None]:
        """Return the typed tokens; None after the text and for typed masks, which stand for no word of the text."""
        ids = [*typed.segment.ids.tolist(), None]
        return [None if ids[place] == self.model.tokenizer.mask_token_id else ids[place] for place in places]

    def _gates(self, question: Question) -> Tensor | None:
        if not question.removed:
            return None
        return gates_without(question.removed, self.shape, self.model.name, self.model.device)


def _removed(model: Model, gates: Tensor | None, stack: Stack | None = None) -> AbstractContextManager[None]:
    return nullcontext() if gates is None else model.gated(gates, stack=stack)


def place_probabilities(model: Model, batch: Batch, places: Sequence[int], gates: Tensor | None) -> Tensor:
    """Return the distribution over the vocabulary at each place of a single text: [places, vocabulary], on the CPU.

    gates: [L, H], 0 where a head is removed; None for the whole model.
    """
    behind = 1 if model.language_model == "causal" else 0
    rows = torch.tensor([place - behind for place in places], device=model.device)
    with torch.inference_mode(), _removed(model, gates):
        logits = model.network(**model.inputs(batch)).logits
        chosen: Tensor = logits[0, rows].to("cpu", torch.float32)
    if not torch.isfinite(chosen).all():
        raise ModelError(f"{model.name} predicts NaN here. Load it with --dtype float32.")
    return chosen.softmax(-1)


def predictions(
    model: Model, batch: Batch, places: Sequence[int], typed_ids: Sequence[int | None], gates: Tensor | None
) -> list[dict[str, Any]]:
    """Return the likeliest tokens at each place, and the typed token, before and after removing heads.

    typed_ids: the token of the text at each place, or None.
    """
    if not places:
        return []
    whole = place_probabilities(model, batch, places, None)
    without = whole if gates is None else place_probabilities(model, batch, places, gates)
    rows = zip(places, typed_ids, whole, without, strict=True)
    return [
        {
            "place": place,
            "before": _likeliest(model, before),
            "after": _likeliest(model, after),
            "own": None if token is None else _typed_token(model, token, before, after),
        }
        for place, token, before, after in rows
    ]


def _likeliest(model: Model, probabilities: Tensor) -> list[list[Any]]:
    """Return tokens and their probabilities, likeliest first."""
    most = probabilities.topk(min(MOST_SHOWN, len(probabilities)))
    tokens = [_token(model, token) for token in most.indices.tolist()]
    return [[token, round(share, 6)] for token, share in zip(tokens, most.values.tolist(), strict=True)]


def _typed_token(model: Model, token: int, before: Tensor, after: Tensor) -> dict[str, Any]:
    """Return the typed token with its probability and rank (from 1), before and after."""
    ranks = [int((shares > shares[token]).sum()) + 1 for shares in (before, after)]
    return {
        "token": _token(model, token),
        "before": round(float(before[token]), 6),
        "after": round(float(after[token]), 6),
        "rank_before": ranks[0],
        "rank_after": ranks[1],
    }


def _token(model: Model, token: int) -> str:
    """Return the name of a token; padding of the vocabulary has none."""
    return str(model.tokenizer.convert_ids_to_tokens(token) or f"token {token}")
