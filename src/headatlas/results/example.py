"""Short inputs with all their attention maps, kept in the atlas so that heads can be shown at work.

An input of a treebank brings its tree along, one of a coreference corpus its mentions, one of a keyphrase corpus its
key words, so that what a head gets right can be seen. All examples of an atlas lie in one safetensors file, maps in
float16.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors import numpy as safetensors_numpy

from headatlas.corpora.coreference.mentions import Mention
from headatlas.corpora.treebanks.sentence import ROOT
from headatlas.encoding.template import SPECIAL
from headatlas.errors import AtlasError
from headatlas.files import json_text, parse_json, safetensors_metadata, write_atomically
from headatlas.limits import LARGEST_EXAMPLES, read_within


@dataclass(frozen=True)
class Tree:
    """The gold tree of an example's words."""

    heads: tuple[int, ...]  # index of each word's head, or ROOT
    relations: tuple[str, ...]
    counts_as: tuple[int, ...]  # the word whose prediction counts for this one; nearly always itself


@dataclass(frozen=True)
class Example:
    """Tokens of one input and what every head makes of them."""

    tokens: list[str]
    word_of: list[int]  # index of the word each token belongs to, SPECIAL where none
    maps: NDArray[np.float32]  # [layers, heads, n, n]; zero where a layer has fewer heads
    words: tuple[str, ...] = ()
    corpus: str = "text"  # or treebank, coreference, keyphrases
    tree: Tree | None = None
    mentions: tuple[Mention, ...] = ()
    key: tuple[bool, ...] = ()  # whether each word is of a keyphrase, where the corpus says so

    @property
    def special(self) -> list[bool]:
        """True where a token belongs to no word."""
        return [word == SPECIAL for word in self.word_of]


def save_examples(examples: Sequence[Example], path: Path) -> None:
    """Write all examples into one file."""
    about = [
        {
            "tokens": example.tokens,
            "word_of": example.word_of,
            "words": example.words,
            "corpus": example.corpus,
            "tree": vars(example.tree) if example.tree else None,
            "mentions": [vars(mention) for mention in example.mentions],
            "key": example.key,
        }
        for example in examples
    ]
    maps = {str(number): example.maps.astype(np.float16) for number, example in enumerate(examples)}
    content = safetensors_numpy.save(maps, metadata={"examples": json_text(about)})
    write_atomically(path, lambda temporary: temporary.write_bytes(content))


def load_examples(path: Path) -> list[Example]:
    """Read examples back; of an older atlas, its one example without words."""
    try:
        content = read_within(path, LARGEST_EXAMPLES)
        maps = {name: array.astype(np.float32) for name, array in safetensors_numpy.load(content).items()}
        metadata = safetensors_metadata(content)
        if "examples" not in metadata:
            return [_older(metadata, maps["maps"])]
        return [_example(one, maps[str(number)]) for number, one in enumerate(parse_json(metadata["examples"]))]
    except (OSError, SafetensorError, AttributeError, KeyError, ValueError, TypeError, OverflowError) as error:
        raise AtlasError(f"{path}: damaged ({error}). Run the survey again.") from error


def _example(about: dict[str, Any], maps: NDArray[np.float32]) -> Example:
    tree = about["tree"]
    example = Example(
        tokens=[str(token) for token in about["tokens"]],
        word_of=[int(word) for word in about["word_of"]],
        maps=maps,
        words=tuple(map(str, about["words"])),
        corpus=str(about["corpus"]),
        tree=Tree(tuple(tree["heads"]), tuple(tree["relations"]), tuple(tree["counts_as"])) if tree else None,
        mentions=tuple(Mention(**mention) for mention in about["mentions"]),
        key=tuple(map(bool, about.get("key", ()))),
    )
    _check(example)
    return example


def _older(metadata: dict[str, str], maps: NDArray[np.float32]) -> Example:
    """One example as atlases had it before they kept several: each token is a word of its own."""
    tokens, special = parse_json(metadata["tokens"]), parse_json(metadata["special"])
    numbers = np.cumsum(~np.asarray(special, dtype=bool)) - 1
    word_of = np.where(special, SPECIAL, numbers).tolist()
    words = tuple(token for token, alone in zip(tokens, special, strict=True) if not alone)
    example = Example(list(tokens), word_of, maps, words)
    _check(example)
    return example


def _check(example: Example) -> None:
    """ValueError where tokens, words, gold and maps do not belong together."""
    length, size = len(example.tokens), len(example.words)
    numbers = [number for one in example.mentions for number in (one.start, one.end, one.head)]
    numbers += [*example.tree.heads, *example.tree.counts_as] if example.tree else []
    fits = example.maps.ndim == 4 and example.maps.shape[2:] == (length, length) and len(example.word_of) == length
    fits &= all(type(number) is int for number in numbers)
    fits &= all(word == SPECIAL or 0 <= word < size for word in example.word_of)
    if tree := example.tree:
        fits &= len(tree.heads) == len(tree.relations) == len(tree.counts_as) == size
        fits &= all(head == ROOT or 0 <= head < size for head in tree.heads)
        fits &= all(0 <= word < size for word in tree.counts_as)
    fits &= all(0 <= one.start <= one.head < one.end <= size for one in example.mentions)
    fits &= len(example.key) in (0, size)
    if not fits:
        raise ValueError("tokens, words and maps do not belong together")
