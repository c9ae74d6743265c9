"""Short inputs with all their attention maps, stored in the atlas to show heads at work.

An input from a treebank keeps its tree, one from a coreference corpus its mentions, one from a corpus that marks words
the marks, so that the page can show what a head gets right. All examples of an atlas are in one safetensors file, with
maps in float16. Heads that follow a dependency relation, each on one sentence (figure 5), are in another such file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors import numpy as safetensors_numpy

from headatlas.corpora.coreference.mentions import Mention
from headatlas.corpora.treebanks.sentence import ROOT
from headatlas.encoding.template import SPECIAL
from headatlas.engine.corpora.kind import Tree
from headatlas.errors import AtlasError
from headatlas.files import json_text, parse_json, safetensors_metadata, write_atomically
from headatlas.limits import LARGEST_EXAMPLES, read_within

RELATION_EXAMPLES = "relation_examples.safetensors"  # of an atlas
EXAMPLES = "examples.safetensors"

Made = TypeVar("Made")


@dataclass(frozen=True)
class Example:
    """The tokens of one input and the map of every head."""

    tokens: list[str]
    word_of: list[int]  # word index of each token, SPECIAL for special tokens
    maps: NDArray[np.float32]  # [layers, heads, n, n]; zero where a layer has fewer heads
    words: tuple[str, ...] = ()
    corpus: str = "text"  # the kind of corpus
    tree: Tree | None = None
    mentions: tuple[Mention, ...] = ()
    key: tuple[bool, ...] = ()  # whether the corpus marks each word, if it marks any

    @property
    def special(self) -> list[bool]:
        """Whether each token is special, that is, belongs to no word."""
        return [word == SPECIAL for word in self.word_of]


def save_examples(examples: Sequence[Example], path: Path) -> None:
    """Write all examples into one file."""
    described = [
        {name: value for name, value in vars(example).items() if name != "maps"}
        | {"tree": example.tree and vars(example.tree), "mentions": [vars(mention) for mention in example.mentions]}
        for example in examples
    ]
    save_described(path, described, [example.maps for example in examples])


def load_examples(path: Path) -> list[Example]:
    """Read the examples of `save_examples`."""
    return load_described(path, _example)


def save_described(path: Path, described: Sequence[dict[str, Any]], maps: Iterable[NDArray[np.floating]]) -> None:
    """Write maps as float16 into a safetensors file, with what describes each as JSON in its metadata."""
    arrays = {str(number): weights.astype(np.float16) for number, weights in enumerate(maps)}
    content = safetensors_numpy.save(arrays, metadata={"examples": json_text(described)})
    write_atomically(path, lambda temporary: temporary.write_bytes(content))


def load_described(path: Path, make: Callable[[dict[str, Any], NDArray[np.float32]], Made]) -> list[Made]:
    """Make an object of each description and its maps; none without the file, AtlasError if it is damaged."""
    if not path.exists():
        return []
    try:
        content = read_within(path, LARGEST_EXAMPLES)
        maps = safetensors_numpy.load(content)
        described = parse_json(safetensors_metadata(content)["examples"])
        return [make(about, maps[str(number)].astype(np.float32)) for number, about in enumerate(described)]
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
        key=tuple(map(bool, about["key"])),
    )
    _check(example)
    return example


def _check(example: Example) -> None:
    """Raise ValueError if tokens, words, gold and maps do not fit together."""
    length, size = len(example.tokens), len(example.words)
    numbers = [number for mention in example.mentions for number in (mention.start, mention.end, mention.head)]
    numbers += [*example.tree.heads, *example.tree.counts_as] if example.tree else []
    fits = example.maps.ndim == 4 and example.maps.shape[2:] == (length, length) and len(example.word_of) == length
    fits &= all(type(number) is int for number in numbers)
    fits &= all(word == SPECIAL or 0 <= word < size for word in example.word_of)
    if tree := example.tree:
        fits &= len(tree.heads) == len(tree.relations) == len(tree.counts_as) == size
        fits &= all(head == ROOT or 0 <= head < size for head in tree.heads)
        fits &= all(0 <= word < size for word in tree.counts_as)
    fits &= all(0 <= mention.start <= mention.head < mention.end <= size for mention in example.mentions)
    fits &= len(example.key) in (0, size)
    if not fits:
        raise ValueError("tokens, words and maps do not fit together")


@dataclass(frozen=True)
class RelationExample:
    """One head (layer and head from 1) on one sentence, with the pairs of words that stand in the relation."""

    relation: str
    layer: int
    head: int
    direction: str  # dependent_to_head or head_to_dependent: which of the two attends; or mention_to_antecedent
    words: tuple[str, ...]
    weights: NDArray[np.floating]  # [words, words], row = from
    pairs: tuple[tuple[int, int], ...]  # (dependent, head) in the sentence, words from 0
    accuracy: float | None = None  # share of dependents that the head gets right, 0 to 1
    remark: str = ""  # for a caption, in place of the accuracy


def save_relation_examples(examples: Sequence[RelationExample], path: Path) -> None:
    """Write all examples into one file."""
    described = [{name: value for name, value in vars(example).items() if name != "weights"} for example in examples]
    save_described(path, described, [example.weights for example in examples])


def load_relation_examples(path: Path) -> list[RelationExample]:
    """Read the examples of `save_relation_examples`."""
    return load_described(path, _relation_example)


def _relation_example(about: dict[str, Any], weights: NDArray[np.float32]) -> RelationExample:
    pairs = tuple((int(dependent), int(head)) for dependent, head in about["pairs"])
    words = tuple(map(str, about["words"]))
    if weights.shape != (len(words), len(words)) or any(not 0 <= end < len(words) for pair in pairs for end in pair):
        raise ValueError("words, pairs and maps do not fit together")
    if not all(type(about[name]) is int for name in ("layer", "head")):
        raise ValueError("layer and head are not numbers")
    return RelationExample(**about | {"words": words, "pairs": pairs, "weights": weights})
