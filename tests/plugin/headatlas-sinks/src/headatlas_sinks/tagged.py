"""Sentences with a tag for every word: one word and its tag per line, a tab between them, an empty line at the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import headatlas as ha


@dataclass(frozen=True)
class TaggedSegment(ha.WordSegment):
    """A sentence with the tag of every word."""

    tags: tuple[str, ...]


class Tagged(ha.CorpusKind):
    """Sentences with a tag for every word."""

    name = "tagged"
    help = "Sentences with a tag for every word: word, tab, tag."
    called = "tagged sentences"
    unit = "sentence"

    def read(self, files: Sequence[Path], tokenizer: Any, reading: ha.Reading) -> ha.Corpus:
        tags: dict[str, tuple[str, ...]] = {}
        words: dict[str, tuple[str, ...]] = {}
        for number, file in enumerate(files):
            for place, block in enumerate(file.read_text(encoding="utf-8").strip().split("\n\n")):
                lines = [line.split("\t") for line in block.splitlines()]
                if wrong := next((line for line in lines if len(line) != 2), None):
                    raise ha.CorpusError(f"'{' '.join(wrong)}' is not a word and its tag.", file)
                name = f"{number}.{place}"
                words[name], tags[name] = zip(*lines, strict=True)
        encoded = ha.word_segments(words, tokenizer, max_tokens=reading.max_tokens)
        segments = [TaggedSegment(**vars(segment), tags=tags[name]) for name, segment in encoded.items()]
        left_out = {"sentence_too_long": len(words) - len(segments)} if len(segments) < len(words) else {}
        return ha.Corpus(segments, {"sentences": len(segments)}, left_out)

    def gold(self, segment: ha.Segment, about: Mapping[str, Any]) -> ha.Gold:
        assert isinstance(segment, TaggedSegment)
        return ha.Gold(key=tuple(tag == "NOUN" for tag in segment.tags))

    def sample(self) -> list[Path]:
        return [Path(__file__).with_name("sample.tsv")]
