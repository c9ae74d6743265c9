"""Heads ranked by how much they attend to the words of keyphrases, with what must be beaten to be named.

Lists by *relative attention*, *average precision* and *cross-entropy* of the key tokens under the attention that tokens
receive (defined in `study`), each for the mean and for the largest weight of a column.
Windows of one document are averaged first. Two controls stand beside each list:

- *length*: tokens receive what the length of their candidate gives them, without a model;
- *shuffled labels*: the labels of each document's words are shifted round in 20 draws; the best head of all counts.

A head is named if it is better than both: better than the length by more than its interval, which holds for all heads,
poolings and lists at once, and better than the best head of its list with shuffled labels in any of the draws.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from headatlas.commands.keyphrases.study import KeyTokens
from headatlas.commands.keyphrases.tables import KEYPHRASE_RANKING, LISTS
from headatlas.encoding.batches import Batch
from headatlas.engine.run_folder import Arrays
from headatlas.models.stacks import HeadShape
from headatlas.statistics.paired import bootstrap_means, simultaneous_leads
from headatlas.statistics.received import POOLINGS, ROWS, key_measures

SHUFFLES = 20
SIGNS = np.array([1.0, 1.0, -1.0])  # of LISTS: a low cross-entropy is good
Floats = NDArray[np.float64]


class HeadRanking:
    """Measures of every document and head, taken in batch by batch."""

    def __init__(self, rows: str, seed: int) -> None:
        first = ROWS.index(rows) * len(POOLINGS)
        self.forms, self.seed = slice(first, first + len(POOLINGS)), seed
        self.documents: list[str] = []
        self._measures: list[Floats] = []  # each [3, heads, poolings]
        self._lengths: list[Floats] = []  # each [3]
        self._shuffled: Floats | float = 0.0  # sum over windows, [SHUFFLES, 3, heads, poolings]

    def measure(self, batch: Batch, layers: Sequence[Tensor]) -> Arrays:
        """The measures of a batch, as they are saved. layers: what tokens receive, each [B, H, 4, T]."""
        tokens = KeyTokens(batch)
        scores = torch.cat([layer[:, :, self.forms] for layer in layers], 1)  # [B, heads, P, T]
        both = tokens.both.cpu()
        measures = key_measures(scores, tokens.key, tokens.other).cpu()[:, both]
        lengths = key_measures(tokens.lengths[:, None, None], tokens.key, tokens.other).cpu()[:, both, 0, 0]
        shuffled = [
            key_measures(scores, *tokens.shuffled(f"{self.seed} {draw}")).cpu()[:, both].double().sum(1)
            for draw in range(SHUFFLES)
        ]
        return {
            "both": both.numpy(),
            "measures": measures.transpose(0, 1).double().numpy(),
            "lengths": lengths.T.double().numpy(),
            "shuffled": torch.stack(shuffled).numpy(),
        }

    def add(self, documents: Sequence[str], arrays: Arrays) -> None:
        """Take in a batch. documents: that of each of its segments."""
        self.documents += [name for name, both in zip(documents, arrays["both"], strict=True) if both]
        self._measures += list(arrays["measures"])
        self._lengths += list(arrays["lengths"])
        self._shuffled = self._shuffled + arrays["shuffled"]

    def table(self, shape: HeadShape, *, seed: int, resamplings: int) -> pd.DataFrame | None:
        """One row per list, pooling and head, the best head first; None if no document has key words."""
        if not self.documents:
            return None
        ids, of_window = np.unique(np.array(self.documents), return_inverse=True)
        measures, lengths = (_means(np.stack(part), of_window) for part in (self._measures, self._lengths))
        null = SIGNS[:, None, None] * np.asarray(self._shuffled) / len(self.documents)  # [draws, 3, heads, poolings]
        bars = SIGNS[:, None] * null.max((0, 2))  # [3, poolings]
        flat = measures.reshape(len(ids), -1)
        low, high = bootstrap_means(flat, ids.tolist(), seed=seed, resamplings=resamplings)
        differences = SIGNS[:, None] * (measures.reshape(len(ids), len(LISTS), -1) - lengths[:, :, None])
        differences = differences.reshape(len(ids), -1)
        leads = simultaneous_leads(differences, ids.tolist(), seed=seed, resamplings=resamplings)
        places = [(layer, head, pooling) for layer, head in shape.numbered for pooling in POOLINGS]
        frame = pd.DataFrame(
            [(name, *place) for name in LISTS for place in places], columns=["list", "layer", "head", "pooling"]
        ).assign(value=flat.mean(0), low=low, high=high)
        sign = np.repeat(SIGNS, len(places))
        frame["lead"], frame["lead_low"], frame["lead_high"] = leads.mean, leads.low, leads.high
        frame["p_value"], frame["length"] = leads.p_value, np.repeat(lengths.mean(0), len(places))
        frame["shuffled"] = np.concatenate([np.tile(of_list, shape.total) for of_list in bars])
        frame["named"] = (sign * (frame["value"] - frame["shuffled"]) > 0) & (frame["lead_low"] > 0)
        frame["name"] = [f"l_{row.layer}_h_{row.head}_{row.pooling}" for row in frame.itertuples()]
        ranks = (-sign * frame["value"]).groupby([frame["list"], frame["pooling"]]).rank(method="first")
        frame["rank"], frame["count"] = ranks.astype("int64"), len(ids)
        columns = (frame["list"].map(LISTS.index), frame["pooling"].map(POOLINGS.index), frame["rank"])
        order = np.lexsort([column.to_numpy() for column in reversed(columns)])
        return frame.iloc[order][KEYPHRASE_RANKING.names].reset_index(drop=True)


def _means(values: Floats, groups: NDArray[np.int64]) -> Floats:
    """Means of rows by group: [groups, ...]."""
    total = np.zeros((groups.max() + 1, *values.shape[1:]))
    np.add.at(total, groups, values)
    counts = np.bincount(groups).reshape(-1, *[1] * (values.ndim - 1))
    return np.asarray(total / counts)
