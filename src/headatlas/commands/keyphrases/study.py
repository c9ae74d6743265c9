"""Which heads attend to what matters in a text? Attention received by the tokens of keyphrases, beside all others.

A token's received attention is the mean or the largest weight of its column, over all rows or over those of text tokens
alone. Of each document, or window of one, and head:

- *relative attention*: the mean of the keyphrases' tokens less that of the other tokens;
- *average precision* of the tokens ranked by it; ranked by chance, about the share of key tokens;
- *cross-entropy*: mean surprise in nats of the key tokens under received attention made to sum to 1.

Then means over documents. Special tokens are never ranked. Windows without key tokens, or with no other, count nowhere.
Two controls need no other model: the average precision of tokens ranked by the *length* of the candidate they stand in,
and that of the heads when the labels of each document are *shuffled*. Average precision, and its lead over length, are
kept for both halves of the documents too, so that a head chosen on one is scored on the other.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from headatlas.commands.keyphrases.phrases import OUTSIDE
from headatlas.commands.keyphrases.segments import KeyphraseSegment
from headatlas.encoding.batches import Batch
from headatlas.encoding.segments import document_of
from headatlas.encoding.template import SPECIAL
from headatlas.statistics.kernels.threads import one_thread
from headatlas.statistics.received import POOLINGS, ROWS, key_measures
from headatlas.statistics.resampling import fold_of
from headatlas.statistics.words import segments_of
from headatlas.studies.findings import Finding, heads_in
from headatlas.studies.labels import Tables
from headatlas.studies.reductions import Received, Reduction
from headatlas.studies.segment_means import SegmentMeans
from headatlas.studies.study import Frames, LayerMap
from headatlas.tables import ONE_HEAD, RESAMPLED, Key, Table, Value, interval

PART = "they are parts of the average precision"
RELATIVE, PRECISION, SURPRISE = (
    f"key words: {measure}[, {{pooling}} of {{rows}} rows]"
    for measure in ("relative attention", "average precision", "cross-entropy (nats)")
)
KEYPHRASE_HEADS = Table(
    "keyphrase_heads",
    "How much does a head attend to the words of keyphrases, compared with other words?",
    (
        *ONE_HEAD,
        Key("pooling", "what a token receives: the mean or the max of its column", usual="mean", minor=("max",)),
        Key("rows", "over all rows, or over those of text alone (no special tokens)", usual="all", minor=("text",)),
        Value("relative_attention", "mean received by tokens of keyphrases, less that by others", label=RELATIVE),
        *interval(RESAMPLED, "relative_attention", "relative_low", "relative_high"),
        Value("average_precision", "of text tokens ranked by what they receive, mean over documents", label=PRECISION),
        *interval("its 95 % bootstrap interval, for a head given beforehand", "average_precision"),
        Value("first_half", "average precision on half of the documents, to choose heads on", why_not=PART),
        Value("second_half", "on the other half, to score them on, or vice versa", why_not=PART),
        Value("length", "average precision of tokens ranked by the length of their candidate", why_not=PART),
        Value("shuffled", "average precision of the head with shuffled labels", why_not=PART),
        Value("key_share", "share of key tokens: about the average precision of chance", "share", why_not=PART),
        Value("cross_entropy", "mean surprise of key tokens, attention scaled to sum 1", "nats", label=SURPRISE),
        Value("count", "documents, or windows of them, in the means", "count"),
    ),
    main="average_precision",
    card="Keyphrases",
    figure=("keyphrase_heads", "headatlas.commands.keyphrases.figures:keyphrase_heads_figure"),
)
PARTS = "they are a choice of head and its score, which the table of all heads holds"
KEYPHRASE_BEST = Table(
    "keyphrase_best",
    "Which head ranks keyphrase tokens best on half of the documents, and how well does it on the other?",
    (
        Key("chosen_on", "the half of the documents it is the best on, of all heads and forms: first, second"),
        Value("layer", "of the head, from 1", "place"),
        Value("head", "its number in the layer, from 1", "place"),
        Value("pooling", "what a token receives: the mean or the max of its column", "text"),
        Value("rows", "over all rows, or over those of text alone", "text"),
        Value("held_out", "average precision on the other half"),
        *interval("its 95 % bootstrap interval, over documents", "held_out"),
        Value("lead", "by how much that is better than tokens ranked by the length of their candidate, there"),
        *interval("its 95 % bootstrap interval, over documents", "lead", "lead_low", "lead_high"),
        Value("shuffled", "average precision of the best of all heads and forms with shuffled labels"),
    ),
    why_not=PARTS,
)
FORMS = tuple((pooling, rows) for rows, pooling in product(ROWS, POOLINGS))
MEASURES = (
    *("relative_attention", "average_precision", "cross_entropy", "length", "shuffled", "key_share"),
    *("first_half", "second_half", "first_lead", "second_lead"),
)
INTERVALS = {"average_precision": ("low", "high"), "relative_attention": ("relative_low", "relative_high")}
KEYS = ["layer", "head", "pooling", "rows"]
_HALVES = {"first": "second", "second": "first"}  # the half to choose on, and the one to score on


class Keyphrases(SegmentMeans):
    """How far each head's attention goes to keyphrases."""

    name = "keyphrases"
    tables = (KEYPHRASE_HEADS, KEYPHRASE_BEST)
    corpus = "keyphrases"
    columns = tuple("/".join((measure, *form)) for measure, form in product(MEASURES, FORMS))
    _tokens: tuple[Batch, KeyTokens] | None = None

    def reductions(self) -> list[Reduction]:
        return [Received(self.causal)]

    def segment_means(self, layer_map: LayerMap) -> Tensor:
        """Every measure of every form of received attention: [B, H, C]."""
        tokens = self._tokens_of(layer_map.batch)
        scores = layer_map.of(Received(self.causal))  # [B, H, 4, T]
        relative, precision, surprise = key_measures(scores, tokens.key, tokens.other)
        shuffled = key_measures(scores, *tokens.shuffled(str(self.seed)))[1]
        with one_thread():
            by_length = key_measures(tokens.lengths[:, None, None], tokens.key, tokens.other)[1].to(precision)
            length = by_length.expand_as(precision)
            share = tokens.key.sum(1) / (tokens.key | tokens.other).sum(1).clamp_min(1)
            of_all = share[:, None, None].to(precision).expand_as(precision)
            lead = precision - length
            return torch.cat(
                [relative, precision, surprise, length, shuffled, of_all, precision, precision, lead, lead], -1
            )

    def counted(self, batch: Batch) -> Tensor:
        """Segments with tokens of both sorts; for the halves, those of documents in that half."""
        both = self._tokens_of(batch).both
        counted = both[:, None].repeat(1, len(MEASURES))
        documents = map(document_of, batch.segments)
        fold = torch.tensor([fold_of(name, self.seed) for name in documents], device=both.device)
        for place, measure in enumerate(MEASURES):
            if measure.startswith(tuple(_HALVES)):
                counted[:, place] &= fold == measure.startswith("second")
        return counted.repeat_interleave(len(FORMS), 1)

    def frames(self) -> Frames:
        """The measures with intervals, by head and form of received attention, and the best heads of the halves."""
        means = self._named_means()
        table = means.pivot(index=KEYS, columns="measure", values="value")
        for measure, names in INTERVALS.items():
            table[list(names)] = means[means["measure"] == measure].set_index(KEYS)[["low", "high"]]
        table["count"] = means[means["measure"] == "average_precision"].set_index(KEYS)["count"]
        heads = table.rename_axis(columns=None).reset_index()
        return {"keyphrase_heads": heads[KEYPHRASE_HEADS.names], "keyphrase_best": self._best(means)}

    def _best(self, means: pd.DataFrame) -> pd.DataFrame:
        """The best head and form of each half, scored on the other; no rows where a half has no documents."""
        by_measure = {str(measure): rows.reset_index(drop=True) for measure, rows in means.groupby("measure")}
        null = by_measure["shuffled"]["value"].max()
        best = []
        for half, other in _HALVES.items():
            chosen = by_measure[f"{half}_half"]["value"]
            score, lead = by_measure[f"{other}_half"], by_measure[f"{other}_lead"]
            if chosen.isna().all() or score["value"].isna().all():
                continue
            place = int(chosen.argmax())  # rows of all measures are in one order
            row, gain = (part.to_dict("records")[place] for part in (score, lead))
            ends = [part[name] for part in (row, gain) for name in ("value", "low", "high")]
            best.append((half, *(row[key] for key in KEYS), *ends, null))
        return pd.DataFrame(best, columns=KEYPHRASE_BEST.names)

    def replicates(self) -> dict[str, NDArray[np.float64]]:
        """Bootstrap values of the average precision, [R, rows]."""
        means = self._named_means()
        rows = means[means["measure"] == "average_precision"].sort_values(KEYS, kind="stable")
        return {"keyphrase_heads": super().replicates()["keyphrase_heads"][:, rows.index.to_numpy()]}

    def _named_means(self) -> pd.DataFrame:
        means = self.means()
        names = pd.Series(self.columns * self.shape.total).str.split("/", expand=True)
        means[["measure", "pooling", "rows"]] = names.to_numpy()
        return means.rename(columns={means.columns[3]: "value"})

    def _tokens_of(self, batch: Batch) -> KeyTokens:
        if self._tokens is None or self._tokens[0] is not batch:
            self._tokens = batch, KeyTokens(batch)
        return self._tokens[1]

    @classmethod
    def findings(cls, tables: Tables) -> Iterator[Finding | str]:
        """The head that is best on one half of the documents, scored on the other, and vice versa."""
        if len(tables["keyphrase_best"]) < len(_HALVES):
            yield "No head can be chosen for keyphrases: there are too few documents to choose it on half of them."
        else:
            yield best_head_finding(tables["keyphrase_best"], tables["keyphrase_heads"])


