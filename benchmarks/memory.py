"""Peak memory over the loaded model: observing layer by layer against keeping all maps, and few against many segments.

Each case runs in a process of its own, whose resident peak is reset once the model is loaded. glibc is told to give
freed blocks of over a megabyte back at once, so that its own fragmentation (some 40 MB, by chance) is not measured.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import torch

import headatlas as ha
from benchmarks.measuring import STUDIED, Result, base_size, eager_twin, observed_pass, random_batch
from headatlas.encoding.batches import Batch

GOAL = 0.25
GROWTH = 1.05  # 2,000 segments may need so much more than 200
ROWS, TOKENS = 8, 512


def measure(quick: bool) -> Result:
    """Peak with the studies over peak with output_attentions=True, at 8 x 512 tokens on a base-size model."""
    how = "quick" if quick else "full"
    cases = (("observed", how), ("kept", how), ("200", how), ("2000", how))
    with ThreadPoolExecutor(2) as two_at_a_time:  # nothing is timed here
        observed, kept, few, many = two_at_a_time.map(lambda case: _in_process(*case), cases)
    also = {
        "observed_mb": round(observed, 1),
        "kept_mb": round(kept, 1),
        "survey_200_mb": round(few, 1),
        "survey_2000_mb": round(many, 1),
        "growth_200_to_2000": round(many / few, 3),
        "growth_goal": GROWTH,
    }
    return Result("memory", observed / kept, GOAL, also=also, also_holds=many / few <= GROWTH)


def _in_process(*arguments: str) -> float:
    command = [sys.executable, "-m", "benchmarks.memory", *arguments]
    environment = os.environ | {"MALLOC_MMAP_THRESHOLD_": "1000000"}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return float(json.loads(done.stdout.splitlines()[-1]))


def _status(name: str) -> int:
    """A field of /proc/self/status in kB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1])
    raise KeyError(name)


def _peak_over_now(work: Callable[[], object]) -> float:
    """MB by which the resident peak during `work` exceeds what is resident before."""
    Path("/proc/self/clear_refs").write_text("5")
    before = _status("VmRSS")
    work()
    return (_status("VmHWM") - before) / 1024


def _one_batch(keep: bool, quick: bool) -> float:
    """Quick: a quarter of the width, with maps of the same size."""
    model = base_size(hidden_size=192, intermediate_size=768) if quick else base_size()
    twin = eager_twin(model)

    def keep_all(batch: Batch) -> Callable[[], object]:
        inputs = {"input_ids": batch.input_ids, "attention_mask": batch.mask.long(), "output_attentions": True}
        return torch.inference_mode()(lambda: twin(**inputs))

    small, large = random_batch(model, 1, 16), random_batch(model, ROWS, TOKENS)
    warm_up, work = (keep_all(batch) if keep else observed_pass(model, batch, STUDIED) for batch in (small, large))
    warm_up()  # compiles kernels and fills pools, on both sides
    return _peak_over_now(work)


def _survey(segments: int, quick: bool) -> float:
    """A whole survey, reading and sampling included. Quick: one narrow layer, with maps of the same size."""
    model = (
        base_size(hidden_size=96, intermediate_size=384, num_hidden_layers=1) if quick else ha.load_model("embedded")
    )
    names = ("positions", "token_kinds", "entropy", "max_attention")
    lines = [line for line in ha.sample_text().read_text(encoding="utf-8").splitlines() if line]
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "text.txt"
        text.write_text("\n".join(lines * 16), encoding="utf-8")

        def survey(name: str, count: int) -> object:
            return ha.survey(model, text=text, out=Path(folder) / name, segments=count, studies=names, progress=False)

        survey("warm", 20)
        return _peak_over_now(lambda: survey("atlas", segments))


if __name__ == "__main__":
    case, how = sys.argv[1:]
    if case.isdigit():
        print(json.dumps(_survey(int(case), how == "quick")))
    else:
        print(json.dumps(_one_batch(case == "kept", how == "quick")))
