"""Answers to a typed text: every head's attention, what the model predicts, and what changes without some heads.

Words chosen in a text are masked before a masked language model reads it, unless the reader wants to see them
predicted where they stand; a mask token that was typed counts as chosen. If none is chosen, all words are predicted
where they stand. A causal model reads the text as it is and predicts the chosen words from those before them; if none
is chosen, it predicts the next token, whose place is after the last.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from headatlas.choices import LanguageModel
from headatlas.commands.ablate.passes import Replaying
from headatlas.commands.explore.predictions import (
    TypedText,
    describe_predictions,
    divergence,
    head_effects,
    place_log_probabilities,
    token_name,
)
from headatlas.commands.explore.question import Cut, Question
from headatlas.encoding.template import require_fast
from headatlas.errors import SettingError
from headatlas.models.gates import Cuts, all_open, gates_without
from headatlas.models.model import Model
from headatlas.models.stacks import Stack
from headatlas.views.figures.sentence import Sentence, read_sentence, sentence_batch, sentence_example, sentence_words
from headatlas.views.page.content import FAST
from headatlas.views.page.maps import packed_example

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_WEIGHTS = 96 * 2**20  # of all maps of one text, a byte each on the way to the browser: 512 tokens of BERT-large


@dataclass(frozen=True)
class Reading:
    """A question's text as the model reads it, and what is predicted in it."""

    read: Sentence  # with masks
    words: tuple[str, ...]  # as typed
    word_of: list[int]  # of each token; -1 for special tokens
    places: list[int]  # tokens to predict
    typed_ids: list[int | None]  # the tokens of the text there; None after the text and for typed masks
    listed: bool  # whether each prediction is shown, not only their mean


