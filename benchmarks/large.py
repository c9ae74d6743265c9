"""Peak memory of a survey of a model of a billion parameters in bfloat16, and of inputs of 4,096 tokens.

The model has random weights and the shape of TinyLlama: 22 layers x 32 heads, 2,048 numbers wide. Each case runs in a
process of its own; what counts is all it ever holds, the weights, Python and torch included.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

import headatlas as ha
from benchmarks.measuring import Result
from headatlas.models.embedded import EMBEDDED
from headatlas.models.model import Model

GOAL_GB = 8.0
SHAPE = {"hidden_size": 2048, "intermediate_size": 5632, "num_hidden_layers": 22, "num_attention_heads": 32}
SHAPE |= {"num_key_value_heads": 4, "max_position_embeddings": 4096}
LONG, FEW_LAYERS = 4096, 2


def measure(quick: bool) -> Result:
    """The peak of inputs of 128 tokens over 8 GB; and that of long inputs, of which two layers say as much as all.

    Quick: two layers for both, and inputs a quarter as long.
    """
    long_tokens = LONG // 4 if quick else LONG
    short = _in_process(FEW_LAYERS if quick else SHAPE["num_hidden_layers"], 128)
    long = _in_process(FEW_LAYERS, long_tokens)
    maps = SHAPE["num_attention_heads"] * long_tokens**2 / 1e9
    also = {
        "parameters_bn": short["parameters_bn"],
        "peak_gb": short["peak_gb"],
        f"peak_gb_{long_tokens}_tokens": long["peak_gb"],
        "bytes_a_weight": round((long["peak_gb"] - long["loaded_gb"]) / maps, 1),
        "seconds_a_segment": {128: short["seconds"], long_tokens: long["seconds"]},
    }
    return Result("large", short["peak_gb"] / GOAL_GB, 1.0, also=also)


def _in_process(layers: int, tokens: int) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.large", str(layers), str(tokens)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def large_model(layers: int) -> Model:
    """Random weights, drawn in bfloat16."""
    tokenizer = AutoTokenizer.from_pretrained(EMBEDDED["embedded"].verified().parent)
    tokenizer.model_max_length = LONG
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        config = LlamaConfig(**SHAPE | {"num_hidden_layers": layers}, vocab_size=32000)
        network = LlamaForCausalLM._from_config(config, dtype=torch.bfloat16)
    record = {"kind": "random", "weights_sha256": {"random": f"{layers} layers, seed 0"}}
    return ha.observe_network(network, tokenizer, name="large", language_model="causal", record=record)


def _survey(layers: int, tokens: int) -> dict[str, float]:
    model = large_model(layers)
    segments = 2 if tokens <= 128 else 1
    loaded = _peak_gb()
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "text.txt"
        lines = [line for line in ha.sample_text().read_text(encoding="utf-8").splitlines() if line]
        text.write_text("\n".join(lines), encoding="utf-8")
        started = time.perf_counter()
        ha.survey(
            model,
            text=text,
            out=Path(folder) / "atlas",
            segments=segments,
            max_tokens=tokens,
            studies=("positions", "token_kinds", "entropy", "max_attention", "similarity"),
            bootstrap=100,
            examples=1,
            progress=False,
        )
        seconds = (time.perf_counter() - started) / segments
    return {
        "peak_gb": round(_peak_gb(), 2),
        "loaded_gb": loaded,
        "seconds": round(seconds, 1),
        "parameters_bn": round(sum(one.numel() for one in model.network.parameters()) / 1e9, 2),
    }


def _peak_gb() -> float:
    """All that this process ever held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


if __name__ == "__main__":
    print(json.dumps(_survey(*map(int, sys.argv[1:]))))
