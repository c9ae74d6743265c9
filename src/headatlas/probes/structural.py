"""Do hidden states hold the tree? The structural probe of Hewitt and Manning (2019), on every layer at once.

A linear map B of a given rank is learned so that ``|B (h_i - h_j)|^2`` comes near the number of edges between words i
and j (distance), and another so that ``|B h_i|^2`` comes near the number of edges above word i (depth). The loss is the
absolute difference, averaged over a sentence's pairs or words, then over sentences. Layer 0 is the embeddings' output.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from headatlas.probes.batches import ProbeBatch
from headatlas.probes.probe import Probe

FIRST_WIDTH = 0.05


def ancestors(targets: Tensor) -> Tensor:
    """Which words lie above each word, itself among them: [B, W, W] bool. targets: heads as in `ProbeBatch`."""
    words = targets.shape[1]
    parent = (targets[..., None] == torch.arange(words, device=targets.device)).float()
    found = parent + torch.eye(words, device=targets.device)
    for _ in range(max(1, (words - 1).bit_length())):  # each product doubles how far up one sees
        found = (found @ found).clamp_max(1)
    return found > 0


def tree_depths(targets: Tensor) -> Tensor:
    """Edges between each word and its root: [B, W] float."""
    return ancestors(targets).sum(-1).float() - 1


def tree_distances(targets: Tensor) -> Tensor:
    """Edges between each two words: [B, W, W] float."""
    above = ancestors(targets).float()
    count = above.sum(-1)
    return count[:, :, None] + count[:, None] - 2 * above @ above.transpose(1, 2)


class StructuralProbe(Probe[ProbeBatch]):
    """Distance and depth probes of all layers side by side: first the layers' distances, then their depths."""

    reads = "states"
    learning_rate = 0.001

    def __init__(self, layers: int, width: int, rank: int) -> None:
        super().__init__()
        self.layers = layers  # with the embeddings' output
        self.maps = nn.Parameter(torch.empty(2 * layers, width, rank).uniform_(-FIRST_WIDTH, FIRST_WIDTH))

    @property
    def side_by_side(self) -> int:
        """How many probes these are."""
        return 2 * self.layers

    def distances(self, batch: ProbeBatch) -> Tensor:
        """Squared distances of the mapped words: [B, L + 1, W, W]."""
        mapped = self._mapped(batch, self.maps[: self.layers])
        squares = mapped.square().sum(-1)
        products = mapped @ mapped.transpose(-1, -2)
        return (squares[..., None] + squares[..., None, :] - 2 * products).clamp_min(0)

    def depths(self, batch: ProbeBatch) -> Tensor:
        """Squared lengths of the mapped words: [B, L + 1, W]."""
        return self._mapped(batch, self.maps[self.layers :]).square().sum(-1)

    def losses(self, batch: ProbeBatch) -> tuple[Tensor, Tensor]:
        """Each probe's mean absolute error, summed over sentences, and the number of sentences: [2 (L + 1)] each."""
        mask, sizes = batch.mask, batch.sizes.float()
        pairs = (mask[:, None] & mask[:, :, None])[:, None]  # [B, 1, W, W]
        far = (self.distances(batch) - tree_distances(batch.targets)[:, None]).abs().masked_fill(~pairs, 0)
        deep = (self.depths(batch) - tree_depths(batch.targets)[:, None]).abs().masked_fill(~mask[:, None], 0)
        of_distance = (far.sum((2, 3)) / sizes.square()[:, None]).sum(0)
        of_depth = (deep.sum(2) / sizes[:, None]).sum(0)
        return torch.cat([of_distance, of_depth]), sizes.new_full((self.side_by_side,), len(sizes))

    def _mapped(self, batch: ProbeBatch, maps: Tensor) -> Tensor:
        if batch.states is None:
            raise ValueError("a structural probe needs hidden states")
        return batch.states @ maps  # [B, L + 1, W, D] @ [L + 1, D, R]
