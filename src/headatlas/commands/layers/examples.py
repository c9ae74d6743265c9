"""Examples: targets whose decision moves most between layers (figure 3 of the slides).

The margin of a target at a layer is the probability of its right label minus that of its rival, the wrong label with
the largest mean probability over layers. Targets whose margin changes sign are kept, at most one per text, those with
the largest span first.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from headatlas.encoding.span_segments import SpanSegment, TokenTarget
from headatlas.probes.span_batches import SpanBatch, SpanTargets


@dataclass(frozen=True)
class Mover:
    """A target and what the probes of each layer predict for it."""

    movement: float
    place: int  # of its text
    target: int  # within the text
    label: int
    rival: int
    probabilities: NDArray[np.float64]  # [L + 1, 2], of the right label and of its rival


@dataclass
class Movers:
    """Keeps the targets that move most among all batches it sees."""

    most: int
    series: int  # probes of one training
    kept: list[Mover] = field(default_factory=list)  # the largest movement first, of equals that seen first

    def see(self, batch: SpanBatch, log_probabilities: Tensor) -> None:
        """See a batch of single labels with their log probabilities: [P, B, C]."""
        if not self.most:
            return
        probabilities = log_probabilities.cpu().double().exp()
        mean = probabilities.view(-1, self.series, *probabilities.shape[1:]).mean(0).numpy()  # [L + 1, B, C]
        answers, known = batch.answers[0].cpu().numpy(), batch.known.cpu().numpy()
        first = np.searchsorted(batch.text, batch.text)  # [B], the first target of the same text
        best: dict[int, Mover] = {}
        for row in np.flatnonzero(known).tolist():
            how = moved(mean[:, row], int(answers[row]))
            if how is not None:
                movement, rival, both = how
                place = batch.places[batch.text[row]]
                if place not in best or movement > best[place].movement:
                    target = row - int(first[row])
                    best[place] = Mover(movement, place, target, int(answers[row]), rival, both)
        self.kept = heapq.nlargest(self.most, [*self.kept, *best.values()], key=lambda mover: mover.movement)


def moved(probabilities: NDArray[np.float64], label: int) -> tuple[float, int, NDArray[np.float64]] | None:
    """How far a target's margin moves, its rival, and both probabilities [L + 1, 2]; None if it keeps its sign."""
    rivals = probabilities.mean(0)
    rivals[label] = -1
    rival = int(rivals.argmax())
    margin = probabilities[:, label] - probabilities[:, rival]
    if not margin.min() < 0 < margin.max():
        return None
    return float(np.ptp(margin)), rival, probabilities[:, [label, rival]]


def mover_rows(
    task: str, movers: Sequence[Mover], targets: SpanTargets, segments: Sequence[SpanSegment]
) -> list[dict[str, Any]]:
    """Rows of the table `layer_examples`. segments: the texts of the targets."""
    return [
        {
            "task": task,
            "rank": rank,
            "id": targets.ids[mover.place],
            "text": marked(segments[mover.place].text, targets.targets[mover.place][mover.target]),
            "label": targets.labels.names[mover.label],
            "rival": targets.labels.names[mover.rival],
            "movement": mover.movement,
            "layer": layer,
            "probability": float(right),
            "rival_probability": float(wrong),
        }
        for rank, mover in enumerate(movers, start=1)
        for layer, (right, wrong) in enumerate(mover.probabilities)
    ]


def marked(words: Sequence[str], target: TokenTarget) -> str:
    """The words of a text with a target's spans in brackets: ``he smoked [1 toronto]``."""
    shown = list(words)
    for number, (start, end) in enumerate(target.words, start=1):
        shown[start] = f"[{number} {shown[start]}"
        shown[end - 1] += "]"
    return " ".join(shown)
