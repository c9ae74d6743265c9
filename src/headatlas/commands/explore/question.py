"""What the browser asks, checked. Nothing heavy is imported, because the server answers before a model is loaded."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headatlas.errors import SettingError
from headatlas.models.stacks import parse_heads

if TYPE_CHECKING:
    from headatlas.models.stacks import HeadShape

MOST_BYTES = 64 * 1024
_KEYS = {"text", "words", "mask", "target", "removed", "cut", "layers", "by_cut"}
_CUT_KEYS = {"from", "to", "both", "heads"}

Heads = tuple[tuple[int, int], ...]  # layer and head, from 1


@dataclass(frozen=True)
class Cut:
    """Tokens (from 0) that may not attend to others, and the heads to which that applies; None for all."""

    sources: tuple[int, ...]
    targets: tuple[int, ...]
    both: bool = False  # whether the targets may not attend to the sources either
    heads: Heads | None = None


@dataclass(frozen=True)
class Question:
    """A text, what to predict in it, and what to change in the model."""

    text: str
    words: tuple[int, ...] = ()  # to predict, from 0
    mask: bool = True  # whether a masked language model finds a mask in place of these words
    target: int | None = None  # id of the token whose probability is followed; by default the typed or likeliest one
    removed: Heads = ()
    cut: Cut | None = None
    layers: tuple[int, int] | None = None  # the first and the last layer, from 1, whose heads' effects are asked for
    by_cut: bool = False  # whether the effect of each head is that of cutting it, not of removing it


def read_question(body: bytes, shape: HeadShape, model: str) -> Question:
    """Read the question in the body of a request. Raises SettingError if it is malformed."""
    try:
        asked = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise SettingError("The request is not JSON.") from error
    if not isinstance(asked, dict) or not asked.keys() <= _KEYS or "text" not in asked:
        raise SettingError(f"The request must be an object with a text; its only keys are {', '.join(sorted(_KEYS))}.")
    target = asked.get("target")
    if target is not None and not _is_whole(target):
        raise SettingError("The target must be the number of a token.")
    return Question(
        text=_text(asked["text"]),
        words=_places(asked, "words"),
        mask=_flag(asked, "mask", default=True),
        target=target,
        removed=_heads(asked, "removed", shape, model),
        cut=_cut(asked["cut"], shape, model) if asked.get("cut") is not None else None,
        layers=_layers(asked["layers"], shape) if asked.get("layers") is not None else None,
        by_cut=_flag(asked, "by_cut"),
    )


def _cut(asked: Any, shape: HeadShape, model: str) -> Cut:
    if not isinstance(asked, dict) or not {"from", "to"} <= asked.keys() <= _CUT_KEYS:
        raise SettingError("A cut must be an object with from and to; it may also have both and heads.")
    heads = _heads(asked, "heads", shape, model) if asked.get("heads") is not None else None
    return Cut(_places(asked, "from"), _places(asked, "to"), _flag(asked, "both"), heads)


def _layers(asked: Any, shape: HeadShape) -> tuple[int, int]:
    if not isinstance(asked, list) or len(asked) != 2 or not all(map(_is_whole, asked)):
        raise SettingError("Layers must be given as the first and the last, from 1.")
    first, last = asked
    if not 1 <= first <= last <= shape.layers:
        raise SettingError(f"There are no layers {first} to {last}: the model has layers 1 to {shape.layers}.")
    return first, last


def _heads(asked: dict[str, Any], key: str, shape: HeadShape, model: str) -> Heads:
    names = [_text(name) for name in _list(asked, key, shape.total)]
    return tuple(sorted(set(parse_heads(names, shape, model))))


def _places(asked: dict[str, Any], key: str) -> tuple[int, ...]:
    places = _list(asked, key, MOST_BYTES)
    if not all(map(_is_whole, places)):
        raise SettingError(f"{key} must be positions in the text: whole numbers from 0.")
    return tuple(sorted(set(places)))


def _list(asked: dict[str, Any], key: str, most: int) -> list[Any]:
    values = asked.get(key, [])
    if not isinstance(values, list) or len(values) > most:
        raise SettingError(f"{key} must be a list of at most {most:,}.")
    return values


def _flag(asked: dict[str, Any], key: str, default: bool = False) -> bool:
    value = asked.get(key, default)
    if not isinstance(value, bool):
        raise SettingError(f"{key} must be true or false.")
    return value


def _is_whole(value: object) -> bool:
    return type(value) is int and value >= 0


def _text(value: object) -> str:
    """Return a string that UTF-8 can encode, which JSON does not guarantee."""
    if not isinstance(value, str):
        raise SettingError("The text and the names of heads must be strings.")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise SettingError("The text holds half of a surrogate pair. Paste it again from its source.") from error
    return value
