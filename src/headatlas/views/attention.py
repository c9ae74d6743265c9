"""The attention of every head on one text: as arrays, as a pandas frame, and as a page for a notebook."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers import PreTrainedTokenizerBase

from headatlas.encoding.template import SPECIAL
from headatlas.encoding.token_texts import token_texts
from headatlas.errors import SettingError
from headatlas.models.facts import describe_model
from headatlas.models.loading import AnyModel, open_model
from headatlas.models.model import Model
from headatlas.models.stacks import HeadShape, Stack, check_head, parse_head
from headatlas.results.example import Example
from headatlas.views.figures.lines import between_units, units_of
from headatlas.views.figures.sentence import read_sentence, sentence_batch, sentence_words

if TYPE_CHECKING:
    from headatlas.views.notebook import NotebookPage

Array = NDArray[np.float32]
MOST_KEPT = 2**29  # bytes of maps that are kept; beyond them one layer is
_ROUNDING = 1e-2  # by which a weight in half precision may exceed 1


class LayerMaps(Sequence[Array]):
    """The maps of each layer, [heads, from, to], computed when a layer is first used; layers and heads count from 0.

    It can be indexed as an array [layers, heads, from, to], and `numpy.asarray` makes one.
    """

    def __init__(self, shape: HeadShape, length: int, compute: Callable[[Collection[int]], dict[int, Array]]) -> None:
        """Prepare maps. compute: returns the maps of the given layers, in one pass of the model."""
        self._shape, self._length, self._compute = shape, length, compute
        self._kept: dict[int, Array] = {}

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Layers, heads of the widest layer, tokens that attend, tokens that are attended to."""
        return self._shape.layers, self._shape.most_heads, self._length, self._length

    def __len__(self) -> int:
        return self._shape.layers

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, tuple) and key and isinstance(key[0], int | np.integer):
            return self[int(key[0])][key[1:]]
        if not isinstance(key, int | np.integer):
            return np.asarray(self)[key]
        layer = range(len(self))[key]
        if layer not in self._kept:
            fits = 4 * self._shape.total * self._length**2 <= MOST_KEPT
            self._kept = self._compute(range(len(self)) if fits else [layer])
        return self._kept[layer]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        maps = np.zeros(self.shape, dtype=np.float32)
        layers = self._kept if len(self._kept) == len(self) else self._compute(range(len(self)))
        for layer, of_layer in layers.items():
            maps[layer, : len(of_layer)] = of_layer
        return maps if dtype is None else maps.astype(dtype)

    def __repr__(self) -> str:
        return f"LayerMaps of shape {list(self.shape)}: layers, heads, from, to"


@dataclass(frozen=True)
class Attention:
    """The attention of every head on one text. Made by `headatlas.attention`.

    Attributes:
        tokens: What the model reads, as text: a token may begin with a space, a word piece with ##.
        words: The words, without special tokens.
        word_of: The place in `words` of each token's word, -1 for special tokens.
        maps: The weights, [layers, heads, from, to], computed when a layer is first used; all count from 0.
        shape: How many heads each layer has.
        model: What manifests say about the model.
    """

    tokens: tuple[str, ...]
    words: tuple[str, ...]
    word_of: tuple[int, ...]
    maps: LayerMaps
    shape: HeadShape
    model: dict[str, Any]

    def head(self, name: str, *, words: bool = False) -> pd.DataFrame:
        """Return the map of one head: each row attends to the columns.

        Args:
            name: Layer and head from 1, such as "8-10".
            words: Between words and special tokens, not between tokens: to a word the sum over its tokens, from it the
                mean.
        """
        layer, head = parse_head(name)
        check_head(layer, head, self.shape, self.model["name"])
        weights = self.maps[layer - 1, head - 1]
        names = list(self.tokens)
        if words:
            units, names = units_of(self.tokens, self.word_of, self.words)
            weights = between_units(weights[None], units, len(names))[0]
        return pd.DataFrame(weights, index=names, columns=names)

    def show(self, head: str = "1-1", height: int | None = None) -> NotebookPage:
        """Show all heads in a notebook: lines, matrix, and a grid of every head's map.

        Args:
            head: The head shown first.
            height: Of the frame, in pixels; by default as high as the text needs.
        """
        from headatlas.views.notebook import show_attention  # which imports this module

        return show_attention(self, head, height)

    @property
    def example(self) -> Example:
        """The same as an example of an atlas, with all maps."""
        return Example(list(self.tokens), list(self.word_of), np.asarray(self.maps), self.words)

    def __repr__(self) -> str:
        return (
            f"Attention of {self.model['name']} ({self.shape}) on {len(self.tokens)} tokens.\n"
            f"  .tokens, .words     what the model reads\n"
            f"  .maps               weights, an array {list(self.maps.shape)}: layers, heads, from, to\n"
            f"  .head('1-1')        the map of one head, a pandas frame; words=True between words\n"
            f"  .show('1-1')        all heads, in a notebook"
        )


