"""Long inputs: the surface studies against the bare forward pass, and a whole survey of the embedded decoder.

Models have all layers of BERT-base and of SmolLM2 135M: what follows the last layer's attention is not computed for
studies, which would count for too much in fewer layers.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import headatlas as ha
from benchmarks.measuring import Result, base_size, grouped_decoder, over_plain_passes, random_batch, worst

GOALS = {
    "base-size 2 x 2048": {"eager": 0.7, "sdpa": 1.25},
    "grouped decoder 1 x 2048": {"eager": 0.45, "sdpa": 1.15},
    "grouped decoder 1 x 4096": {"eager": 0.35, "sdpa": 1.2},
}
TOKENS = 8192  # of the survey


def measure(quick: bool) -> Result:
    """The worst of all ratios over its goal. Quick: inputs a quarter as long, so goals need not hold."""
    part = 4 if quick else 1
    base = base_size(max_position_embeddings=2048)
    decoder = grouped_decoder(30)
    measured = {}
    for case, model in (*((case, base if case.startswith("base") else decoder) for case in GOALS),):
        rows, tokens = int(case.split()[-3]), int(case.split()[-1]) // part
        measured[case] = over_plain_passes(model, random_batch(model, rows, tokens), 1 if quick else 5)
    also = {"over": measured, "goals": GOALS, **_survey(TOKENS // part)}
    return Result("long", worst(measured, GOALS), 1.0, also=also)


def _survey(tokens: int) -> dict[str, float]:
    """A survey of two documents of the sample text, each one input: seconds, and the largest input."""
    lines = [line for line in ha.sample_text().read_text(encoding="utf-8").splitlines() if line]
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "text.txt"
        text.write_text("\n".join(lines * 2) + "\n\n" + "\n".join(lines[::-1] * 2), encoding="utf-8")
        started = time.perf_counter()
        ha.survey(
            "embedded-decoder",
            text=text,
            out=Path(folder) / "atlas",
            segments=2,
            max_tokens=tokens,
            studies=("positions", "token_kinds", "entropy", "max_attention"),
            bootstrap=100,
            progress=False,
        )
        return {"survey_tokens": tokens, "survey_seconds": round(time.perf_counter() - started, 1)}
