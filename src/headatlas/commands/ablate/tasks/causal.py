"""The causal test of a head's job: does the model need the head where the head attends to something meaningful?

A head was found that tracks a relation: it attends from a word to its object, say. Here it is removed, and the masked
language model loss is taken on words that stand in the relation and on words like them that do not (`causal_words`),
each word masked whole in an input of its own. The loss of a word is the mean over its tokens, in nats. Either end of
the relation is hidden in turn: the word that attends, whose query is then that of the mask, and the word that is
attended to. A head is removed in two ways: its output is zero, which later layers otherwise never see, or its mean.

- effect = (rise of the loss on words in the relation) - (rise on matched words);
- lead = effect of the head found - mean effect of all other heads of its layer, tested over documents or sentences;
- place = where its effect stands among those of all heads of its layer (`statistics.places`).

A lead alone says little about the head: with enough words, any head that differs from the mean of the others leads or
trails surely. Its place alone is 1 in one of as many cases as the layer has heads. So relations are named as needing
their head only if the heads found, all relations together, stand further in front than heads shuffled within layers;
of those, the ones that stand first and lead, under zero and mean ablation alike (`needed_relations`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from headatlas.commands.ablate.labelled import open_atlas_of
from headatlas.commands.ablate.options import FEWEST_PAIRS, AblateOptions
from headatlas.commands.ablate.passes import Floats, HeadRemoval, Replaying, find_replacement
from headatlas.commands.ablate.task import ExampleBatch
from headatlas.commands.ablate.task_run import NO_TABLES, SIGNIFICANT, TaskResult
from headatlas.commands.ablate.tasks import NEEDS
from headatlas.commands.ablate.tasks.causal_words import (
    ENDS,
    CausalCorpus,
    MatchedWords,
    Relation,
    Word,
    coreferent_words,
    dependency_words,
)
from headatlas.commands.ablate.tasks.token_prediction import TokenPrediction, require_language_model
from headatlas.encoding.batches import make_batch, plan_batches
from headatlas.encoding.masking import IGNORED
from headatlas.encoding.segments import document_of
from headatlas.encoding.shards import Shard
from headatlas.encoding.word_segments import WordSegment
from headatlas.engine.run_folder import UNSAVED, Arrays, RunPart
from headatlas.errors import CorpusError
from headatlas.models.model import Model
from headatlas.progress import stage
from headatlas.statistics.paired import holm, paired_changes
from headatlas.statistics.places import Choice, joint_places
from headatlas.statistics.resampling import FEWEST_DOCUMENTS

KINDS = ("zero", "mean")
FINEST = 10  # steps of a p value below what the smallest one, corrected, must reach


def run_causal(model: Model, files: Mapping[str, list[Path]], options: AblateOptions, pieces: RunPart) -> TaskResult:
    """Test both ends of every relation that have enough words with a match; count the rest."""
    require_language_model(model, "masked", "causal")
    atlas = open_atlas_of(model, options.atlas or "", "encoder")
    readers = {"treebank": dependency_words, "coreference": coreferent_words}
    corpora = [readers[name](model, atlas, files[name], options) for name in readers if name in files]
    shard = Shard.parse(options.shard) if options.shard else None
    left_out: Counter[str] = Counter()
    effects: list[Effects] = []
    replaying = Replaying()
    for corpus in corpora:
        left_out.update(corpus.left_out)
        tested = []
        for relation, ends in zip(corpus.relations, corpus.match_words(options), strict=True):
            enough = {end: words for end, words in ends.items() if len(words.pairs) >= FEWEST_PAIRS}
            left_out["end_of_a_relation_with_few_matched_words"] += len(ENDS) - len(enough)
            left_out["word_without_match"] += sum(words.unmatched for words in enough.values())
            if enough:
                tested.append((relation, enough))
        sizes = [_count_tokens(corpus, ends) for _, ends in tested]
        with stage(f"Removing heads: causal, {corpus.name}", sum(sizes)) as bar:
            for number, ((relation, ends), size) in enumerate(zip(tested, sizes, strict=True)):
                if shard is None or shard.holds(relation.name):
                    of_relation = pieces.part(f"{corpus.name}-{number:04}")
                    effects += relation_effects(model, corpus, relation, ends, options, replaying, of_relation)
                    bar.advance(size, relation.name)
    if shard is not None:  # its pieces are kept; the tables need all relations
        return NO_TABLES
    if not effects:
        raise CorpusError(
            f"No relation has {FEWEST_PAIRS} words with a word like them outside it. Give a larger treebank or corpus."
        )
    tables = causal_tables(effects, options)
    about = {"segments": sum(len(corpus.segments) for corpus in corpora)}
    omitted = {reason: count for reason, count in left_out.items() if count}
    return TaskResult(tables, about, omitted, summarise(tables))


def _count_tokens(corpus: CausalCorpus, ends: Mapping[str, MatchedWords]) -> int:
    """Tokens of the inputs in which the words at both ends, and their matches, are masked."""
    return sum(len(corpus.segments[word[0]]) for words in ends.values() for pair in words.pairs for word in pair)


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


@dataclass(frozen=True)
class Effects:
    """Of all heads of a layer on the words at one end of a relation, removed in one way."""

    relation: Relation
    end: str
    kind: str
    matched: MatchedWords
    units: Sequence[str]  # the document or sentence of each pair
    unit: str  # which of the two
    rises: Floats  # of the loss, [pairs, in relation or matched, H]

    @property
    def choice(self) -> Choice:
        """The head found, among the mean effects of all heads of its layer."""
        return Choice(self.relation.layer, self.relation.head, self.of_pairs.mean(0))

    @property
    def of_pairs(self) -> Floats:
        """[pairs, H]."""
        effects: Floats = self.rises[:, 0] - self.rises[:, 1]
        return effects


def relation_effects(
    model: Model,
    corpus: CausalCorpus,
    relation: Relation,
    ends: Mapping[str, MatchedWords],
    options: AblateOptions,
    replaying: Replaying | None = None,
    pieces: RunPart = UNSAVED,
) -> list[Effects]:
    """Remove every head of a relation's layer in turn, in each way.

    replaying: what earlier relations have found out about the model's passes. A piece is one way of removing.
    """
    words = sorted({word for matched in ends.values() for pair in matched.pairs for word in pair})
    row_of = {word: row for row, word in enumerate(words)}
    effects = []
    for kind in dict.fromkeys((*KINDS, options.kind)):

        def make(kind: str = kind) -> Arrays:
            return {"nats": loss_rises(model, corpus.segments, words, relation.layer, kind, options, replaying)}

        rises = pieces.compute_once(kind, make)["nats"]  # [words, H]
        for end, matched in ends.items():
            of_pairs = rises[[[row_of[word] for word in pair] for pair in matched.pairs]]
            inputs = [corpus.segments[word[0]] for word, _ in matched.pairs]
            documents = [document_of(segment) for segment in inputs]
            enough = len(set(documents)) >= FEWEST_DOCUMENTS
            units, unit = (documents, "document") if enough else ([segment.id for segment in inputs], "sentence")
            effects.append(Effects(relation, end, kind, matched, units, unit, of_pairs))
    return effects


def loss_rises(
    model: Model,
    segments: Sequence[WordSegment],
    words: Sequence[Word],
    layer: int,
    kind: Any,
    options: AblateOptions,
    replaying: Replaying | None = None,
) -> Floats:
    """By how much each word's loss rises without each head of a layer: [words, H]."""
    task = WordPrediction(model, segments, words, batch_tokens=options.batch_tokens)
    replacement = find_replacement(task, kind, "encoder", options.seed)
    heads = [place for place in model.shapes["encoder"].places if place[0] == layer]
    plain, without = HeadRemoval(task, "encoder", replacement, options.batch_tokens, replaying).scores(heads)
    place = {name: row for row, name in enumerate(task.ids)}
    rows = [place[f"{segment}.{word}"] for segment, word in words]
    rises: Floats = (plain[:, None, 0] - without[:, :, 0])[rows]
    return rises


