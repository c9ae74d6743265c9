"""Peak memory over the loaded model: tiles against keeping all maps, few against many segments, and long inputs.

Long inputs are those of two layers with 32 heads of 64 numbers that share 8 keys, and what counts is the peak over that
of the bare forward pass with torch's fused attention, which keeps no map at all.

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
from benchmarks.measuring import (
    STUDIED,
    Result,
    bare_forward,
    base_size,
    eager_twin,
    grouped_decoder,
    observed_pass,
    random_batch,
)
from headatlas.encoding.batches import Batch

GOAL = 0.08
LONG_GOAL = 1.1
LONG = 4096, 16384
LONG_SHAPE = {"num_attention_heads": 32, "num_key_value_heads": 8, "hidden_size": 2048, "intermediate_size": 2048}
GROWTH = 1.05  # 2,000 segments may need so much more than 200
ROWS, TOKENS = 8, 512


def measure(quick: bool) -> Result:
    """Peak with the studies over peak with output_attentions=True, at 8 x 512 tokens on a base-size model."""
    how = "quick" if quick else "full"
    tokens = [str(number // 4 if quick else number) for number in LONG]
    cases = [("observed", how), ("kept", how), ("200", how), ("2000", how)]
    cases += [(attention, number) for number in tokens for attention in ("tiles", "sdpa")]
    with ThreadPoolExecutor(2) as two_at_a_time:  # nothing is timed here
        observed, kept, few, many, *long = two_at_a_time.map(lambda case: _in_process(*case), cases)
    over_sdpa = {
        number: round(tiles / sdpa, 3) for number, tiles, sdpa in zip(tokens, long[::2], long[1::2], strict=True)
    }
    also = {
        "observed_mb": round(observed, 1),
        "kept_mb": round(kept, 1),
        "survey_200_mb": round(few, 1),
        "survey_2000_mb": round(many, 1),
        "growth_200_to_2000": round(many / few, 3),
        "growth_goal": GROWTH,
        "long_mb": {number: round(peak, 1) for number, peak in zip(tokens, long[::2], strict=True)},
        "long_over_sdpa": over_sdpa,
        "long_goal": LONG_GOAL,
    }
    holds = many / few <= GROWTH and all(ratio <= LONG_GOAL for ratio in over_sdpa.values())
    return Result("memory", observed / kept, GOAL, also=also, also_holds=holds)


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


def _long(tokens: int, attention: str) -> float:
    """One long input through two layers, with the studies or with torch's fused attention."""
    model = grouped_decoder(2, **LONG_SHAPE)
    twin = eager_twin(model, "sdpa")

    def work(batch: Batch) -> Callable[[], object]:
        return observed_pass(model, batch, STUDIED) if attention == "tiles" else bare_forward(twin, batch, model)

    warm_up, measured = (work(random_batch(model, 1, length)) for length in (256, tokens))
    warm_up()
    return _peak_over_now(measured)


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
    if how.isdigit():
        print(json.dumps(_long(int(how), case)))
    elif case.isdigit():
        print(json.dumps(_survey(int(case), how == "quick")))
    else:
        print(json.dumps(_one_batch(case == "kept", how == "quick")))
