"""The causal test of a head's job: does the model need the head where the head attends to something meaningful?

A head was found that tracks a relation: it attends from a word to its object, say. Here it is removed, and the masked
language model loss is taken on words that stand in the relation and on words like them that do not (`match_words`),
each word masked whole in an input of its own. The loss of a word is the mean over its tokens, in nats.

- effect = (rise of the loss on words in the relation) - (rise on matched words), of the head;
- control_effect = the same, mean over other heads of the same layer, drawn by the seed;
- lead = effect - control_effect, with its bootstrap interval over sentences; the p value is that of a sign-flip test
  over sentences of the null hypothesis that lead is not above 0.

A matched word has the same part of speech or, if the corpus gives none, is about as frequent (the same power of two).
It comes from the same sentence if possible, else from another, and is never used twice. Words without a match are
counted and not used.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from headatlas.commands.ablate.options import FEWEST_PAIRS, AblateOptions
from headatlas.commands.ablate.passes import Floats, HeadPlace, HeadRemoval, Replaying, find_replacement
from headatlas.commands.ablate.task import ExampleBatch
from headatlas.commands.ablate.task_run import NO_TABLES, SIGNIFICANT, TaskResult
from headatlas.commands.ablate.tasks import NEEDS
from headatlas.commands.ablate.tasks.token_prediction import TokenPrediction, require_language_model
from headatlas.corpora.coreference.read import read_coreference
from headatlas.corpora.treebanks.read import read_treebank
from headatlas.corpora.treebanks.sentence import ROOT
from headatlas.encoding.batches import make_batch, plan_batches
from headatlas.encoding.masking import IGNORED
from headatlas.encoding.mention_segments import mention_segments
from headatlas.encoding.shards import Shard
from headatlas.encoding.template import SPECIAL
from headatlas.encoding.word_segments import WordSegment, parsed_segments
from headatlas.engine.progress import TokenProgress
from headatlas.engine.run_folder import UNSAVED, Arrays, RunPart
from headatlas.errors import CorpusError, SettingError
from headatlas.models.model import Model
from headatlas.models.stacks import HeadShape
from headatlas.results.atlas import Atlas, open_atlas
from headatlas.statistics.paired import holm
from headatlas.statistics.resampling import percentile_interval, permutation_p_value, poisson_weights, signs
from headatlas.studies.coreference_baselines import antecedents
from headatlas.studies.coreference_findings import REWORDED
from headatlas.studies.dependencies import READINGS

CANDIDATES = "preceding"  # mentions: the coreference heads compared with the paper choose among these


def run_causal(model: Model, files: Mapping[str, list[Path]], options: AblateOptions, pieces: RunPart) -> TaskResult:
    """Test every relation that has enough words with a match; count the rest."""
    require_language_model(model, "masked", "causal")
    atlas = _open_atlas_of(model, options.atlas or "")
    readers = {"treebank": _dependency_words, "coreference": _coreferent_words}
    corpora = [readers[name](model, atlas, files[name], options) for name in readers if name in files]
    shard = Shard.parse(options.shard) if options.shard else None
    left_out: Counter[str] = Counter()
    rows = []
    replaying = Replaying()
    for corpus in corpora:
        left_out.update(corpus.left_out)
        matched = corpus.match_words(options)
        tested = [relation for relation in corpus.relations if len(matched[relation.name].pairs) >= FEWEST_PAIRS]
        left_out["relation_with_few_matched_words"] += len(corpus.relations) - len(tested)
        sizes = {name: corpus.count_tokens(words) for name, words in matched.items()}
        total = sum(sizes[relation.name] for relation in tested)
        with TokenProgress(f"causal: {corpus.name}", total, show=options.progress) as bar:
            for number, relation in enumerate(tested):
                if shard is not None and not shard.holds(relation.name):
                    continue
                words = matched[relation.name]
                left_out["word_without_match"] += words.unmatched
                of_relation = pieces.part(f"{corpus.name}-{number:04}")
                rows.append(try_relation(model, corpus.segments, relation, words, options, replaying, of_relation))
                bar.advance(sizes[relation.name], relation.name)
    if shard is not None:  # its pieces are kept; the table needs all relations
        return NO_TABLES
    if not rows:
        raise CorpusError(
            f"No relation has {FEWEST_PAIRS} words with a word like them outside it. Give a larger treebank or corpus."
        )
    table = pd.DataFrame(rows)
    table = table.assign(p_holm=holm(table["p_value"].to_numpy(dtype=np.float64)))  # corrected for all relations
    needed = sorted(table.loc[table["p_holm"] < SIGNIFICANT, "relation"])
    about = {"segments": sum(len(corpus.segments) for corpus in corpora)}
    omitted = {reason: count for reason, count in left_out.items() if count}
    summary: dict[str, Any] = {"relations": len(table), "needed": needed}
    return TaskResult({"causal": table}, about, omitted, summary)


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

    def match_words(self, options: AblateOptions) -> dict[str, MatchedWords]:
        """Match the words of every relation."""
        class_of, usable = word_classes(self.segments, self.tags), self.usable
        return {
            relation.name: match_words(relation, usable, class_of, most=options.words, seed=options.seed)
            for relation in self.relations
        }

    def count_tokens(self, words: MatchedWords) -> int:
        """Tokens of the inputs in which these words are masked."""
        return sum(len(self.segments[word[0]]) for pair in words.pairs for word in pair)


def _open_atlas_of(model: Model, folder: str | Path) -> Atlas:
    """Open a survey; refuse one of another model."""
    atlas = open_atlas(folder)
    surveyed: dict[str, Any] = atlas.manifest.get("model", {})
    if surveyed.get("weights_sha256") != model.source.get("weights_sha256") or surveyed.get("attention") != "encoder":
        raise SettingError(
            f"{folder}: is an atlas of {surveyed.get('name')} with other weights than {model.name}. "
            f"Survey this model first: headatlas survey {model.name} --treebank FILE --out DIR"
        )
    return atlas


def _dependency_words(model: Model, atlas: Atlas, files: Sequence[Path], options: AblateOptions) -> CausalCorpus:
    """Dependents of each relation that the atlas has a best head for."""
    if "dependency_best" not in atlas.tables:
        raise SettingError(f"{atlas.folder}: no treebank was surveyed, so no head was found for any relation.")
    left_out: Counter[str] = Counter()
    trees = list(read_treebank(files, options.format_of("treebank"), left_out))
    sample = parsed_segments(trees, model.tokenizer, max_tokens=options.max_tokens)
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
    tags_of_segments = [tags[segment.id] for segment in sample.segments]
    return CausalCorpus("treebank", sample.segments, tags_of_segments, relations, left_out)


def _coreferent_words(model: Model, atlas: Atlas, files: Sequence[Path], options: AblateOptions) -> CausalCorpus:
    """Head words of mentions that have an antecedent, by type of mention."""
    if "coreference_best" not in atlas.tables:
        raise SettingError(f"{atlas.folder}: no coreference was surveyed, so no head was found for it.")
    left_out: Counter[str] = Counter()
    documents = read_coreference(files, options.format_of("coreference"), left_out)
    sample = mention_segments(documents, model.tokenizer, max_tokens=options.max_tokens, windows=True)
    words: dict[str, set[Word]] = {}
    for number, segment in enumerate(sample.segments):
        for mention, same in zip(segment.mentions, antecedents(segment.mentions), strict=True):
            if same:
                for kind in ("all", mention.type):
                    words.setdefault(kind, set()).add((number, mention.head))
    best = atlas.tables["coreference_best"]
    best = best[best["mention_type"] != REWORDED]
    relations = [
        RelationWords(f"coreference:{name}", layer, head, frozenset(words.get(name, ())))
        for name, layer, head in _best_heads(best[best["candidates"] == CANDIDATES], "mention_type")
    ]
    left_out.update(sample.left_out)
    tags = [segment.tags for segment in sample.segments]
    return CausalCorpus("coreference", sample.segments, tags, relations, left_out)


def _best_heads(best: pd.DataFrame, name: str) -> list[tuple[str, int, int]]:
    """Name, layer and head (from 0) of each row."""
    return [(row[name], int(row["layer"]) - 1, int(row["head"]) - 1) for row in best.to_dict("records")]


class WordPrediction(TokenPrediction):
    """Given words of segments, each masked whole in an input of its own."""

    name = "causal"
    needs = NEEDS[name]

    def __init__(
        self, model: Model, segments: Sequence[WordSegment], words: Sequence[Word], *, batch_tokens: int
    ) -> None:
        require_language_model(model, "masked", self.name)
        batches = []
        for indices in plan_batches([segments[segment] for segment, _ in words], batch_tokens):
            batch_words = [words[index] for index in indices]
            batch = make_batch([segments[segment] for segment, _ in batch_words], model.kinds, model.pad_id)
            masked = torch.zeros_like(batch.mask)
            for row, (segment, word) in enumerate(batch_words):
                masked[row, torch.from_numpy(np.flatnonzero(segments[segment].words == word))] = True
            inputs = model.inputs(batch, batch.input_ids.masked_fill(masked, model.tokenizer.mask_token_id))
            labels = batch.input_ids.masked_fill(~masked, IGNORED)
            ids = tuple(f"{segment}.{word}" for segment, word in batch_words)
            batches.append(ExampleBatch(ids, inputs, torch.arange(len(ids)), {"labels": labels}))
        super().__init__(model, batches)


def loss_rises(
    model: Model,
    segments: Sequence[WordSegment],
    words: Sequence[Word],
    heads: Sequence[HeadPlace],
    options: AblateOptions,
    replaying: Replaying | None = None,
) -> Floats:
    """By how much each word's loss rises without each head: [words, heads]."""
    task = WordPrediction(model, segments, words, batch_tokens=options.batch_tokens)
    replacement = find_replacement(task, options.kind, "encoder", options.seed)
    plain, without = HeadRemoval(task, "encoder", replacement, options.batch_tokens, replaying).scores(heads)
    place = {name: row for row, name in enumerate(task.ids)}
    rows = [place[f"{segment}.{word}"] for segment, word in words]
    rises: Floats = (plain[:, None, 0] - without[:, :, 0])[rows]
    return rises