def causal_tables(effects: Sequence[Effects], options: AblateOptions) -> dict[str, pd.DataFrame]:
    """One row per relation, end and way of removing; the same for every head of the layers; and the joint test."""
    most_rows = max(Counter(effect.kind for effect in effects).values())
    resamplings = max(options.bootstrap, math.ceil(FINEST * most_rows / SIGNIFICANT))
    drawing = {"seed": options.seed, "resamplings": resamplings}
    table = pd.DataFrame([causal_row(effect, **drawing) for effect in effects])
    heads = pd.concat([_every_head(effect) for effect in effects], ignore_index=True)
    groups: dict[tuple[str, str], list[Choice]] = {}
    for effect in effects:
        groups.setdefault((effect.end, effect.kind), []).append(effect.choice)
    places = pd.DataFrame(
        [
            {
                "end": end,
                "kind": kind,
                "relations": len(choices),
                **vars(joint_places(choices, seed=options.seed, permutations=resamplings)),
            }
            for (end, kind), choices in groups.items()
        ]
    )
    return {"causal": _corrected(table), "causal_heads": heads, "causal_places": _corrected(places)}


def _corrected(table: pd.DataFrame) -> pd.DataFrame:
    """Add p values corrected for all rows of the same way of removing."""
    corrected = table.groupby("kind")["p_value"].transform(lambda column: holm(column.to_numpy(dtype=np.float64)))
    before = list(table.columns[: list(table.columns).index("p_value") + 1])
    return table.assign(p_holm=corrected)[[*before, "p_holm", *table.columns[len(before) :]]]


