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

Memory does not grow with the corpus: 4 bytes x categories x (2 + replicates + permutations) x (candidates + baselines
+ 1). For 45 categories, 10 baselines and 1,000 replicates and permutations that is 56 MB with the 144 candidates of a
model of 6 x 12 heads in two directions, 108 MB with 12 x 12 heads, 742 MB with 32 x 32. Sums are int32: at most 2^31
instances a category.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headatlas.statistics.kernels.threads import one_thread, side_by_side
from headatlas.statistics.resampling import LARGEST_WEIGHT, fold_of, poisson_weights, signs
from headatlas.statistics.scores import Scores

FOLDS = 2
SETTLED_AT_ONCE = 1 << 14  # instances: few large products are quicker than many small ones
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
        weightings = FOLDS + replicates + permutations
        self._sums = torch.zeros(categories, weightings, candidates + baselines + 1, dtype=torch.int32)

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
        if sum(len(batch.category) for batch in self._pending) >= SETTLED_AT_ONCE:
            self._settle()

    def counts(self) -> list[int]:
        """Instances of each category."""
        self._settle()
        return [int(count) for count in self._sums[:, :FOLDS, -1].sum(1)]

    def scores(self, categories: Sequence[int]) -> Scores:
        """The sums of one category, or of several pooled, to be judged."""
        self._settle()
        with one_thread():
            pooled = torch.zeros(self._sums.shape[1:], dtype=torch.int64, device=self._sums.device)
            for number in categories:
                pooled += self._sums[number]
        folds, replicates, flipped = np.split(pooled.cpu().numpy(), [FOLDS, FOLDS + self._replicates])
        return Scores(folds, replicates, flipped, self.candidates)

    def merge(self, other: Tally) -> None:
        """Add another tally's sums to these."""
        self._settle()
        other._settle()
        self._sums += other._sums.to(self._sums.device)

    def state(self) -> dict[str, NDArray[np.int32]]:
        """The sums, to be saved."""
        self._settle()
        return {"sums": self._sums.cpu().numpy()}

    def restore(self, state: dict[str, NDArray[np.int32]]) -> None:
        """Take over saved sums."""
        self._pending.clear()
        self._sums = torch.from_numpy(state["sums"].copy())

    def _settle(self) -> None:
        """Bring the batches that wait into the sums."""
        if not self._pending:
            return
        device = self._pending[0].right.device
        self._sums = self._sums.to(device)
        first_units = np.cumsum([0, *(len(batch.ids) for batch in self._pending)])
        unit = np.concatenate([first + batch.unit for first, batch in zip(first_units, self._pending, strict=False)])
        category = np.concatenate([batch.category for batch in self._pending])
        order = np.argsort(category, kind="stable")
        with one_thread():
            units, ordered = (torch.from_numpy(array.astype(np.int64)).to(device) for array in (unit[order], order))
            weights = torch.from_numpy(self._weights()).to(device, torch.float32)  # [units, weightings]
            right = torch.cat([torch.cat([batch.right, batch.baselines_right], 1) for batch in self._pending])
            values = torch.nn.functional.pad(right[ordered].float(), (0, 1), value=1)  # [N, columns]

        def add_category(part: tuple[int, int, int]) -> None:
            number, start, end = part
            self._sums[number].add_((weights[units[start:end]].T @ values[start:end]).to(torch.int32))

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
