"""Does it matter how much a head attends to a token? The gradient of the loss to attention, by the kind of token
attended to (section 3.2, figure 3).

|dL/da[i, j]| averaged over the pairs of a segment whose token j is of a kind and which the model's mask admits, then
over segments. L is the masked language model loss (BERT's masking) or, for causal models, that of the next token.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from headatlas.encoding.batches import Batch
from headatlas.encoding.kinds import TokenKind
from headatlas.statistics.surface import widest
from headatlas.studies.labels import Tables
from headatlas.studies.study import LayerMap, SegmentMeans
from headatlas.studies.token_kinds import CLS, SEP, TO_KIND
from headatlas.tables import COUNT, ONE_HEAD, VALUE_INTERVAL, Key, Table, Value, control

KIND = Key("kind", "kind of the token attended to: cls, sep, period_comma, other", labels=TO_KIND)
GRADIENT = Value("value", "mean |dL/da| over pairs of tokens, L a segment's mean loss in nats")
GRADIENTS = Table(
    "gradients",
    "Would the loss change if a head attended more to a kind of token?",
    (*ONE_HEAD, KIND, GRADIENT, *VALUE_INTERVAL, COUNT, control("number")),
    section="3.2, figure 3",
    label="|dL/da| towards {kind}",
    short="{kind}",
    card="How much the loss depends on it, |dL/da|",
    panels=("sep", "other"),
    figure=("figure3_gradients", "headatlas.views.figures.layers:gradients_figure"),
)
KINDS = {"cls": TokenKind.CLS, "sep": TokenKind.SEP, "period_comma": TokenKind.PERIOD_COMMA, "other": TokenKind.OTHER}


def admitted_pairs(batch: Batch, mask: Tensor | None, causal: bool) -> Tensor:
    """Pairs (i, j) of real tokens between which attention may flow: [B, 1, Q, K], bool."""
    admitted = batch.mask[:, None, :, None] & batch.mask[:, None, None, :]
    if mask is not None:
        admitted = admitted & (mask > torch.finfo(mask.dtype).min / 2)
    elif causal:
        admitted = admitted.tril()
    return admitted


def mean_gradient_to_kinds(gradients: Tensor, admitted: Tensor, kinds: Tensor) -> Tensor:
    """Mean |gradient| over the admitted pairs of a segment, by kind of the token attended to.

    gradients: [B, H, Q, K]; admitted: [B, 1, Q, K]; kinds: [B, K] -> [B, H, 4]; 0 where there is no pair.
    """
    columns = torch.stack([kinds == kind for kind in KINDS.values()], -1).to(gradients.dtype)  # [B, K, 4]
    received = (gradients.abs() * admitted).sum(2)  # [B, H, K]
    pairs = admitted.sum(2).to(gradients.dtype) @ columns  # [B, 1, 4]
    return (received @ columns).to(widest(gradients.device)) / pairs.clamp_min(1)


class Gradients(SegmentMeans):
    """Mean absolute gradient of the loss to attention, for every head and kind of token."""

    name = "gradients"
    watches = "gradients"
    tables = (GRADIENTS,)

    def segment_means(self, layer_map: LayerMap) -> Tensor:
        batch = layer_map.batch
        admitted = admitted_pairs(batch, layer_map.mask, self.causal)
        return mean_gradient_to_kinds(layer_map.weights.float(), admitted, batch.kinds)

    def counted(self, batch: Batch) -> Tensor:
        """A kind counts where the segment has such a token."""
        kinds = torch.where(batch.mask, batch.kinds, 255)
        return torch.stack([(kinds == kind).any(1) for kind in KINDS.values()], -1)

    @classmethod
    def findings(cls, tables: Tables) -> Iterator[str]:
        layers = tables["gradients"].pivot_table(index="layer", columns="kind", values="value")
        for pattern in (SEP, CLS):
            if pattern.key in layers and "other" in layers:
                ratio = layers[pattern.key] / layers["other"]
                yield (
                    f"|dL/da| towards {pattern.target} is {ratio.iloc[0]:.2f} times that towards other tokens in layer "
                    f"1, {ratio.iloc[-1]:.2f} times in layer {ratio.index[-1]}."
                )