def best_head_finding(best: pd.DataFrame, heads: pd.DataFrame) -> Finding:
    """What the heads chosen on each half reach on the other, the lower of the two, beside length and shuffled labels.

    Heads are named only if on both halves they beat length beyond the interval, and shuffled labels.
    """
    lower = best.nsmallest(1, "held_out").iloc[0]
    score = f"average precision of {lower['held_out']:.2f}"
    named = (best["lead_low"] > 0).all() and (best["low"] > best["shuffled"]).all()
    chosen = tuple(dict.fromkeys(heads_in(best))) if named else ()
    if named:
        names = " or ".join(f"{layer}-{head}" for layer, head in chosen)
        claim = f"Ranked by the attention they receive from head {names}, keyphrase tokens come first with an {score}"
    else:
        claim = (
            "No head surely ranks keyphrase tokens better than the length of the phrases they stand in does: the best "
            f"reaches an {score}"
        )
    return Finding(
        claim,
        float(lower["held_out"]),
        (float(lower["low"]), float(lower["high"])),
        {
            "length of the phrase between stop words": float(heads["length"].mean()),
            "best of all heads with shuffled labels": float(best["shuffled"].max()),
            "chance": float(heads["key_share"].mean()),
        },
        unit="number",
        most=1,
        heads=chosen,
        denies=not named,
        evidence=("chosen on one half of the documents, scored on the other, the worse of both",),
    )


