"""Which heads attend to what matters in a text? Attention received by the tokens of keyphrases, beside all others.

A token's received attention is the mean or the largest weight of its column, over all rows or over those of text tokens
alone. Of each document, or window of one, and head:

- *relative attention*: the mean of the keyphrases' tokens less that of the other tokens;
- *average precision* of the tokens ranked by it; ranked by chance, about the share of key tokens;
- *cross-entropy*: mean surprise in nats of the key tokens under received attention made to sum to 1.

Then means over documents. Special tokens are never ranked. Windows without key tokens, or with no other, count nowhere.
Average precision is kept for both halves of the documents too, so that heads chosen on one can be scored on the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from headatlas.commands.keyphrases.key_words import OUTSIDE
from headatlas.commands.keyphrases.segments import KeyphraseSegment
from headatlas.encoding.batches import Batch
from headatlas.encoding.segments import document_of
from headatlas.encoding.template import SPECIAL
from headatlas.statistics.kernels.threads import one_thread
from headatlas.statistics.received import POOLINGS, ROWS, key_measures, received
from headatlas.statistics.resampling import fold_of
from headatlas.statistics.words import segments_of
from headatlas.studies.labels import Tables
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
        Value("key_share", "share of key tokens: about the average precision of chance", "share", why_not=PART),
        Value("cross_entropy", "mean surprise of key tokens, attention scaled to sum 1", "nats", label=SURPRISE),
        Value("count", "documents, or windows of them, in the means", "count"),
    ),
    main="average_precision",
    card="Keyphrases",
    figure=("keyphrase_heads", "headatlas.commands.keyphrases.figures:keyphrase_heads_figure"),
)
FORMS = tuple((pooling, rows) for rows, pooling in product(ROWS, POOLINGS))
MEASURES = ("relative_attention", "average_precision", "cross_entropy", "first_half", "second_half", "key_share")
INTERVALS = {"average_precision": ("low", "high"), "relative_attention": ("relative_low", "relative_high")}
KEYS = ["layer", "head", "pooling", "rows"]
_HALVES = MEASURES.index("first_half")


class KeyTokens:
    """The tokens of a batch that count: those of keyphrases, and the others. Each [B, T] bool on the batch's device."""

    def __init__(self, batch: Batch) -> None:
        shape = tuple(batch.mask.shape)
        key, other, text = (np.zeros(shape, dtype=np.bool_) for _ in range(3))
        for row, segment in enumerate(segments_of(batch, KeyphraseSegment)):
            places = np.flatnonzero(segment.words != SPECIAL)
            words = segment.words[places]
            text[row, places] = True
            key[row, places] = segment.counted[words] & (segment.tags[words] != OUTSIDE)
            other[row, places] = segment.counted[words] & (segment.tags[words] == OUTSIDE)
        self.key, self.other, self.text = (torch.from_numpy(part).to(batch.mask.device) for part in (key, other, text))


class Keyphrases(SegmentMeans):
    """How far each head's attention goes to keyphrases."""

    name = "keyphrases"
    tables = (KEYPHRASE_HEADS,)
    corpus = "keyphrases"
    columns = tuple("/".join((measure, *form)) for measure, form in product(MEASURES, FORMS))
    _tokens: tuple[Batch, KeyTokens] | None = None

    def segment_means(self, layer_map: LayerMap) -> Tensor:
        """Every measure of every form of received attention: [B, H, C]."""
        batch, tokens = layer_map.batch, self._tokens_of(layer_map.batch)
        scores = received(layer_map.weights, batch.mask, tokens.text, self.causal)  # [B, H, 4, T]
        relative, precision, surprise = key_measures(scores, tokens.key, tokens.other)
        with one_thread():
            share = tokens.key.sum(1) / (tokens.key | tokens.other).sum(1).clamp_min(1)
            of_all = share[:, None, None].to(precision).expand_as(precision)
            return torch.cat([relative, precision, surprise, precision, precision, of_all], -1)

    def counted(self, batch: Batch) -> Tensor:
        """Segments with tokens of both sorts; for the halves, those of documents in that half."""
        tokens = self._tokens_of(batch)
        both = tokens.key.any(1) & tokens.other.any(1)
        counted = both[:, None].repeat(1, len(MEASURES))
        fold = torch.tensor(
            [fold_of(document_of(segment), self.seed) for segment in batch.segments], device=both.device
        )
        for half in (0, 1):
            counted[:, _HALVES + half] &= fold == half
        return counted.repeat_interleave(len(FORMS), 1)

    def frames(self) -> Frames:
        """The measures with intervals, by head and form of received attention."""
        means = self._named_means()
        table = means.pivot(index=KEYS, columns="measure", values="value")
        for measure, names in INTERVALS.items():
            table[list(names)] = means[means["measure"] == measure].set_index(KEYS)[["low", "high"]]
        table["count"] = means[means["measure"] == "average_precision"].set_index(KEYS)["count"]
        return {"keyphrase_heads": table.rename_axis(columns=None).reset_index()}

    def replicates(self) -> dict[str, NDArray[np.float64]]:
        """Bootstrap values of the average precision, [R, rows]."""
        means = self._named_means()
        rows = means[means["measure"] == "average_precision"].sort_values(KEYS, kind="stable")
        return {"keyphrase_heads": self._drawn_means()[:, rows.index.to_numpy()]}

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
    def findings(cls, tables: Tables) -> Iterator[str]:
        """The head that is best on one half of the documents, scored on the other, and vice versa."""
        table = tables["keyphrase_heads"]
        halves = table.dropna(subset=["first_half", "second_half"])
        if halves.empty:
            yield "No head can be chosen for keyphrases: there are too few documents to choose it on half of them."
            return
        on_first, on_second = (halves.nlargest(1, name) for name in ("first_half", "second_half"))
        names = dict.fromkeys(f"{row.layer}-{row.head}" for best in (on_first, on_second) for row in best.itertuples())
        score = (on_first["second_half"].item() + on_second["first_half"].item()) / 2
        yield (
            f"Ranked by the attention they receive from head {' or '.join(names)}, keyphrase tokens come first with an "
            f"average precision of {score:.2f} (held out; chance {table['key_share'].mean():.2f})."
        )
