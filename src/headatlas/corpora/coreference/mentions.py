"""Documents with coreferent mentions, as all coreference readers give them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

MentionType = Literal["pronoun", "proper", "nominal"]
MENTION_TYPES: tuple[MentionType, ...] = get_args(MentionType)


@dataclass(frozen=True)
class Mention:
    """A span of words that refers to an entity."""

    start: int  # first word, from 0 in its document
    end: int  # one past the last word
    head: int  # its head word, from 0 in its document
    entity: str
    type: MentionType


@dataclass(frozen=True)
class MentionDocument:
    """A document's words, its sentences and its mentions."""

    id: str  # "file.document", each from 0 in reading order
    path: Path
    line: int  # of the first word, from 1
    words: tuple[str, ...]
    tags: tuple[str, ...]  # part of speech of each word as the file gives it, "" if it gives none
    sentences: tuple[int, ...]  # first word of each sentence
    mentions: tuple[Mention, ...]  # by start, the longer first
