"""Two parts of the embedded sample, and word vectors for some of its words, for what trains and scores."""

from __future__ import annotations

from pathlib import Path

from headatlas.corpora.sample import sample_treebank


def write_parts(folder: Path, train: int, dev: int) -> Path:
    """train.conllu with so many sentences, dev.conllu with so many after them, vectors.txt; the folder again."""
    blocks = sample_treebank().read_text(encoding="utf-8").strip().split("\n\n")
    for name, part in (("train", blocks[:train]), ("dev", blocks[train : train + dev])):
        (folder / f"{name}.conllu").write_text("\n\n".join(part) + "\n\n", encoding="utf-8")
    (folder / "vectors.txt").write_text("the 1 0.5\nof 0 1\nand -1 0\n. 0.1 0.2\n", encoding="utf-8")
    return folder