def control_heads(relation: RelationWords, shape: HeadShape, count: int, seed: int) -> list[HeadPlace]:
    """Other heads of the relation's layer; all of them if there are fewer."""
    others = [head for head in range(shape.heads[relation.layer]) if head != relation.head]
    drawn = random.Random(f"{seed} control {relation.name}").sample(others, min(count, len(others)))
    return [(relation.layer, head) for head in sorted(drawn)]


def try_relation(
    model: Model,
    segments: Sequence[WordSegment],
    relation: RelationWords,
    matched: MatchedWords,
    options: AblateOptions,
    replaying: Replaying | None = None,
    pieces: RunPart = UNSAVED,
) -> dict[str, object]:
    """Make a row of the table, without the correction for several relations.

    replaying: what earlier relations have found out about the model's passes. A piece is all of a relation.
    """
    controls = control_heads(relation, model.shapes["encoder"], options.controls, options.seed)
    words = [word for pair in matched.pairs for word in pair]
    heads = [(relation.layer, relation.head), *controls]

    def make() -> Arrays:
        return {"nats": loss_rises(model, segments, words, heads, options, replaying)}

    rises = pieces.compute_once("rises", make)["nats"]
    of_head = rises[:, 0].reshape(-1, 2)  # [pairs, in relation or matched]
    control = rises[:, 1:].mean(1).reshape(-1, 2)
    effect, control_effect = of_head[:, 0] - of_head[:, 1], control[:, 0] - control[:, 1]
    units, unit = np.unique([segments[word[0]].id for word, _ in matched.pairs], return_inverse=True)
    low, high, p_value = lead_statistics(effect - control_effect, unit, list(units), options.seed, options.bootstrap)
    return {
        "relation": relation.name,
        "layer": relation.layer + 1,
        "head": relation.head + 1,
        "kind": options.kind,
        "change": of_head[:, 0].mean(),
        "matched_change": of_head[:, 1].mean(),
        "effect": effect.mean(),
        "control_effect": control_effect.mean(),
        "lead": (effect - control_effect).mean(),
        "low": low,
        "high": high,
        "p_value": p_value,
        "count": len(matched.pairs),
        "sentences": len(units),
        "controls": len(controls),
    }