class Explorer:
    """A model that answers questions about a text, one at a time."""

    def __init__(self, model: Model, stack: Stack) -> None:
        require_fast(model.tokenizer)
        self.model = model
        self.stack = stack
        self.shape = model.shapes[stack]
        self._room = math.isqrt(MOST_WEIGHTS // self.shape.total)
        self.most_tokens = min(self._room, model.longest_input or self._room)
        self._replaying = Replaying()

    @property
    def predicts(self) -> LanguageModel | None:
        """How the model predicts words, if at all."""
        masks = self.model.tokenizer.mask_token_id is not None
        return None if self.model.language_model == "masked" and not masks else self.model.language_model

    def about(self) -> dict[str, Any]:
        """Describe the model to the page."""
        return {
            "predicts": self.predicts,
            "removable": self.model.uses_interface,
            "most_tokens": self.most_tokens,
            "limited_by_maps": self.most_tokens == self._room,
        }

    def answer(self, question: Question) -> dict[str, Any]:
        """Return the text with all maps, packed for the page, its words, and the predictions at the chosen words."""
        reading = self._read(question)
        with self._changed(question, reading):
            example = sentence_example(self.model, reading.read, self.stack)
        answer = {
            "example": packed_example(example, self.shape.heads, level=FAST),
            "words": list(reading.words),
            "predictions": [],
            "overall": None,
        }
        return answer | (self._predict(question, reading) if reading.places else {})

    def effects(self, question: Question) -> dict[str, Any]:
        """Return how the followed tokens fare without each head of some layers, or with its attention cut.

        The rest of the model is whole, whatever else the question removes or cuts.
        """
        reading = self._read(question)
        if not reading.places:
            raise SettingError("This model predicts no words, so its heads have no effect that could be measured.")
        if not self.model.uses_interface:
            raise SettingError("The heads of this architecture can be inspected but not removed.")
        pairs = None
        if question.by_cut:
            if question.cut is None:
                raise SettingError("Mark what to cut first.")
            pairs = self._pairs(question.cut, reading)
        batch = sentence_batch(self.model, reading.read)
        before = place_log_probabilities(self.model, batch, reading.places, nullcontext())
        targets = self._targets(question, reading, before)
        task = TypedText(self.model, batch, reading.places, targets, before)
        first, last = question.layers or (1, self.shape.layers)
        heads = [(layer, head) for layer, head in self.shape.places if first <= layer + 1 <= last]
        effects = head_effects(task, self.stack, heads, pairs, self._replaying)
        followed = before[range(len(targets)), targets].mean()
        return {
            "layers": [first, last],
            "targets": [token_name(self.model, token) for token in targets],
            "before": round(float(followed), 6),
            "log_probabilities": effects[:, 0].tolist(),
            "kl": effects[:, 1].tolist(),
        }

    def _read(self, question: Question) -> Reading:
        typed = read_sentence(self.model, question.text)
        if len(typed.tokens) > self.most_tokens:
            raise SettingError(f"The text has {len(typed.tokens):,} tokens. At most {self.most_tokens:,} can be shown.")
        word_of, words = sentence_words(typed)
        if question.words and question.words[-1] >= len(words):
            raise SettingError(f"The text has no word {question.words[-1]}: it has {len(words)} words.")
        places, hide = self._places(typed, word_of, question)
        ids = [*typed.segment.ids.tolist(), None]
        mask = self.model.tokenizer.mask_token_id
        return Reading(
            read=self._masked(typed, places) if hide else typed,
            words=words,
            word_of=word_of,
            places=places,
            typed_ids=[None if ids[place] == mask else ids[place] for place in places],
            listed=hide or bool(question.words) or self.predicts == "causal",
        )

    def _places(self, typed: Sentence, word_of: Sequence[int], question: Question) -> tuple[list[int], bool]:
        """Return the tokens to predict, and whether the model finds masks there."""
        if self.predicts is None:
            return [], False
        wanted = set(question.words)
        if self.predicts == "masked":
            mask = self.model.tokenizer.mask_token_id
            chosen = [at for at, word in enumerate(word_of) if word in wanted or typed.segment.ids[at] == mask]
            every = [at for at, word in enumerate(word_of) if word >= 0]
            return (chosen, question.mask) if chosen else (every, False)
        places = [at for at, word in enumerate(word_of) if word in wanted and at > 0]
        if wanted and not places:
            raise SettingError("The first word cannot be predicted, because no word precedes it. Choose a later word.")
        return places or [len(word_of)], False

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

    def _predict(self, question: Question, reading: Reading) -> dict[str, Any]:
        batch = sentence_batch(self.model, reading.read)
        before = place_log_probabilities(self.model, batch, reading.places, nullcontext())
        after = before
        if question.removed or question.cut:
            after = place_log_probabilities(self.model, batch, reading.places, self._changed(question, reading))
        overall = {
            "kl": round(float(divergence(before, after).mean()), 6),
            "places": len(reading.places),
            "changed": int((before.argmax(-1) != after.argmax(-1)).sum()),
        }
        if not reading.listed:
            return {"overall": overall}
        rows = describe_predictions(self.model, reading.places, reading.typed_ids, before, after)
        word_at = [*reading.word_of, -1]  # the place after the text belongs to no word
        return {"predictions": [row | {"word": word_at[row["place"]]} for row in rows], "overall": overall}

    def _targets(self, question: Question, reading: Reading, before: Tensor) -> list[int]:
        """Return the token to follow at each place: the one asked for, the typed one, or the likeliest."""
        if question.target is not None:
            if len(reading.places) != 1:
                raise SettingError("A token can be followed at one place only. Choose one word.")
            if question.target >= before.shape[-1]:
                raise SettingError(f"There is no token {question.target}: the model knows {before.shape[-1]:,}.")
            return [question.target]
        likeliest = before.argmax(-1).tolist()
        return [best if token is None else token for token, best in zip(reading.typed_ids, likeliest, strict=True)]

    @contextmanager
    def _changed(self, question: Question, reading: Reading) -> Iterator[None]:
        """Within this context heads are removed and attention is cut as the question asks."""
        with ExitStack() as contexts:
            for context in self._changes(question, reading):
                contexts.enter_context(context)
            yield

    def _changes(self, question: Question, reading: Reading) -> Iterator[AbstractContextManager[None]]:
        model, shape = self.model, self.shape
        if question.removed:
            gates = gates_without(question.removed, shape, model.name, model.device)
            yield model.gated(gates, stack=self.stack)
        if question.cut:
            heads = question.cut.heads
            gates = (
                torch.zeros_like(all_open(shape, model.device))
                if heads is None
                else gates_without(heads, shape, model.name, model.device)
            )
            yield model.changing_outputs(Cuts(gates, self._pairs(question.cut, reading), shape), self.stack)

    def _pairs(self, cut: Cut, reading: Reading) -> Tensor:
        """Return which token may not attend to which: [T, T] bool."""
        length = len(reading.word_of)
        beyond = [place for place in (*cut.sources, *cut.targets) if place >= length]
        if beyond:
            raise SettingError(f"The text has no token {beyond[0]}: it has {length} tokens.")
        pairs = torch.zeros(length, length, dtype=torch.bool, device=self.model.device)
        sources, targets = torch.tensor(cut.sources, dtype=torch.long), torch.tensor(cut.targets, dtype=torch.long)
        pairs[sources[:, None], targets] = True
        return pairs | pairs.T if cut.both else pairs
