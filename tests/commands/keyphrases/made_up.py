"""Documents with keyphrases, small enough to read, for all tests of the room."""

from __future__ import annotations

import json
from pathlib import Path

from headatlas.commands.keyphrases.phrases import Document, phrase_stems, split_words

TEXTS = [
    ("the old man saw a little dog , and the dog ran over to the big river .", ["little dogs", "big river", "cats"]),
    ("she sat by the blue river when it was night .", ["blue river", "night"]),
    ("they have not been in the red house by the water .", ["red house"]),
    ("a good child ate in the old house , and the child was a good model .", ["good child", "old house"]),
]


def document(text: str, *phrases: str, name: str = "0.1") -> Document:
    """A document in words."""
    return Document(name, text, split_words(text), frozenset(map(phrase_stems, phrases)))


def folders_corpus(folder: Path, texts: list[tuple[str, list[str]]]) -> Path:
    """Texts and their keyphrases in two folders, as SemEval's are packed."""
    for kind in ("docsutf8", "keys"):
        (folder / kind).mkdir(parents=True)
    for number, (text, phrases) in enumerate(texts):
        (folder / "docsutf8" / f"{number}.txt").write_text(text, encoding="utf-8")
        (folder / "keys" / f"{number}.key").write_text("\n".join(phrases), encoding="utf-8")
    return folder


def corpus(path: Path, copies: int = 3, start: int = 0) -> Path:
    """The texts as JSON lines, some times over."""
    chosen = [TEXTS[(start + number) % len(TEXTS)] for number in range(copies * len(TEXTS))]
    lines = [json.dumps({"text": text, "keyphrases": phrases}) + "\n" for text, phrases in chosen]
    path.write_text("".join(lines), encoding="utf-8")
    return path