def causal_row(effect: Effects, *, seed: int, resamplings: int) -> dict[str, object]:
    """A row of the table, without the correction for several relations."""
    relation, of_pairs, choice = effect.relation, effect.of_pairs, effect.choice
    others = np.delete(of_pairs, relation.head, axis=1)
    lead = of_pairs[:, relation.head] - (others.mean(1) if others.size else 0.0)
    ids = [f"{segment}.{word}" for (segment, word), _ in effect.matched.pairs]
    tested = paired_changes(lead[:, None], ids, seed=seed, resamplings=resamplings, units=effect.units)
    return {
        "relation": relation.name,
        "end": effect.end,
        "kind": effect.kind,
        "layer": relation.layer + 1,
        "head": relation.head + 1,
        "direction": relation.direction,
        "change": effect.rises[:, 0, relation.head].mean(),
        "matched_change": effect.rises[:, 1, relation.head].mean(),
        "effect": of_pairs[:, relation.head].mean(),
        "control_effect": others.mean() if others.size else 0.0,
        "best_other": others.mean(0).max() if others.size else np.nan,
        "lead": lead.mean(),
        "low": tested.low[0],
        "high": tested.high[0],
        "p_value": tested.p_value[0],
        "place": int(choice.places[relation.head]),
        "heads": of_pairs.shape[1],
        "p_place": choice.p_value,
        "count": len(of_pairs),
        "unit": effect.unit,
        "units": len(set(effect.units)),
        "same_input": effect.matched.same_input,
    }


def _every_head(effect: Effects) -> pd.DataFrame:
    """The effect of each head of the layer, whichever was found."""
    values, relation = effect.choice.values, effect.relation
    return pd.DataFrame(
        {
            "relation": relation.name,
            "end": effect.end,
            "kind": effect.kind,
            "layer": relation.layer + 1,
            "head": np.arange(len(values)) + 1,
            "effect": values,
        }
    )


def needed_relations(causal: pd.DataFrame, places: pd.DataFrame) -> list[tuple[str, str]]:
    """Relations with the end at which they need their head, whichever way it is removed."""
    joint = places.set_index(["end", "kind"])["p_holm"] < SIGNIFICANT
    passed = (causal["p_holm"] < SIGNIFICANT) & (causal["lead"] > 0) & (causal["place"] == 1)
    passed &= np.array([bool(joint[end, kind]) for end, kind in zip(causal["end"], causal["kind"], strict=True)])
    every_way = passed.groupby([causal["relation"], causal["end"]], sort=True).all()
    return [(str(relation), str(end)) for relation, end in every_way.index[every_way]]


def summarise(tables: Mapping[str, pd.DataFrame]) -> dict[str, Any]:
    """What the manifest says."""
    needed = needed_relations(tables["causal"], tables["causal_places"])
    return {"relations": int(tables["causal"]["relation"].nunique()), "needed": needed}