def lead_statistics(
    lead: Floats, unit: np.ndarray[tuple[int], np.dtype[np.int64]], units: Sequence[str], seed: int, resamplings: int
) -> tuple[float, float, float]:
    """Ends of the interval of the mean lead, and the p value of its being above 0; lead: [pairs], unit: [pairs]."""
    sums: Floats = np.bincount(unit, lead).astype(np.float64)
    counts = np.bincount(unit)
    weights = poisson_weights(units, resamplings, seed).astype(np.float64)  # [units, R]
    totals = counts @ weights
    drawn = totals > 0
    low, high = percentile_interval((sums @ weights)[drawn] / totals[drawn])
    flipped: Floats = sums @ signs(units, resamplings, seed).astype(np.float64)
    observed = float(sums.sum())
    return float(low), float(high), permutation_p_value(observed - 1e-9 * abs(observed), flipped)


Word = tuple[int, int]  # segment and word, from 0


@dataclass(frozen=True)
class MatchedWords:
    """Pairs of a word in the relation and a word like it; the number of words without a match."""

    pairs: tuple[tuple[Word, Word], ...]
    unmatched: int


@dataclass(frozen=True)
class RelationWords:
    """A relation, the head found for it (layer and head, from 0), and the words that stand in it."""

    name: str
    layer: int
    head: int
    words: frozenset[Word]


def word_classes(segments: Sequence[WordSegment], tags: Sequence[Sequence[str]]) -> Callable[[Word], str]:
    """What must agree for two words to match: the tag or, without tags, the band of frequency."""
    counts = Counter(text.lower() for segment in segments for text in segment.text)

    def class_of(word: Word) -> str:
        segment, place = word
        return tags[segment][place] or f"band {counts[segments[segment].text[place].lower()].bit_length()}"

    return class_of


def match_words(
    relation: RelationWords, usable: Iterable[Word], class_of: Callable[[Word], str], *, most: int, seed: int
) -> MatchedWords:
    """Up to `most` words of a relation, drawn by the seed, each with a match among the usable words outside it."""
    rng = random.Random(f"{seed} match {relation.name}")
    outside: dict[str, dict[int, list[Word]]] = defaultdict(lambda: defaultdict(list))  # class -> segment -> words
    inside = []
    for word in sorted(usable):
        if word in relation.words:
            inside.append(word)
        else:
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
