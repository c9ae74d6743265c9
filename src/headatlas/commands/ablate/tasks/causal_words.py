"""Words of the causal test: those at either end of a relation, and words like them that take no part in it.

Of the two ends of a relation, one attends and the other is attended to, as the head was found (`direction`). A matched
word stands at neither end. It has the same part of speech or, if the corpus gives none, is about as frequent (the same
power of two). It comes from the same input if possible, else from another, and is used once per relation and end.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from headatlas.commands.ablate.options import AblateOptions
from headatlas.corpora.coreference.read import read_coreference
from headatlas.corpora.treebanks.read import read_treebank
from headatlas.corpora.treebanks.sentence import ROOT
from headatlas.encoding.mention_segments import mention_segments
from headatlas.encoding.template import SPECIAL
from headatlas.encoding.word_segments import WordSegment, parsed_segments
from headatlas.errors import SettingError
from headatlas.models.model import Model
from headatlas.results.atlas import Atlas
from headatlas.studies.coreference_baselines import antecedents
from headatlas.studies.coreference_findings import REWORDED
from headatlas.studies.dependencies import READINGS

ENDS = ("attending", "attended")
CANDIDATES = "preceding"  # mentions: the coreference heads compared with the paper choose among these
TO_ANTECEDENT = "mention_to_antecedent"

Word = tuple[int, int]  # segment and word, from 0
Words = frozenset[Word]


@dataclass(frozen=True)
class Relation:
    """A relation, the head found for it (layer and head, from 0), and the words at its two ends."""

    name: str
    layer: int
    head: int
    direction: str
    ends: Mapping[str, Words]  # of ENDS


@dataclass(frozen=True)
class MatchedWords:
    """Pairs of a word in the relation and a word like it; the number of words without a match."""

    pairs: tuple[tuple[Word, Word], ...]
    unmatched: int

    @property
    def same_input(self) -> float:
        """The share of pairs whose words come from one input."""
        return sum(word[0] == match[0] for word, match in self.pairs) / len(self.pairs)


@dataclass(frozen=True)
class CausalCorpus:
    """Segments, their words' parts of speech, and the relations to test in them."""

    name: str
    segments: Sequence[WordSegment]
    tags: Sequence[Sequence[str]]
    relations: Sequence[Relation]
    left_out: Counter[str] = field(default_factory=Counter)

    @property
    def usable(self) -> list[Word]:
        """Words that have a token."""
        return [
            (number, int(word))
            for number, segment in enumerate(self.segments)
            for word in np.unique(segment.words[segment.words != SPECIAL])
        ]

    def match_words(self, options: AblateOptions) -> list[dict[str, MatchedWords]]:
        """Match the words at both ends of every relation."""
        class_of, usable = word_classes(self.segments, self.tags), self.usable
        return [
            {end: match_words(relation, end, usable, class_of, most=options.words, seed=options.seed) for end in ENDS}
            for relation in self.relations
        ]


def dependency_words(model: Model, atlas: Atlas, files: Sequence[Path], options: AblateOptions) -> CausalCorpus:
    """Dependents and heads of each relation that the atlas has a best head for."""
    if "dependency_best" not in atlas.tables:
        raise SettingError(f"{atlas.folder}: no treebank was surveyed, so no head was found for any relation.")
    left_out: Counter[str] = Counter()
    trees = list(read_treebank(files, options.format_of("treebank"), left_out))
    sample = parsed_segments(trees, model.tokenizer, max_tokens=options.max_tokens)
    tags = {tree.id: tree.tags for tree in trees}
    dependents: dict[str, set[Word]] = defaultdict(set)
    heads: dict[str, set[Word]] = defaultdict(set)
    for number, segment in enumerate(sample.segments):
        for word, (relation, head) in enumerate(zip(segment.relations, segment.heads, strict=True)):
            if head != ROOT:
                dependents[sample.relations[relation]].add((number, word))
                heads[sample.relations[relation]].add((number, int(head)))
    relations = []
    for name, layer, head, direction in _best_heads(atlas.tables["dependency_best"], "relation"):
        ends = (dependents[name], heads[name])
        attending, attended = ends if direction == "dependent_to_head" else ends[::-1]
        if name not in READINGS:
            words = {"attending": frozenset(attending), "attended": frozenset(attended)}
            relations.append(Relation(name, layer, head, direction, words))
    left_out.update(sample.left_out)
    tags_of_segments = [tags[segment.id] for segment in sample.segments]
    return CausalCorpus("treebank", sample.segments, tags_of_segments, relations, left_out)


