"""What do all heads know together? Graph-based parsers on frozen attention (paper, section 5).

Each word j gets a distribution over its possible heads: the other words i of the sentence and ROOT. The word itself is
not a candidate. With ``a_k[i, j]`` the attention of head k from word i to word j, candidate i scores

- `AttentionProbe`: ``sum_k w_k a_k[i, j] + u_k a_k[j, i]`` with two learned numbers a head;
- `AttentionWordsProbe`: the same with ``w_k = W_k (v_i ++ v_j)`` and ``u_k = U_k (v_i ++ v_j)``, where v are frozen
  word vectors, ++ joins them, and the learned W_k and U_k are vectors of twice their width.

ROOT scores, in both, ``sum_k c_k a_k[j, CLS] + d_k a_k[CLS, j] + e_k a_k[j, SEP] + f_k a_k[SEP, j]`` with four learned
numbers a head. In a model without such tokens ROOT scores 0.

No pair's coefficients are ever built: ``W_k (v_i ++ v_j)`` is a part that depends on i and one that depends on j, and
each is applied to all pairs of a word by one matrix product, or on the CPU by a kernel (`PairScores`).

Which heads such a probe uses is in `arcs`.
"""

from __future__ import annotations

from abc import abstractmethod

import torch
from torch import Tensor, nn
from torch.nn import functional

from headatlas.probes.batches import IGNORED, SPECIAL_PAIRS, ProbeBatch
from headatlas.probes.probe import Probe

FIRST_SPREAD = 0.01


class Parser(Probe[ProbeBatch]):
    """A probe that gives each word a distribution over its possible heads."""

    @abstractmethod
    def scores(self, batch: ProbeBatch) -> Tensor:
        """Score of each candidate for each dependent, ROOT last, before masking: [B, W, W + 1]."""

    def log_probabilities(self, batch: ProbeBatch) -> Tensor:
        """Over the other words and ROOT, in nats: [B, W, W + 1]; rows of padding mean nothing."""
        words = batch.mask.shape[1]
        itself = torch.eye(words, dtype=torch.bool, device=batch.mask.device)
        closed = functional.pad(~batch.mask[:, None] | itself, (0, 1))  # [B, W, W + 1], ROOT stays open
        return self.scores(batch).masked_fill(closed, -torch.inf).log_softmax(-1)

    def losses(self, batch: ProbeBatch) -> tuple[Tensor, Tensor]:
        """The sum of -log p of the true heads, in nats, and how many words it is over: each [1]."""
        log_probabilities = self.log_probabilities(batch).flatten(0, 1)
        loss = functional.nll_loss(log_probabilities, batch.targets.flatten(), ignore_index=IGNORED, reduction="sum")
        return loss[None], batch.sizes.sum()[None]


class AttentionParser(Parser):
    """What both attention probes share: pairs of words with both directions of attention, and ROOT."""

    reads = "maps"

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.root = nn.Parameter(torch.empty(SPECIAL_PAIRS, heads).normal_(std=FIRST_SPREAD))

    @abstractmethod
    def pair_scores(self, maps: Tensor, batch: ProbeBatch) -> Tensor:
        """Scores of words for words, the dependent first: [B, W, W]. maps: [B, W, W, A]."""

    @abstractmethod
    def coefficients(self, batch: ProbeBatch) -> Tensor:
        """What each pair's attention is multiplied by, the order of `both_directions`: [B or 1, W or 1, W or 1, 2A]."""

    def scores(self, batch: ProbeBatch) -> Tensor:
        if batch.maps is None or batch.special is None:
            raise ValueError("an attention probe needs maps")
        root = batch.special.flatten(2) @ self.root.flatten()  # [B, W]
        return torch.cat([self.pair_scores(batch.maps, batch), root[..., None]], -1)


def both_directions(maps: Tensor) -> Tensor:
    """For dependent j and candidate i: a_k[j, i] of every head, then a_k[i, j]: [B, W, W, 2A]. maps: [B, W, W, A]."""
    return torch.cat([maps, maps.transpose(1, 2)], -1)


class AttentionProbe(AttentionParser):
    """Two learned numbers a head, one a direction."""

    learning_rate = 0.05

    def __init__(self, heads: int) -> None:
        super().__init__(heads)
        self.weight = nn.Parameter(torch.empty(2 * heads).normal_(std=FIRST_SPREAD))  # u, then w

    def pair_scores(self, maps: Tensor, batch: ProbeBatch) -> Tensor:
        up, down = (maps @ self.weight.view(2, self.heads).T).unbind(-1)
        return up + down.transpose(1, 2)

    def coefficients(self, batch: ProbeBatch) -> Tensor:
        return self.weight[None, None, None]


class AttentionWordsProbe(AttentionParser):
    """A head's numbers are linear in the vectors of both words. vectors: frozen, [N, D]."""

    learning_rate = 0.02

    def __init__(self, heads: int, vectors: Tensor) -> None:
        super().__init__(heads)
        self.register_buffer("vectors", vectors, persistent=False)
        width = vectors.shape[1]
        self.dependent = nn.Parameter(torch.empty(width, 2 * heads).normal_(std=FIRST_SPREAD))
        self.candidate = nn.Parameter(torch.empty(width, 2 * heads).normal_(std=FIRST_SPREAD))

    def pair_scores(self, maps: Tensor, batch: ProbeBatch) -> Tensor:
        parts = self._parts(batch)
        if maps.device.type == "cpu" and maps.dtype == torch.float32:
            from headatlas.statistics.kernels.pair_scores import PairScores

            return PairScores.apply(maps, batch.sizes, *parts)  # type: ignore[no-any-return, no-untyped-call]
        return pair_scores_torch(maps, *parts)

    def coefficients(self, batch: ProbeBatch) -> Tensor:
        """W_k (v_i ++ v_j) and U_k (v_i ++ v_j) themselves: [B, W, W, 2A]. For looking at, not for training."""
        as_dependent, as_candidate = self._parts(batch)
        return as_dependent[:, :, None] + as_candidate[:, None]

    def pair_coefficients(self, dependent: int, candidate: int) -> Tensor:
        """The coefficients for two words, by their rows in the table of vectors: [2A]."""
        vectors = self.get_buffer("vectors")
        return vectors[dependent] @ self.dependent + vectors[candidate] @ self.candidate

    def _parts(self, batch: ProbeBatch) -> tuple[Tensor, Tensor]:
        """What each word adds to the coefficients as dependent and as candidate: [B, W, 2A] each."""
        vectors = self.get_buffer("vectors")[batch.words]
        return vectors @ self.dependent, vectors @ self.candidate


def pair_scores_torch(maps: Tensor, as_dependent: Tensor, as_candidate: Tensor) -> Tensor:
    """The scores by tensor operations, for any device and dtype: [B, W, W]. Both parts: [B, W, 2A], u and then w.

    The attention from word j to word i is multiplied by what j says of it and by what i says, each once for i as the
    head of j and once for j as the head of i.
    """
    heads = maps.shape[-1]
    up, candidate_up = as_dependent[..., :heads], as_candidate[..., :heads]
    down, candidate_down = as_dependent[..., heads:], as_candidate[..., heads:]
    by_j = maps @ torch.stack([up, candidate_down], -1)  # [B, W, W, 2], j first
    by_i = maps.transpose(1, 2) @ torch.stack([down, candidate_up], -1)  # i first
    return by_j[..., 0] + by_j[..., 1].transpose(1, 2) + by_i[..., 0] + by_i[..., 1].transpose(1, 2)
