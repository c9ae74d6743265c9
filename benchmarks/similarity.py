"""All pairs of heads on given maps against the loop of the paper's notebook, and the study in a survey."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from benchmarks.measuring import Result, bare_forward, base_size, eager_twin, random_batch, ratio
from headatlas.encoding.batches import Batch
from headatlas.engine.job import Observer
from headatlas.models.loading import load_model
from headatlas.models.stacks import HeadShape
from headatlas.statistics.divergence import divergence_sums
from headatlas.studies.similarity import AUTHORS_SMOOTHING, Similarity
from headatlas.studies.study import LayerMap

GOAL = 80.0
SURVEY_GOAL = 1.4
ERROR_GOAL = 1e-5
LAYERS, HEADS, TOKENS = 12, 12, 128
SEGMENTS = 10


def measure(quick: bool) -> Result:
    """Time of the loop over time of the study, for a segment of a 144-head model; the study sees ten in a round."""
    batch = random_batch(load_model("embedded", device="cpu"), 1, TOKENS)
    dice = torch.Generator().manual_seed(0)
    maps = [(2 * torch.randn(1, HEADS, TOKENS, TOKENS, generator=dice)).softmax(-1) for _ in range(LAYERS)]
    stored = torch.cat(maps, 1)[0].numpy()  # [L * H, Q, K]
    study = Similarity(smoothing=AUTHORS_SMOOTHING)
    study.start(HeadShape((HEADS,) * LAYERS))
    rounds = 1 if quick else 7
    times = SEGMENTS * ratio(lambda: _loop(stored), lambda: _see_all(study, maps, batch), rounds)
    survey, error = _over_the_forward_pass(rounds=3 if quick else 15), _largest_error(maps)
    larger = ((384, TOKENS), (LAYERS * HEADS, 512))  # 24 x 16 heads; long segments
    more_heads, more_tokens = (_growth(*size, rounds=1 if quick else 7) for size in larger)
    also = {
        "survey_ratio": round(survey, 3),
        "survey_goal": SURVEY_GOAL,
        "largest_error": float(f"{error:.1e}"),
        "error_goal": ERROR_GOAL,
        "cost_in_heads": round(more_heads, 2),
        "cost_in_tokens": round(more_tokens, 2),
    }
    holds = survey <= SURVEY_GOAL and error < ERROR_GOAL
    return Result("similarity", times, GOAL, at_least=True, also=also, also_holds=holds)


def _see_all(study: Similarity, maps: list[Tensor], batch: Batch) -> None:
    """Ten segments one after another: what a segment takes in a survey, and not the first after something else."""
    for _ in range(SEGMENTS):
        _see(study, maps, batch)


def _see(study: Similarity, maps: list[Tensor], batch: Batch) -> None:
    for layer, weights in enumerate(maps):
        study.see(layer, LayerMap(weights, batch, None))
    study.end_batch(batch)


def _loop(stored: NDArray[np.float32]) -> NDArray[np.float64]:
    """What the paper's notebook does: for each head, smooth all maps and compare it by the definition."""
    distances = np.zeros((len(stored), len(stored)))
    for number in range(len(stored)):
        maps = (1 - AUTHORS_SMOOTHING) * stored + AUTHORS_SMOOTHING / stored.shape[-1]
        head = maps[number]
        mixture = (head + maps) / 2
        to_mixture = head * np.log(head / mixture) + maps * np.log(maps / mixture)
        distances[number] = to_mixture.sum((1, 2)) / 2
    return distances


def _over_the_forward_pass(rounds: int) -> float:
    """How many times as long a batch takes with the study as without, in a model of base size."""
    model = base_size()
    batch = random_batch(model, 8, TOKENS)
    study = Similarity()
    study.start(model.shapes[model.default_stack])
    observer = Observer(model, {study.name: study})
    return ratio(lambda: observer.observe(batch), bare_forward(eager_twin(model), batch), rounds)


def _growth(heads: int, tokens: int, rounds: int) -> float:
    """How many times as long a larger segment takes, over how many times as many numbers are compared."""
    small, large = _rows(LAYERS * HEADS, TOKENS), _rows(heads, tokens)
    more = _compared(large) / _compared(small)
    return ratio(lambda: divergence_sums(large), lambda: divergence_sums(small), rounds) / more


def _rows(heads: int, tokens: int) -> Tensor:
    """One segment's rows, made up. [Q, H, K]"""
    dice = torch.Generator().manual_seed(0)
    return (2 * torch.randn(tokens, heads, tokens, generator=dice)).softmax(-1)


def _compared(rows: Tensor) -> float:
    tokens, heads, columns = rows.shape
    return tokens * columns * heads * (heads - 1) / 2


def _largest_error(maps: list[Tensor]) -> float:
    """Of any pair's distance, relative to float64."""
    rows = torch.cat([layer[0].transpose(0, 1) for layer in maps], 1)  # [Q, H, K]
    upper = torch.triu_indices(rows.shape[1], rows.shape[1], 1).unbind()
    found, exact = divergence_sums(rows)[0][upper], divergence_sums(rows.double())[0][upper]
    return float(((found - exact).abs() / exact).max())