def coreferent_words(model: Model, atlas: Atlas, files: Sequence[Path], options: AblateOptions) -> CausalCorpus:
    """Head words of mentions that have an antecedent, by type of mention, and of their nearest antecedents."""
    if "coreference_best" not in atlas.tables:
        raise SettingError(f"{atlas.folder}: no coreference was surveyed, so no head was found for it.")
    left_out: Counter[str] = Counter()
    documents = read_coreference(files, options.format_of("coreference"), left_out)
    sample = mention_segments(documents, model.tokenizer, max_tokens=options.max_tokens, windows=True)
    words: dict[tuple[str, str], set[Word]] = defaultdict(set)
    for number, segment in enumerate(sample.segments):
        for mention, same in zip(segment.mentions, antecedents(segment.mentions), strict=True):
            for kind in ("all", mention.type) if same else ():
                words[kind, "attending"].add((number, mention.head))
                words[kind, "attended"].add((number, segment.mentions[same[-1]].head))
    best = atlas.tables["coreference_best"]
    best = best[(best["candidates"] == CANDIDATES) & (best["mention_type"] != REWORDED)].assign(direction=TO_ANTECEDENT)
    relations = [
        Relation(f"coreference:{name}", layer, head, direction, {end: frozenset(words[name, end]) for end in ENDS})
        for name, layer, head, direction in _best_heads(best, "mention_type")
    ]
    left_out.update(sample.left_out)
    tags = [segment.tags for segment in sample.segments]
    return CausalCorpus("coreference", sample.segments, tags, relations, left_out)


def _best_heads(best: pd.DataFrame, name: str) -> list[tuple[str, int, int, str]]:
    """Name, layer and head (from 0), and direction of each row."""
    return [
        (row[name], int(row["layer"]) - 1, int(row["head"]) - 1, row["direction"]) for row in best.to_dict("records")
    ]


def word_classes(segments: Sequence[WordSegment], tags: Sequence[Sequence[str]]) -> Callable[[Word], str]:
    """What must agree for two words to match: the tag or, without tags, the band of frequency."""
    counts = Counter(text.lower() for segment in segments for text in segment.text)

    def class_of(word: Word) -> str:
        segment, place = word
        return tags[segment][place] or f"band {counts[segments[segment].text[place].lower()].bit_length()}"

    return class_of


def match_words(
    relation: Relation, end: str, usable: Iterable[Word], class_of: Callable[[Word], str], *, most: int, seed: int
) -> MatchedWords:
    """Up to `most` words at one end, drawn by the seed, each with a match among the words outside the relation."""
    rng = random.Random(f"{seed} match {relation.name} {end}")
    outside: dict[str, dict[int, list[Word]]] = defaultdict(lambda: defaultdict(list))  # class -> segment -> words
    inside = []
    taking_part = frozenset[Word]().union(*relation.ends.values())
    for word in sorted(usable):
        if word in relation.ends[end]:
            inside.append(word)
        elif word not in taking_part:
            outside[class_of(word)][word[0]].append(word)
    chosen = sorted(rng.sample(inside, min(most, len(inside))))
    pairs: list[tuple[Word, Word]] = []
    for word in chosen:
        alike = outside[class_of(word)]
        if not alike:
            continue
        segment = word[0] if word[0] in alike else rng.choice(sorted(alike))
        match = alike[segment].pop(rng.randrange(len(alike[segment])))
        if not alike[segment]:
            del alike[segment]
        pairs.append((word, match))
    return MatchedWords(tuple(pairs), len(chosen) - len(pairs))
