"""One text as a model reads it, for a figure: its tokens, the words they belong to, and the maps of chosen heads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headatlas.encoding.batches import Batch, make_batch
from headatlas.encoding.segments import Segment
from headatlas.encoding.template import SPECIAL, pair_frame, require_fast
from headatlas.encoding.token_texts import token_texts
from headatlas.errors import SettingError
from headatlas.models.model import Model
from headatlas.models.stacks import Stack
from headatlas.results.example import Example
from headatlas.statistics.words import word_attention

if TYPE_CHECKING:
    from transformers import BatchEncoding


@dataclass(frozen=True)
class Sentence:
    """An encoded text (or pair of texts) and what to call its tokens and words."""

    segment: Segment
    tokens: tuple[str, ...]
    unit: NDArray[np.int64]  # [tokens], the word of each token; a special token is a word by itself
    words: tuple[str, ...]  # by unit
    special: frozenset[int]  # tokens that the tokenizer put around the text


def check_texts(text: str, pair: str | None) -> None:
    """Refuse an empty text."""
    if not text.strip() or (pair is not None and not pair.strip()):
        raise SettingError("The text is empty. Give a sentence.")


def read_sentence(model: Model, text: str, pair: str | None = None) -> Sentence:
    """Encode a text, or two with a separator between, and find its words."""
    check_texts(text, pair)
    require_fast(model.tokenizer)
    texts = [text] if pair is None else [text, pair]
    if pair is not None and pair_frame(model.tokenizer) is None:
        raise SettingError(f"{model.name} puts no separator between two texts. Give it one text.")
    encoded = model.tokenizer(*texts, return_token_type_ids=True, verbose=False)
    ids = np.asarray(encoded["input_ids"], dtype=np.int32)
    special = frozenset(place for place, span in enumerate(encoded.sequence_ids()) if span is None)
    if len(special) == len(ids):
        raise SettingError("The text turns into no tokens. Is it in a script that this model's tokenizer knows?")
    longest = model.longest_input
    if longest is not None and len(ids) > longest:
        raise SettingError(f"The text has {len(ids)} tokens, and {model.name} reads at most {longest}. Shorten it.")
    tokens = tuple(token_texts(model.tokenizer.convert_ids_to_tokens(ids.tolist()), model.tokenizer))
    unit = _units(encoded, texts)
    in_frame = [SPECIAL if place in special else number for place, number in enumerate(unit.tolist())]
    types = np.asarray(encoded["token_type_ids"], dtype=np.uint8)
    segment = Segment("text", ids, types, np.asarray(in_frame, dtype=np.int32))
    return Sentence(segment, tokens, unit, _words(encoded, texts, tokens, unit), special)


def head_maps(
    model: Model, sentence: Sentence, heads: Sequence[tuple[int, int]], stack: Stack, by_word: bool
) -> list[NDArray[np.float64]]:
    """The map of each head (layer, head from 1), between tokens or between words."""
    maps: dict[tuple[int, int], NDArray[np.float64]] = {}
    index = torch.from_numpy(sentence.unit)[None]

    def see(layer: int, weights: Tensor, _mask: Tensor | None) -> None:
        for wanted in heads:
            if wanted[0] == layer + 1:
                head_map = weights[:, [wanted[1] - 1]].to("cpu", torch.float64)
                if by_word:
                    head_map = word_attention(head_map, index, len(sentence.words))
                maps[wanted] = head_map[0, 0].numpy()

    model.observe(sentence_batch(model, sentence), see, stack)
    return [maps[head] for head in heads]


def sentence_example(model: Model, sentence: Sentence, stack: Stack) -> Example:
    """Return the sentence with the maps of all heads of a stack, as an atlas stores its examples."""
    maps = all_maps(model, sentence_batch(model, sentence), stack)
    places, words = sentence_words(sentence)
    return Example(list(sentence.tokens), places, maps, words)


def all_maps(model: Model, batch: Batch, stack: Stack) -> NDArray[np.float32]:
    """Return the maps of all heads on the only input of a batch: [layers, heads, tokens, tokens]."""
    shape, length = model.shapes[stack], batch.input_ids.shape[1]
    maps = np.zeros((shape.layers, shape.most_heads, length, length), dtype=np.float32)

    def see(layer: int, weights: Tensor, _mask: Tensor | None) -> None:
        maps[layer, : weights.shape[1]] = weights[0].to("cpu", torch.float32).numpy()

    model.observe(batch, see, stack)
    return maps


def sentence_batch(model: Model, sentence: Sentence) -> Batch:
    """The sentence as the only one of a batch, on the model's device."""
    return make_batch([sentence.segment], model.kinds, model.pad_id).to(model.device)


def sentence_words(sentence: Sentence) -> tuple[list[int], tuple[str, ...]]:
    """The word of each token (SPECIAL for special tokens), and the words without special tokens."""
    special = {int(sentence.unit[place]) for place in sentence.special}
    words = [number for number in range(len(sentence.words)) if number not in special]
    renumbered = {number: place for place, number in enumerate(words)}
    places = [renumbered.get(number, SPECIAL) for number in sentence.unit.tolist()]
    return places, tuple(sentence.words[number] for number in words)


def word_labels(model: Model, sentence: Sentence) -> list[str]:
    """What to write for each word: the word, preceded by the unknown token's name if the model saw that instead."""
    name, number = model.tokenizer.unk_token, model.tokenizer.unk_token_id
    places = enumerate(sentence.segment.ids.tolist())
    unknown = {
        int(sentence.unit[place]) for place, token in places if token == number and place not in sentence.special
    }
    return [f"{name} {word}" if unit in unknown else word for unit, word in enumerate(sentence.words)]


def _units(encoded: BatchEncoding, texts: Sequence[str]) -> NDArray[np.int64]:
    """Number the words: one ends where the tokenizer's word does, or where a space separates two tokens."""
    spans = encoded.sequence_ids()
    words = encoded.word_ids()
    places = encoded[0].offsets
    unit = np.zeros(len(spans), dtype=np.int64)
    for here in range(1, len(spans)):
        before = here - 1
        together = spans[here] is not None and (spans[before], words[before]) == (spans[here], words[here])
        spaced = together and _space_between(texts[spans[here]], places[before], places[here])
        unit[here] = unit[before] + (not together or spaced)
    return unit


def _space_between(text: str, before: tuple[int, int], here: tuple[int, int]) -> bool:
    """Whether a token begins with a space or has one in front."""
    between = text[before[1] : here[0]] + text[here[0] : here[0] + 1]
    return here[1] > before[1] and between[:1].isspace()


def _words(
    encoded: BatchEncoding, texts: Sequence[str], tokens: Sequence[str], unit: NDArray[np.int64]
) -> tuple[str, ...]:
    """Each word as in the text; a special token by its name."""
    spans, places = encoded.sequence_ids(), encoded[0].offsets
    words = []
    for number in range(int(unit[-1]) + 1):
        members = np.flatnonzero(unit == number)
        first, last, span = members[0], members[-1], spans[members[0]]
        words.append(tokens[first] if span is None else texts[span][places[first][0] : places[last][1]].strip())
    return tuple(words)
