"""One short input with all its attention maps, kept in the atlas so that heads can be shown at work."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors import numpy as safetensors_numpy
from torch import Tensor

from headatlas.encoding.batches import make_batch
from headatlas.encoding.kinds import KindTable
from headatlas.encoding.segments import Segment
from headatlas.encoding.template import SPECIAL
from headatlas.errors import AtlasError
from headatlas.files import safetensors_metadata, write_atomically
from headatlas.models.model import Model
from headatlas.models.stacks import Stack

FITTING_TOKENS = 28  # as many as a picture shows well


@dataclass(frozen=True)
class Example:
    """Tokens of one input and what every head makes of them."""

    tokens: list[str]
    special: list[bool]  # true where a token belongs to no word
    maps: NDArray[np.float32]  # [layers, heads, n, n]; zero where a layer has fewer heads


def choose_example(segments: Sequence[Segment]) -> Segment:
    """The segment nearest to a picture's length, cut where it is longer."""
    nearest = min(segments, key=lambda segment: (abs(len(segment) - FITTING_TOKENS), segment.id))
    return shorten(nearest, FITTING_TOKENS)


def shorten(segment: Segment, most_tokens: int) -> Segment:
    """Keep the special tokens and the beginning of each span between them."""
    special = segment.words == SPECIAL
    spans = np.cumsum(special) * ~special  # the span a text token belongs to, by the specials before it
    names = sorted(set(spans[~special].tolist()))
    room = (most_tokens - int(special.sum())) // max(1, len(names))
    keep = special.copy()
    for span in names:
        keep[np.flatnonzero((spans == span) & ~special)[:room]] = True
    return Segment(segment.id, segment.ids[keep], segment.type_ids[keep], segment.words[keep])


def make_example(model: Model, segment: Segment, kinds: KindTable, stack: Stack) -> Example:
    """Run one segment and keep its maps."""
    shape = model.shapes[stack]
    maps = np.zeros((shape.layers, shape.most_heads, len(segment), len(segment)), dtype=np.float32)

    def keep(layer: int, weights: Tensor, _mask: Tensor | None) -> None:
        maps[layer, : weights.shape[1]] = weights[0].to("cpu", torch.float32).numpy()

    model.observe(make_batch([segment], kinds, model.pad_id).to(model.device), keep, stack)
    tokens = model.tokenizer.convert_ids_to_tokens(segment.ids.tolist())
    return Example(list(tokens), (segment.words == SPECIAL).tolist(), maps)


def save_example(example: Example, path: Path) -> None:
    """Write tokens and maps (float16) into one safetensors file."""
    metadata = {"tokens": json.dumps(example.tokens), "special": json.dumps(example.special)}
    content = safetensors_numpy.save({"maps": example.maps.astype(np.float16)}, metadata=metadata)
    write_atomically(path, lambda temporary: temporary.write_bytes(content))


def load_example(path: Path) -> Example:
    """Read an example back."""
    try:
        content = path.read_bytes()
        maps = safetensors_numpy.load(content)["maps"].astype(np.float32)
        metadata = safetensors_metadata(content)
        return Example(json.loads(metadata["tokens"]), json.loads(metadata["special"]), maps)
    except (SafetensorError, KeyError, ValueError, TypeError) as error:
        raise AtlasError(f"{path}: damaged ({error}). Run the survey again.") from error
