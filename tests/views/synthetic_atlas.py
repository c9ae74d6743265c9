"""A whole atlas in memory, of any size, with made-up values and examples of every kind: what the page is made from."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from headatlas.corpora.coreference.mentions import Mention
from headatlas.results.atlas import Atlas
from headatlas.results.example import Example, Tree
from tests.views.synthetic_tables import all_tables

RELATIONS = ("all", "all_but_root", "det", "dobj", "nsubj")
WORDS = ("The", "old", "man", "saw", "a", "little", "dog", ".")
TREE = Tree(
    (2, 2, 3, -1, 6, 6, 3, 3), ("det", "amod", "nsubj", "root", "det", "amod", "dobj", "punct"), tuple(range(8))
)
MENTIONS = (Mention(0, 3, 2, "man", "nominal"), Mention(4, 7, 6, "dog", "nominal"), Mention(6, 7, 6, "man", "pronoun"))


class SyntheticAtlas(Atlas):
    """An atlas that was never written."""

    def __init__(
        self, folder: Path, tables: dict[str, pd.DataFrame], manifest: dict[str, Any], examples: list[Example]
    ) -> None:
        super().__init__(folder)
        self.__dict__ |= {"tables": tables, "manifest": manifest, "examples": examples, "relation_examples": []}


def synthetic_atlas(
    folder: Path, heads: Sequence[int], examples: int = 6, words: Sequence[str] = WORDS, **names: str
) -> SyntheticAtlas:
    """Tables for all views; `names` change what the manifest says of the model, `words` those of the examples."""
    dice = np.random.default_rng(0)
    every = [(layer, head) for layer, number in enumerate(heads, 1) for head in range(1, number + 1)]
    tables = {**all_tables(heads), **classifier_tables(every, dice), **similarity_tables(every, dice)}
    tables["importance"] = pd.DataFrame(every, columns=["layer", "head"]).assign(value=dice.uniform(size=len(every)))
    model = {"name": "made-up", "class": "BertModel", "heads": list(heads), "layers": len(heads)} | names
    model["special_tokens"] = {"cls": "[CLS]", "sep": "[SEP]"}
    text = {"segments": 3, "tokens": 300, "segments_available": 5, "documents": 2, "files": [{"file": "a.txt"}]}
    trees = {"sentences": 2, "words": 16, "documents": 1, "files": [{"file": "b.conllu"}], "label_set": "stanford"}
    corpora = {"text": text | {"left_out": {"line_without_a_partner": 1234}}, "treebank": trees | {"left_out": {}}}
    manifest = {
        "model": model,
        "corpora": corpora,
        "settings": {"seed": 7},
        "studies_skipped": {"gradients": "no head"},
    }
    return SyntheticAtlas(
        folder, tables, manifest, [made_up_example(number, heads, words, dice) for number in range(examples)]
    )


def made_up_example(number: int, heads: Sequence[int], words: Sequence[str], dice: np.random.Generator) -> Example:
    """Text, treebank and coreference in turn; the second word has two tokens."""
    tokens = ["[CLS]", words[0], words[1], "##x", *words[2:], "[SEP]"]
    word_of = [-1, 0, 1, 1, *range(2, len(words)), -1]
    maps = dice.dirichlet(np.full(len(tokens), 0.2), size=(len(heads), max(heads), len(tokens))).astype(np.float32)
    kind = number % 3
    fits = len(words) == len(WORDS)
    tree = TREE if kind == 1 and fits else None
    mentions = MENTIONS if kind == 2 and fits else ()
    return Example(tokens, word_of, maps, tuple(words), ("text", "treebank", "coreference")[kind], tree, mentions)


def classifier_tables(every: Sequence[tuple[int, int]], dice: np.random.Generator) -> dict[str, pd.DataFrame]:
    ways = ("dependent_to_head", "head_to_dependent")
    rows = [(relation, *head, way, 5, 10, dice.uniform()) for relation in RELATIONS for head in every for way in ways]
    columns = ["relation", "layer", "head", "direction", "correct", "count", "accuracy"]
    table = pd.DataFrame(rows, columns=columns).assign(low=0.2, high=0.7)
    best = table.loc[table.groupby("relation")["accuracy"].idxmax()].drop(columns="correct")
    best = best.assign(
        held_out=0.5, baseline=0.3, baseline_offset=-1, baseline_held_out=0.3, p_value=0.001, control=np.nan
    ).assign(baseline_low=0.2, baseline_high=0.4)
    return {"dependencies": table, "dependency_best": best.reset_index(drop=True)}


def similarity_tables(every: Sequence[tuple[int, int]], dice: np.random.Generator) -> dict[str, pd.DataFrame]:
    first, second = (np.array(every)[places] for places in np.triu_indices(len(every), 1))
    ends = np.hstack([first, second])
    distances = pd.DataFrame(ends, columns=["layer_a", "head_a", "layer_b", "head_b"])
    distances = distances.assign(value=dice.uniform(size=len(ends)), count=3)
    places = pd.DataFrame(every, columns=["layer", "head"]).assign(x=dice.normal(size=len(every)))
    places = places.assign(y=dice.normal(size=len(every)), cluster=dice.integers(1, 4, size=len(every)))
    labels = [
        (*every[0], "broad", 0.9, "0.9 of uniform", "state"),
        (*every[-1], "previous token", 0.8, "80 % of its attention", "label"),
    ]
    behaviours = pd.DataFrame(labels, columns=["layer", "head", "label", "strength", "evidence", "kind"])
    return {"head_distances": distances, "head_map": places, "behaviours": behaviours}
