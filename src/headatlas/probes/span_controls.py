"""Did the span probe find structure, or learn words by heart? A control task after Hewitt and Liang (2019).

Each different wording of a target's spans, whatever its case, draws once by chance the answer of some training target.
So labels are as frequent as in the task, and a probe can get them right only by remembering words. *Selectivity* is
its accuracy on the task less its accuracy on this.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from headatlas.probes.span_batches import SpanTargets


def control_answers(
    targets: SpanTargets, texts: Sequence[Sequence[str]], pool: NDArray[np.int64], seed: int
) -> list[NDArray[np.int64]]:
    """Answers for every target. texts: the words of each text; pool: the training answers [n] or [n, C]."""
    return [
        pool[[_drawn(_wording(words, target.words), seed, len(pool)) for target in some]]
        for words, some in zip(texts, targets.targets, strict=True)
    ]


def _wording(words: Sequence[str], spans: Sequence[tuple[int, int]]) -> str:
    return " | ".join(" ".join(words[start:end]) for start, end in spans).lower()


def _drawn(wording: str, seed: int, count: int) -> int:
    drawn = hashlib.shake_128(f"{seed} control {wording}".encode()).digest(8)
    return int.from_bytes(drawn, "little") % count
