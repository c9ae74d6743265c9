"""A small treebank and text, and sentences encoded for tiny models."""

from __future__ import annotations

import pytest

from headatlas.corpora.treebanks.read import read_treebank
from headatlas.encoding.word_segments import parsed_segments

SENTENCES = (
    ("the old man saw a little dog", (3, 3, 4, 0, 7, 7, 4), "det amod nsubj root det amod obj"),
    ("she sat by the river .", (2, 0, 5, 5, 2, 2), "nsubj root case det obl punct"),
    ("unhappily \u200b they ran", (4, 4, 4, 0), "advmod dep nsubj root"),  # a split word, and one without tokens
    ("look", (0,), "root"),
    ("the dog 's house is big , and the cat ate", (4, 1, 2, 6, 6, 0, 11, 11, 10, 11, 6), None),
)


@pytest.fixture(scope="session")
def treebank(tmp_path_factory):
    """Three documents of five sentences in CoNLL-U."""
    path = tmp_path_factory.mktemp("treebank") / "trees.conllu"
    blocks = []
    for document in range(3):
        for place, (text, heads, labels) in enumerate(SENTENCES):
            words = text.split(" ")
            relations = labels.split() if labels else ["root" if head == 0 else "dep" for head in heads]
            rows = [
                f"{number}\t{word}\t_\t_\t_\t_\t{head}\t{relation}\t_\t_"
                for number, (word, head, relation) in enumerate(zip(words, heads, relations, strict=True), 1)
            ]
            blocks.append("\n".join(([f"# newdoc id = {document}"] if place == 0 else []) + rows))
    path.write_text("\n\n".join(blocks) + "\n\n", encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def text(tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "text.txt"
    lines = ("the old man saw a dog, and it ran.", "she sat by the river.", "it was night.", "a cat ate the fire.")
    path.write_text("\n\n".join("\n".join(lines[k:] + lines[:k]) for k in range(4)) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def sample_for(treebank):
    """The treebank's sentences, encoded for a model."""
    return lambda model: parsed_segments(read_treebank([treebank]), model.tokenizer, max_tokens=60)
