"""What a survey costs after its pass, by the number of heads: 144 as in BERT-base, 1,024 as in 8B, 5,120 as in 70B.

The models have random weights and heads of two numbers each, so that the pass is short; their queries and keys are
large, so that heads differ. They read the sample that comes with headatlas, whole sentences and documents included: its
treebank and its coreference. Each width runs in a process of its own. Seconds are those of a survey outside its passes
(tables, tests, map of heads, files), then of the page and of the figures; memory is the peak of the survey over what
the loaded model takes. Seconds of the processor, in all threads, are beside them: they are the same on a busy machine.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from transformers import AutoTokenizer, BertConfig, BertForMaskedLM

import headatlas as ha
from benchmarks.measuring import Result
from headatlas.commands.survey import run as survey_run
from headatlas.engine.run import run_studies
from headatlas.models.embedded import EMBEDDED
from headatlas.models.model import Model
from headatlas.views.figures.write import write_figures
from headatlas.views.page import write_page

WIDTHS = {144: (12, 12), 1024: (32, 32), 5120: (80, 64)}  # heads: layers, and heads in each
QUICK = {72: (6, 12), 144: (12, 12)}
GOAL_SECONDS = {1024: 10.0, 5120: 90.0}
GOAL_GB = 2.0  # at 1,024 heads
SEGMENTS = 4
TOKENS = 32


def measure(quick: bool) -> Result:
    """Seconds after the pass at 1,024 heads over 10. Quick: 72 and 144 heads."""
    widths = QUICK if quick else WIDTHS
    measured = {heads: _in_process(*shape) for heads, shape in widths.items()}
    also = {name: {heads: line[name] for heads, line in measured.items()} for name in next(iter(measured.values()))}
    judged = max(measured) if quick else 1024
    holds = all(measured[heads]["seconds"] <= goal for heads, goal in GOAL_SECONDS.items() if heads in measured)
    return Result(
        "heads",
        measured[judged]["seconds"] / GOAL_SECONDS[1024],
        1.0,
        also={**also, "goal_seconds": GOAL_SECONDS, "goal_peak_gb": GOAL_GB},
        also_holds=holds and measured[judged]["peak_gb"] <= GOAL_GB,
    )


def _in_process(layers: int, heads: int) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.heads", str(layers), str(heads)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    line: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return line


def wide_model(layers: int, heads: int) -> Model:
    """A BERT whose heads attend to different tokens, in the last layers too."""
    tokenizer = AutoTokenizer.from_pretrained(EMBEDDED["embedded"].verified().parent)
    size = {"hidden_size": 2 * heads, "num_hidden_layers": layers, "num_attention_heads": heads}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = BertForMaskedLM(BertConfig(intermediate_size=64, **size))
        with torch.no_grad():
            for name, parameter in network.named_parameters():
                if name.endswith(("query.weight", "key.weight")):
                    parameter.normal_(std=2 / parameter.shape[1] ** 0.5)
    return ha.observe_network(network.eval(), tokenizer, name=f"{layers}x{heads}", language_model="masked")


class Clock:
    """Seconds of the wall and of the processor that pass within some calls."""

    def __init__(self) -> None:
        self.wall = self.processor = 0.0

    def time(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, timed."""

        def timed(*arguments: Any, **keywords: Any) -> Any:
            wall, processor = time.perf_counter(), time.process_time()
            try:
                return function(*arguments, **keywords)
            finally:
                self.wall += time.perf_counter() - wall
                self.processor += time.process_time() - processor

        return timed


def _survey(layers: int, heads: int) -> dict[str, float]:
    model = wide_model(layers, heads)
    passes, whole, page, figures = Clock(), Clock(), Clock(), Clock()
    setattr(survey_run, "run_studies", passes.time(run_studies))  # noqa: B010
    loaded = _peak_gb()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "atlas"
        atlas = whole.time(ha.survey)(model, out=out, segments=SEGMENTS, max_tokens=TOKENS, progress=False)
        peak = _peak_gb() - loaded
        path = page.time(write_page)(atlas)
        figures.time(write_figures)(atlas)
        return {
            "seconds": round(whole.wall - passes.wall, 1),
            "processor_seconds": round(whole.processor - passes.processor, 1),
            "page_seconds": round(page.wall, 1),
            "figures_seconds": round(figures.wall, 1),
            "peak_gb": round(peak, 2),
            "tables_mb": _megabytes(out / "tables"),
            "state_mb": _megabytes(out / "state"),
            "page_mb": round(path.stat().st_size / 1e6, 2),
        }


def _peak_gb() -> float:
    """All that this process ever held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def _megabytes(folder: Path) -> float:
    return round(sum(path.stat().st_size for path in folder.iterdir()) / 1e6, 1)


if __name__ == "__main__":
    print(json.dumps(_survey(*map(int, sys.argv[1:]))))
