"""Words in each relation of a treebank, or coreferent in a document, with the heads that an atlas found for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from headatlas.commands.ablate.matched_words import RelationWords, Word
from headatlas.corpora.coreference.read import CoreferenceFormat, read_coreference
from headatlas.corpora.treebanks.read import TreebankFormat, read_treebank
from headatlas.corpora.treebanks.sentence import ROOT
from headatlas.encoding.mention_segments import mention_segments
from headatlas.encoding.template import SPECIAL
from headatlas.encoding.word_segments import WordSegment, parsed_segments
from headatlas.errors import SettingError
from headatlas.models.model import Model
from headatlas.results.atlas import Atlas, open_atlas
from headatlas.studies.coreference_baselines import antecedents
from headatlas.studies.dependencies import READINGS

CANDIDATES = "preceding"  # mentions: from which the coreference heads compared with the paper choose


@dataclass(frozen=True)
class CausalCorpus:
    """Segments, their words' parts of speech, and the relations to test in them."""

    name: str
    segments: Sequence[WordSegment]
    tags: Sequence[Sequence[str]]
    relations: Sequence[RelationWords]
    left_out: Counter[str] = field(default_factory=Counter)

    @property
    def usable(self) -> list[Word]:
        """Words that have a token."""
        return [
            (number, int(word))
            for number, segment in enumerate(self.segments)
            for word in np.unique(segment.words[segment.words != SPECIAL])
        ]


def open_atlas_of(model: Model, folder: str | Path) -> Atlas:
    """The atlas of this very model."""
    atlas = open_atlas(folder)
    surveyed: dict[str, Any] = atlas.manifest.get("model", {})
    if surveyed.get("weights_sha256") != model.source.get("weights_sha256") or surveyed.get("attention") != "encoder":
        raise SettingError(
            f"{folder}: is an atlas of {surveyed.get('name')} with other weights than {model.name} has here. "
            f"Survey this model first: headatlas survey {model.name} --treebank FILE --out DIR"
        )
    return atlas


def dependency_words(
    model: Model, atlas: Atlas, files: Sequence[Path], layout: TreebankFormat, max_tokens: int
) -> CausalCorpus:
    """Dependents of each relation that the atlas has a best head for."""
    if "dependency_best" not in atlas.tables:
        raise SettingError(f"{atlas.folder}: no treebank was surveyed, so no head was found for any relation.")
    left_out: Counter[str] = Counter()
    trees = list(read_treebank(files, layout, left_out))
    sample = parsed_segments(trees, model.tokenizer, max_tokens=max_tokens)
    tags = {tree.id: tree.tags for tree in trees}
    words: dict[str, set[Word]] = {}
    for number, segment in enumerate(sample.segments):
        for word, (relation, head) in enumerate(zip(segment.relations, segment.heads, strict=True)):
            if head != ROOT:
                words.setdefault(sample.relations[relation], set()).add((number, word))
    relations = [
        RelationWords(name, layer, head, frozenset(words.get(name, ())))
        for name, layer, head in _best_heads(atlas.tables["dependency_best"], "relation")
        if name not in READINGS
    ]
    left_out.update(sample.left_out)
    return CausalCorpus("treebank", sample.segments, [tags[one.id] for one in sample.segments], relations, left_out)


def coreferent_words(
    model: Model, atlas: Atlas, files: Sequence[Path], layout: CoreferenceFormat, max_tokens: int
) -> CausalCorpus:
    """Head words of mentions that have an antecedent, by type of mention."""
    if "coreference_best" not in atlas.tables:
        raise SettingError(f"{atlas.folder}: no coreference was surveyed, so no head was found for it.")
    left_out: Counter[str] = Counter()
    sample = mention_segments(
        read_coreference(files, layout, left_out), model.tokenizer, max_tokens=max_tokens, windows=True
    )
    words: dict[str, set[Word]] = {}
    for number, segment in enumerate(sample.segments):
        for mention, same in zip(segment.mentions, antecedents(segment.mentions), strict=True):
            if same:
                for kind in ("all", mention.type):
                    words.setdefault(kind, set()).add((number, mention.head))
    best = atlas.tables["coreference_best"]
    relations = [
        RelationWords(f"coreference:{name}", layer, head, frozenset(words.get(name, ())))
        for name, layer, head in _best_heads(best[best["candidates"] == CANDIDATES], "mention_type")
    ]
    left_out.update(sample.left_out)
    return CausalCorpus("coreference", sample.segments, [one.tags for one in sample.segments], relations, left_out)


def _best_heads(best: pd.DataFrame, name: str) -> list[tuple[str, int, int]]:
    """Name, layer and head (from 0) of each row."""
    return [(row[name], int(row["layer"]) - 1, int(row["head"]) - 1) for row in best.to_dict("records")]
