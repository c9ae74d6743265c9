"""The causal test of a head's job: does the model need the head where the head attends to something meaningful?

A head was found that tracks a relation: it attends from a word to its object, say. Here it is removed, and the masked
language model loss is taken on words that stand in the relation and on words like them that do not (`matched_words`),
each word masked whole in an input of its own. The loss of a word is the mean over its tokens, in nats.

- effect = (rise of the loss on words in the relation) - (rise on matched words), of the head;
- control_effect = the same, mean over other heads of the same layer, drawn by the seed;
- lead = effect - control_effect, with its bootstrap interval over sentences; the p value is that of a sign-flip test
  over sentences of the null hypothesis that lead is not above 0.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch

from headatlas.choices import AblationKind
from headatlas.commands.ablate.matched_words import MatchedWords, RelationWords, Word
from headatlas.commands.ablate.passes import Head, HeadRemoval, Keep, Replaying, make_anew
from headatlas.commands.ablate.replacement import find_replacement
from headatlas.commands.ablate.task import Examples
from headatlas.commands.ablate.token_prediction import TokenPrediction, require_language_model
from headatlas.encoding.batches import make_batch, plan_batches
from headatlas.encoding.kinds import kind_table
from headatlas.encoding.masking import IGNORED
from headatlas.encoding.word_segments import WordSegment
from headatlas.engine.pieces import Floats
from headatlas.models.model import Model
from headatlas.models.stacks import HeadShape
from headatlas.statistics.paired import holm
from headatlas.statistics.resampling import percentile_interval, permutation_p_value, poisson_weights, signs


class WordPrediction(TokenPrediction):
    """Given words of segments, each masked whole in an input of its own."""

    name = "causal"

    def __init__(
        self, model: Model, segments: Sequence[WordSegment], words: Sequence[Word], *, batch_tokens: int
    ) -> None:
        require_language_model(model, "masked", self.name)
        kinds, mask_id = kind_table(model.tokenizer), model.tokenizer.mask_token_id
        batches = []
        for indices in plan_batches([segments[segment] for segment, _ in words], batch_tokens):
            mine = [words[index] for index in indices]
            batch = make_batch([segments[segment] for segment, _ in mine], kinds, model.pad_id)
            masked = torch.zeros_like(batch.mask)
            for row, (segment, word) in enumerate(mine):
                masked[row, torch.from_numpy(np.flatnonzero(segments[segment].words == word))] = True
            inputs = model.inputs(batch, batch.input_ids.masked_fill(masked, mask_id))
            labels = batch.input_ids.masked_fill(~masked, IGNORED)
            ids = tuple(f"{segment}.{word}" for segment, word in mine)
            batches.append(Examples(ids, inputs, torch.arange(len(ids)), {"labels": labels}))
        super().__init__(model, batches)


@dataclass(frozen=True)
class CausalSettings:
    """How the test is made."""

    kind: AblationKind
    controls: int  # other heads of the layer to remove
    batch_tokens: int
    seed: int
    resamplings: int


def loss_rises(
    model: Model,
    segments: Sequence[WordSegment],
    words: Sequence[Word],
    heads: Sequence[Head],
    settings: CausalSettings,
    replaying: Replaying | None = None,
) -> Floats:
    """By how much each word's loss rises without each head: [words, heads]."""
    task = WordPrediction(model, segments, words, batch_tokens=settings.batch_tokens)
    replacement = find_replacement(task, settings.kind, "encoder", settings.seed)
    plain, without = HeadRemoval(task, "encoder", replacement, settings.batch_tokens, replaying).scores(heads)
    place = {name: row for row, name in enumerate(task.ids)}
    rows = [place[f"{segment}.{word}"] for segment, word in words]
    rises: Floats = (plain[:, None, 0] - without[:, :, 0])[rows]
    return rises


def control_heads(relation: RelationWords, shape: HeadShape, count: int, seed: int) -> list[Head]:
    """Other heads of the relation's layer; all of them where there are fewer."""
    others = [head for head in range(shape.heads[relation.layer]) if head != relation.head]
    drawn = random.Random(f"{seed} control {relation.name}").sample(others, min(count, len(others)))
    return [(relation.layer, head) for head in sorted(drawn)]


def try_relation(
    model: Model,
    segments: Sequence[WordSegment],
    relation: RelationWords,
    matched: MatchedWords,
    settings: CausalSettings,
    replaying: Replaying | None = None,
    keep: Keep = make_anew,
) -> dict[str, object]:
    """A row of the table, the correction for several relations aside.

    replaying: what relations before it have found out of the model's passes. A piece to keep is all of a relation.
    """
    controls = control_heads(relation, model.shapes["encoder"], settings.controls, settings.seed)
    words = [word for pair in matched.pairs for word in pair]
    heads = [(relation.layer, relation.head), *controls]
    rises = keep("rises", lambda: {"nats": loss_rises(model, segments, words, heads, settings, replaying)})["nats"]
    own, control = rises[:, 0].reshape(-1, 2), rises[:, 1:].mean(1).reshape(-1, 2)  # [pairs, in relation or matched]
    effect, control_effect = own[:, 0] - own[:, 1], control[:, 0] - control[:, 1]
    units, unit = np.unique([segments[word[0]].id for word, _ in matched.pairs], return_inverse=True)
    low, high, p_value = lead_statistics(
        effect - control_effect, unit, list(units), settings.seed, settings.resamplings
    )
    return {
        "relation": relation.name,
        "layer": relation.layer + 1,
        "head": relation.head + 1,
        "kind": settings.kind,
        "change": own[:, 0].mean(),
        "matched_change": own[:, 1].mean(),
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


def causal_table(rows: Sequence[dict[str, object]]) -> pd.DataFrame:
    """The relations tested, with p values corrected for their number."""
    frame = pd.DataFrame(list(rows))
    return frame.assign(p_holm=holm(frame["p_value"].to_numpy(dtype=np.float64)))
