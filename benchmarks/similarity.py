"""The similarity of all pairs of heads in a survey against the bare forward pass, how its cost grows, and its error."""

from __future__ import annotations

import torch
from torch import Tensor

from benchmarks.measuring import Result, bare_forward, base_size, eager_twin, random_batch, ratio
from headatlas.engine.job import Observer
from headatlas.statistics.divergence import divergence_sums
from headatlas.studies.similarity import Similarity

GOAL = 1.4
ERROR_GOAL = 1e-5  # nats, in a sum over the rows compared
HEADS, TOKENS = 144, 128
ROWS = 64  # of a segment that a survey compares


def measure(quick: bool) -> Result:
    """How many times as long a batch takes with the study as without, in a model of base size."""
    model = base_size()
    batch = random_batch(model, 8, TOKENS)
    study = Similarity()
    study.start(model.shapes[model.default_stack])
    observer = Observer(model, {study.name: study})
    times = ratio(lambda: observer.observe(batch), bare_forward(eager_twin(model), batch), rounds=3 if quick else 15)
    larger = ((384, TOKENS), (HEADS, 512))  # 24 x 16 heads; long segments
    more_heads, more_tokens = (_growth(*size, rounds=1 if quick else 7) for size in larger)
    error = _largest_error(_rows(HEADS, TOKENS)[:ROWS])
    also = {
        "largest_error_nats": float(f"{error:.1e}"),
        "error_goal": ERROR_GOAL,
        "cost_in_heads": round(more_heads, 2),
        "cost_in_tokens": round(more_tokens, 2),
    }
    return Result("similarity", times, GOAL, also=also, also_holds=error < ERROR_GOAL)


def _growth(heads: int, tokens: int, rounds: int) -> float:
    """How many times as long a larger segment takes, over how many times as many numbers are compared."""
    small, large = _rows(HEADS, TOKENS), _rows(heads, tokens)
    more = _compared(large) / _compared(small)
    return ratio(lambda: divergence_sums(large), lambda: divergence_sums(small), rounds) / more


def _rows(heads: int, tokens: int) -> Tensor:
    """One segment's rows, made up. [Q, H, K]"""
    rng = torch.Generator().manual_seed(0)
    return (2 * torch.randn(tokens, heads, tokens, generator=rng)).softmax(-1)


def _compared(rows: Tensor) -> float:
    tokens, heads, columns = rows.shape
    return tokens * columns * heads * (heads - 1) / 2


def _largest_error(rows: Tensor) -> float:
    """Of any pair's sum over the rows, compared with float64."""
    return float((divergence_sums(rows)[0] - divergence_sums(rows.double())[0]).abs().max())
