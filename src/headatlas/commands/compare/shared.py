"""What both models can read alike: the two models loaded again, and segments that are the same for both.

Whatever stands in the way (a model that is gone, weights that changed, tokenizers that differ, a text that is no longer
there) is a `NotSharedError` with the reason; the rest of the comparison does without.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from headatlas.commands.compare.sides import Manifest
from headatlas.corpora.text import TextFormat, read_text
from headatlas.encoding.segments import Segment, sample_segments
from headatlas.errors import ModelError
from headatlas.files import sha256
from headatlas.models.loading import load_model
from headatlas.models.model import Model


class NotSharedError(Exception):
    """Why the heads of two models cannot be compared on the same input."""


@dataclass(frozen=True)
class Reading:
    """A text, and how it is cut into segments."""

    files: Sequence[Path]
    text_format: TextFormat
    segments: int
    max_tokens: int
    seed: int
    options: dict[str, Any]


def choose_reading(
    a: Manifest, b: Manifest, files: Sequence[Path] | None, text_format: TextFormat, segments: int | None
) -> Reading:
    """The text given, or the one that A was surveyed on if it is still there; cut as A's survey did."""
    settings = a["settings"]
    if files is None:
        files, text_format = _surveyed_text(a), settings.get("format", {}).get("text", "auto")
    number = segments or settings.get("segments", 1000)
    longest = min(side["settings"].get("max_tokens", 128) for side in (a, b))
    options = {
        "style": settings.get("segment_style", "auto"),
        "zero_token_types": settings.get("as_published", False),
    }
    return Reading(files, text_format, number, longest, settings["seed"], options)


def load_side(manifest: Manifest, **loading: Any) -> Model:
    """The model that was surveyed, with the very same weights."""
    about = manifest["model"]
    random = about.get("random_weights")
    revision = about.get("commit") or about.get("revision")
    seed = random["seed"] if random else 0
    try:
        model = load_model(about["name"], revision=revision, random_weights=bool(random), seed=seed, **loading)
    except ModelError as error:
        raise NotSharedError(f"a model cannot be loaded any more: {error}") from error
    if model.source.get("weights_sha256") != about.get("weights_sha256"):
        raise NotSharedError(f"the weights of {about['name']} are not those that were surveyed.")
    shape = model.shapes.get(about["attention"])
    if shape is None or list(shape.heads) != about["heads"]:
        raise NotSharedError(f"{about['name']} does not have the heads that were surveyed.")
    return model


def shared_segments(a: Model, b: Model, reading: Reading) -> list[Segment]:
    """Segments that are token for token the same for both tokenizers."""
    if a.tokenizer.get_vocab() != b.tokenizer.get_vocab():
        raise NotSharedError("the two models do not share a tokenizer: their vocabularies differ.")
    found = []
    for model in (a, b):
        sample = sample_segments(
            read_text(reading.files, reading.text_format),
            model.tokenizer,
            count=reading.segments,
            max_tokens=reading.max_tokens,
            seed=reading.seed,
            **reading.options,
        )
        found.append(sample.segments)
    if not _same(*found):
        raise NotSharedError(
            "the two models do not share a tokenizer: same vocabulary, but the text is split otherwise."
        )
    return found[0]


def _same(a: Sequence[Segment], b: Sequence[Segment]) -> bool:
    return len(a) == len(b) and all(
        one.id == other.id and np.array_equal(one.ids, other.ids) for one, other in zip(a, b, strict=True)
    )


def _surveyed_text(manifest: Manifest) -> list[Path]:
    if "text" not in manifest["corpora"]:
        raise NotSharedError("A was not surveyed on a text; give one with --text.")
    files = []
    for record in manifest["corpora"]["text"]["files"]:
        path = Path(record["file"])
        if not path.is_file():
            raise NotSharedError(f"{path}, which A was surveyed on, is not there; give a text with --text.")
        if sha256(path) != record["sha256"]:
            raise NotSharedError(f"{path} has changed since A was surveyed on it; give a text with --text.")
        files.append(path)
    return files