def attention(
    model: AnyModel,
    text: str,
    pair: str | None = None,
    *,
    tokenizer: PreTrainedTokenizerBase | None = None,
    stack: Stack | None = None,
    device: str = "auto",
    dtype: str = "float32",
    revision: str | None = None,
    trust_remote_code: bool = False,
) -> Attention:
    """Run a model on a text and return the attention of every head.

    >>> import headatlas as ha
    >>> seen = ha.attention("embedded", "The cat saw its shadow.")
    >>> seen.tokens
    ('[CLS]', 'the', 'cat', 'saw', 'its', 'shadow', '.', '[SEP]')
    >>> seen.maps.shape
    (6, 12, 8, 8)
    >>> print(seen.head("2-4").loc["its", "the"].round(2))
    0.24

    Args:
        model: A name or folder, a model of `load_model`, a network of transformers, or (network, tokenizer).
        text: The text.
        pair: A second text, as in ``[CLS] text [SEP] pair [SEP]``, if the model takes pairs.
        tokenizer: The tokenizer of a network.
        stack: Whose heads in an encoder-decoder: "encoder" (default) or "decoder", which reads the same text.
        device: Where to run a model given by name; "auto" uses a GPU if one is available.
        dtype: Floating-point type of a model given by name. The maps are float32 in any case.
        revision: Branch, tag or commit on the hub.
        trust_remote_code: Run Python code that comes with the model.

    Returns:
        Tokens, words and maps. Each use of a layer that is not in memory is one pass of the model.

    Raises:
        SettingError: The text is empty or too long, or the model has no such stack.
    """
    loading = {"device": device, "dtype": dtype, "revision": revision, "trust_remote_code": trust_remote_code}
    loaded = open_model(model, tokenizer, **loading)
    chosen = loaded.choose_stack(stack)
    sentence = read_sentence(loaded, text, pair)
    places, words = sentence_words(sentence)
    batch = sentence_batch(loaded, sentence)

    def compute(layers: Collection[int]) -> dict[int, Array]:
        maps: dict[int, Array] = {}

        def see(layer: int, weights: Tensor, _mask: Tensor | None) -> None:
            if layer in layers:
                maps[layer] = weights[0].to("cpu", torch.float32).numpy()

        loaded.observe(batch, see, chosen)
        return maps

    shape = loaded.shapes[chosen]
    maps = LayerMaps(shape, len(sentence.tokens), compute)
    return Attention(sentence.tokens, words, tuple(places), maps, shape, describe_model(loaded, chosen))


def attention_of_maps(maps: Any, tokens: Sequence[str]) -> Attention:
    """Return attention that was computed elsewhere. See `headatlas.head_view` for the shapes."""
    names = token_texts(list(map(str, tokens)))
    layers = [_layer(number, weights, len(names)) for number, weights in enumerate(_layers(maps), start=1)]
    shape = HeadShape(tuple(map(len, layers)))
    special = [_is_special(name) for name in names]
    words = tuple(name.strip() or name for name, frames in zip(names, special, strict=True) if not frames)
    numbers = np.cumsum(np.logical_not(special)) - 1
    word_of = np.where(special, SPECIAL, numbers).tolist()
    kept = LayerMaps(shape, len(names), lambda wanted: {layer: layers[layer] for layer in wanted})
    about = {"name": "attention", "heads": list(shape.heads)}
    return Attention(tuple(names), words, tuple(word_of), kept, shape, about)


def is_model(given: object) -> bool:
    """Whether something names or is a model, alone or with its tokenizer."""
    if isinstance(given, tuple) and len(given) == 2:
        given = given[0]
    return isinstance(given, str | Path | Model | torch.nn.Module)


def _layers(maps: Any) -> Iterator[Any]:
    """The maps of each layer, from any of the forms in which people have them."""
    maps = getattr(maps, "attentions", maps)  # the output of a network
    layers = list(maps) if isinstance(maps, list | tuple) else maps
    if layers is None or (isinstance(layers, list) and (not layers or any(layer is None for layer in layers))):
        raise SettingError(
            "There are no maps: the network was not asked for them, or does not return them. Load it with "
            'attn_implementation="eager", and call it with output_attentions=True.'
        )
    if isinstance(layers, list):
        return iter(layers)
    return iter(layers) if layers.ndim >= 4 else iter([layers if layers.ndim == 3 else layers[None]])


def _layer(number: int, weights: Any, length: int) -> Array:
    """The maps of a layer as [heads, tokens, tokens]; refuse what is not attention between the tokens."""
    if isinstance(weights, Tensor):
        weights = weights.detach().to("cpu", torch.float32).numpy()
    array = np.asarray(weights, dtype=np.float32)
    if array.ndim == 4 and len(array) != 1:
        raise SettingError(
            f"The maps are of a batch of {len(array)} texts. Give those of one: [layer[0] for layer in maps]."
        )
    array = array[0] if array.ndim == 4 else array
    if array.ndim != 3 or array.shape[1:] != (length, length):
        raise SettingError(
            f"The maps of layer {number} have the shape {list(array.shape)}. With {length} tokens it must be "
            f"[heads, {length}, {length}]."
        )
    if not (np.isfinite(array).all() and array.min(initial=0) >= 0 and array.max(initial=0) <= 1 + _ROUNDING):
        raise SettingError(f"The maps of layer {number} have weights that are not between 0 and 1. Apply the softmax.")
    return array


def _is_special(token: str) -> bool:
    """Whether a token is written as special ones are: [CLS], <s>, <|endoftext|>."""
    return len(token) > 2 and (token[0] + token[-1]) in ("[]", "<>")
