"""What the browser may ask: a text, the words to predict, the heads to remove. Everything is checked."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from headatlas.errors import SettingError
from headatlas.models.heads import check_head, parse_head
from headatlas.models.stacks import HeadShape

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
