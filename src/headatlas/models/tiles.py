"""A block of rows of one layer's maps: what everything that is measured on attention is added up from.

The rows of a map are independent of each other, so attention can be computed, measured and dropped a block at a time,
and no map need ever exist as a whole.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from torch import Tensor


@dataclass(frozen=True)
class Tile:
    """Some rows of one layer's maps, of one or more inputs of a batch that follow each other.

    Attributes:
        weights: Attention weights, or gradients of the loss to them, [S, H, R, C]. Their memory may be used again for
            the next tile, so what is kept must be copied.
        segment: The place of the first input in the batch.
        head: The first head.
        row: The place of the first row: its token attends.
        column: The place of the first column. Outside the tile's columns its rows hold exactly 0.
        mask: These rows and columns of the model's additive mask, [S or 1, 1, R, C], or None.
    """

    weights: Tensor
    _: KW_ONLY
    segment: int = 0
    head: int = 0
    row: int = 0
    column: int = 0
    mask: Tensor | None = None

    @property
    def segments(self) -> slice:
        """The inputs in the batch."""
        return slice(self.segment, self.segment + self.weights.shape[0])

    @property
    def heads(self) -> slice:
        """The heads of the layer."""
        return slice(self.head, self.head + self.weights.shape[1])

    @property
    def rows(self) -> slice:
        """The places of the rows."""
        return slice(self.row, self.row + self.weights.shape[2])

    @property
    def columns(self) -> slice:
        """The places of the columns."""
        return slice(self.column, self.column + self.weights.shape[3])

    def check(self, tokens: Tensor, sums: Tensor) -> None:
        """Refuse a tile that does not lie within the maps of a batch [B, T], or does not fit sums [B, H, ...]."""
        inputs, length = tokens.shape
        within = (self.segments, inputs), (self.heads, sums.shape[1]), (self.rows, length), (self.columns, length)
        if any(part.stop > size for part, size in within):
            ends = " x ".join(f"{part.start}:{part.stop}" for part, _ in within)
            raise ValueError(
                f"a tile of inputs x heads x rows x columns {ends} does not lie within a batch of {inputs} x {length} "
                f"tokens with {sums.shape[1]} heads"
            )


def whole_tile(weights: Tensor, shape: tuple[int, ...], mask: Tensor | None = None) -> Tile:
    """Whole maps [B, H, Q, K] as one tile; ValueError if they are not those of a batch of shape [B, T]."""
    inputs, tokens = shape[:2]
    if (weights.shape[0], *weights.shape[2:]) != (inputs, tokens, tokens):
        raise ValueError(f"maps of shape {list(weights.shape)} are not those of a batch of {inputs} x {tokens} tokens")
    return Tile(weights, mask=mask)
