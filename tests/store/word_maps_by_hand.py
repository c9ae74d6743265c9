"""Word maps of one sentence by slow loops over its tokens, to compare with."""

from __future__ import annotations

import numpy as np
import torch

from headatlas.encoding.batches import make_batch
from headatlas.encoding.kinds import TokenKind
from headatlas.encoding.template import SPECIAL


def token_maps(model, segment, stack=None):
    """All heads' maps of one segment alone in its batch, [A, T, T], and its hidden states, [L + 1, T, D]."""
    layers, states = [], []
    batch = make_batch([segment], model.kinds, model.pad_id)
    model.observe(batch, lambda _layer, weights, _mask: layers.append(weights[0]), stack, states.extend)
    return torch.cat(layers).numpy(), torch.stack(states)[:, 0].numpy()


def units_by_hand(segment, kinds):
    """The tokens of every word, then of [CLS], then of [SEP]."""
    words = [[place for place, word in enumerate(segment.words) if word == number] for number in range(segment.size)]
    for kind in (TokenKind.CLS, TokenKind.SEP):
        words.append([place for place, word in enumerate(segment.words) if word == SPECIAL and kinds[place] == kind])
    return words


def merged(maps, groups):
    """To a group the sum over its tokens, from it the mean: [A, n, n]."""
    out = np.zeros((len(maps), len(groups), len(groups)))
    for head, weights in enumerate(maps):
        for i, froms in enumerate(groups):
            for j, tos in enumerate(groups):
                if froms:
                    out[head, i, j] = sum(weights[a, b] for a in froms for b in tos) / len(froms)
    return out