class KeyTokens:
    """The tokens of a batch that count: those of keyphrases, and the others. Each [B, T] bool on the batch's device.

    Attributes:
        key: Tokens of keyphrases.
        other: Other tokens that count.
        text: All tokens that are not special.
        lengths: The number of words of the candidate that a token stands in, plus 1, so that no token has none; scaled
            to sum 1 over the text, as if it were attention. [B, T]
        both: Segments with tokens of both sorts, [B].
    """

    def __init__(self, batch: Batch) -> None:
        self.batch = batch
        shape = tuple(batch.mask.shape)
        text, lengths = np.zeros(shape, dtype=np.bool_), np.zeros(shape, dtype=np.float32)
        for row, segment in enumerate(segments_of(batch, KeyphraseSegment)):
            places = np.flatnonzero(segment.words != SPECIAL)
            text[row, places] = True
            lengths[row, places] = segment.lengths[segment.words[places]] + 1
        lengths /= np.maximum(lengths.sum(1, keepdims=True), 1)
        device = batch.mask.device
        self.text, self.lengths = torch.from_numpy(text).to(device), torch.from_numpy(lengths).to(device)
        self.key, self.other = self._labelled(None)
        self.both = self.key.any(1) & self.other.any(1)

    def shuffled(self, seed: str) -> tuple[Tensor, Tensor]:
        """Key and other tokens after the labels of the words that count were shifted, round the end, in each segment.

        A shift keeps phrases together, so that they are as long as the real ones.
        """
        return self._labelled(seed)

    def _labelled(self, seed: str | None) -> tuple[Tensor, Tensor]:
        key, other = (np.zeros(tuple(self.batch.mask.shape), dtype=np.bool_) for _ in range(2))
        for row, segment in enumerate(segments_of(self.batch, KeyphraseSegment)):
            counted = np.flatnonzero(segment.counted)
            of_words = np.full(len(segment.text), OUTSIDE)
            labels = segment.tags[counted]
            if seed is not None and len(counted) > 1:
                labels = np.roll(labels, random.Random(f"{seed} {segment.id}").randrange(1, len(counted)))
            of_words[counted] = labels
            places = np.flatnonzero(segment.words != SPECIAL)
            words = segment.words[places]
            key[row, places] = segment.counted[words] & (of_words[words] != OUTSIDE)
            other[row, places] = segment.counted[words] & (of_words[words] == OUTSIDE)
        device = self.batch.mask.device
        return torch.from_numpy(key).to(device), torch.from_numpy(other).to(device)
