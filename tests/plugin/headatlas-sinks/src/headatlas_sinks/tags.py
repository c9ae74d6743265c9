"""How much do the words of a sentence attend to words with the same tag?"""

from __future__ import annotations

import torch
from torch import Tensor

import headatlas as ha
from headatlas_sinks.tagged import TaggedSegment

TAG_ATTENTION = ha.Table(
    "tag_attention",
    "How much attention goes from a word to words with the same tag, and to others?",
    (
        *ha.ONE_HEAD,
        ha.Key("target", "same or other tag", labels={"same": "the same tag", "other": "another tag"}),
        ha.Value("value", "mean attention, 0 to 1", "share"),
        *ha.VALUE_INTERVAL,
        ha.COUNT,
    ),
    label="attention to words with {target}",
    card="Tags",
)


class TagAttention(ha.SegmentMeans):
    """Mean attention from the tokens of words to those of words with the same tag, and to all others."""

    name = "tag_attention"
    corpus = "tagged"
    tables = (TAG_ATTENTION,)

    def segment_means(self, layer_map: ha.LayerMap) -> Tensor:
        weights = layer_map.weights
        same, other = (torch.zeros(len(weights), *weights.shape[2:]) for _ in range(2))  # [B, Q, K]
        rows = torch.zeros(len(weights))
        for place, segment in enumerate(layer_map.batch.segments):
            assert isinstance(segment, TaggedSegment)
            words = [int(word) for word in segment.words]
            for query, asking in enumerate(words):
                for key, asked in enumerate(words):
                    if asking >= 0 and asked >= 0:
                        (same if segment.tags[asking] == segment.tags[asked] else other)[place, query, key] = 1
            rows[place] = sum(word >= 0 for word in words)
        masks = torch.stack([same, other]).to(weights)  # [2, B, Q, K]
        return torch.einsum("bhqk,cbqk->bhc", weights, masks) / rows.to(weights)[:, None, None]
