"""Right or wrong, counted for many candidates at once, with all that intervals and tests need: sums that merge.

An *instance* is one decision: finding the head of a word, or the antecedent of a mention. It has a *category*
(its relation, its type) and belongs to a *unit* (its document or, where these are few, its sentence) and to a
*document* (or sentence) that halves are made of. Every *candidate* (a head of a layer in a direction) and every
*baseline* is right or wrong about it. Kept are weighted sums over instances, for each category and each candidate,
baseline and for the plain count of instances:

- one sum for each half of the corpus (`fold_of`), from which what was best on one half is scored on the other;
- one for each bootstrap replicate, weighted by the unit's `poisson_weights`;
- one for each permutation, with the document's random sign: unlike the bootstrap, that holds for few documents too.

All are integers, so the sums of two parts of a corpus add up to those of the whole exactly, whatever the batches,
their order, or how often the run was stopped. Instances wait until there are some thousands; then one matrix product a
category takes all its sums, in float32, which is exact since none of them reaches 2^24.

Memory does not grow with the corpus: categories x (2 + replicates + permutations) x (candidates + baselines + 1)
numbers. Each category has the narrowest integers that hold its sums, and none before it occurs: one byte while no
replicate draws more than 127 of its instances, two up to 32,767, then four, for at most 2^31 instances. For 45
categories, 10 baselines and 1,000 replicates and permutations, two bytes make 28 MB with the 144 candidates of a model
of 6 x 12 heads in two directions, 54 MB with 12 x 12 heads, 371 MB with 32 x 32.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headatlas.statistics.kernels.threads import one_thread, side_by_side
from headatlas.statistics.resampling import LARGEST_WEIGHT, fold_of, poisson_weights, signs
from headatlas.statistics.scores import Scores

Sums = NDArray[np.signedinteger[Any]]  # [weightings, candidates + baselines + 1]
FOLDS = 2
SETTLED_AT_ONCE = 1 << 14  # instances: few large products are quicker than many small ones
MOST_WAITING = 1 << 26  # numbers that wait, of all candidates and baselines
COLUMNS_AT_ONCE = 1 << 11  # of a product
_EXACT = 1 << 24  # integers below are exact in float32


@dataclass(frozen=True)
class _Instances:
    """What `Tally.add` is given."""

    right: Tensor
    baselines_right: Tensor
    category: NDArray[np.integer]
    unit: NDArray[np.integer]
    ids: Sequence[str]
    documents: Sequence[str]


class Tally:
    """Running sums for `candidates` and `baselines`, by category."""

    def __init__(
        self,
        candidates: int,
        baselines: int,
        categories: int,
        *,
        seed: int,
        replicates: int = 1000,
        permutations: int = 1000,
    ) -> None:
        self.candidates, self.baselines, self.categories = candidates, baselines, categories
        self._seed, self._replicates, self._permutations = seed, replicates, permutations
        self._pending: list[_Instances] = []
        self._shape = (FOLDS + replicates + permutations, candidates + baselines + 1)
        self._sums: list[Sums | None] = [None] * categories

    def add(
        self,
        right: Tensor,
        baselines_right: Tensor,
        category: NDArray[np.integer],
        unit: NDArray[np.integer],
        ids: Sequence[str],
        documents: Sequence[str],
    ) -> None:
        """Add a batch of N instances, in units; the id and document of each unit are given once.

        right: [N, candidates] bool; baselines_right: [N, baselines] bool; category: [N]; unit: [N], into `ids`.
        """
        if (SETTLED_AT_ONCE + len(category)) * LARGEST_WEIGHT >= _EXACT:
            raise ValueError(f"{len(category):,} instances at once are too many for exact sums; add smaller batches.")
        self._pending.append(_Instances(right, baselines_right.to(right.device), category, unit, ids, documents))
        if sum(len(batch.category) for batch in self._pending) >= min(SETTLED_AT_ONCE, MOST_WAITING // self._shape[1]):
            self._settle()

    def counts(self) -> list[int]:
        """Instances of each category."""
        self._settle()
        return [0 if sums is None else int(sums[:FOLDS, -1].sum(dtype=np.int64)) for sums in self._sums]

    def scores(self, categories: Sequence[int]) -> Scores:
        """The sums of one category, or of several pooled, to be judged."""
        self._settle()
        present = [sums for number in categories if (sums := self._sums[number]) is not None]
        narrow = all(sums.itemsize <= 2 for sums in present)  # 65,536 categories of them fit into four bytes
        pooled = np.zeros(self._shape, dtype=np.int32 if narrow else np.int64)
        for sums in present:
            pooled += sums
        folds, replicates, flipped = np.split(pooled, [FOLDS, FOLDS + self._replicates])
        return Scores(folds, replicates, flipped, self.candidates)

    def merge(self, other: Tally) -> None:
        """Add another tally's sums to these."""
        self._settle()
        other._settle()
        for number, sums in enumerate(other._sums):
            if sums is not None:
                _add(self._widened(number, sums[:, -1]), sums)

    def state(self) -> dict[str, Sums]:
        """The sums of each category, to be saved."""
        self._settle()
        blank = np.zeros(self._shape, dtype=np.int8)
        return {str(number): blank if sums is None else sums for number, sums in enumerate(self._sums)}

    def restore(self, state: dict[str, Sums]) -> None:
        """Take over saved sums."""
        self._pending.clear()
        for number in range(self.categories):
            sums = state[str(number)]
            self._sums[number] = sums.copy() if sums[:, -1].any() else None

    def _widened(self, number: int, counts: NDArray[Any]) -> Sums:
        """The sums of a category, with room for more instances. counts: by how much their last column grows.

        No other column is larger: nobody is right more often than there are instances.
        """
        sums = self._sums[number]
        total = counts.astype(np.int64) + (0 if sums is None else sums[:, -1])
        most = max(int(np.abs(total).max()), int(total[:FOLDS].sum()))  # a flipped sum may reach the plain one
        narrowest = np.min_scalar_type(-most - 1)
        if sums is None:
            sums = np.zeros(self._shape, dtype=narrowest)
        elif narrowest.itemsize > sums.itemsize:
            sums = sums.astype(narrowest)
        self._sums[number] = sums
        return sums

    def _settle(self) -> None:
        """Bring the batches that wait into the sums."""
        if not self._pending:
            return
        device = self._pending[0].right.device
        first_units = np.cumsum([0, *(len(batch.ids) for batch in self._pending)])
        unit = np.concatenate([first + batch.unit for first, batch in zip(first_units, self._pending, strict=False)])
        category = np.concatenate([batch.category for batch in self._pending])
        order = np.argsort(category, kind="stable")
        with one_thread():
            units, ordered = (torch.from_numpy(array.astype(np.int64)).to(device) for array in (unit[order], order))
            weights = torch.from_numpy(self._weights()).to(device, torch.float32)  # [units, weightings]
            right = torch.cat([torch.cat([batch.right, batch.baselines_right], 1) for batch in self._pending])

        def add_category(part: tuple[int, int, int]) -> None:
            number, start, end = part
            weighting = weights[units[start:end]].T  # [weightings, n]
            sums = self._widened(number, weighting.sum(1).cpu().numpy())
            of_category = right[ordered[start:end]]
            for first in range(0, self._shape[1], COLUMNS_AT_ONCE):
                values = of_category[:, first : first + COLUMNS_AT_ONCE].float()
                if first + COLUMNS_AT_ONCE >= self._shape[1]:
                    values = torch.nn.functional.pad(values, (0, 1), value=1)  # the count
                _add(sums[:, first : first + COLUMNS_AT_ONCE], (weighting @ values).to(torch.int32).cpu().numpy())

        present, starts = np.unique(category[order], return_index=True)
        parts = list(zip(present.tolist(), starts.tolist(), [*starts[1:].tolist(), len(order)], strict=True))
        if device.type == "cpu":
            side_by_side(add_category, sorted(parts, key=lambda part: part[1] - part[2]))  # the largest first
        else:
            for part in parts:
                add_category(part)
        self._pending.clear()

    def _weights(self) -> NDArray[np.int8]:
        """How each unit that waits counts in every sum: [units, weightings]."""
        ids = [name for batch in self._pending for name in batch.ids]
        documents = [name for batch in self._pending for name in batch.documents]
        fold = np.array([fold_of(document, self._seed) for document in documents])
        halves = (fold[:, None] == np.arange(FOLDS)).astype(np.int8)
        bootstrap = poisson_weights(ids, self._replicates, self._seed).astype(np.int8)
        return np.concatenate([halves, bootstrap, signs(documents, self._permutations, self._seed)], axis=1)


def _add(sums: Sums, added: Sums) -> None:
    """Add integers to sums that have room for the result, though perhaps narrower ones."""
    np.add(sums, added, out=sums, casting="same_kind")
