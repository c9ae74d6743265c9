"""A training step of `fit-mlm` (LoRA and head) against the bare forward pass of the same encoder."""

from __future__ import annotations

import copy

import numpy as np
import torch

from benchmarks.measuring import Result, ratio
from headatlas.commands.fit_mlm.corpus import BatchMaker
from headatlas.commands.fit_mlm.network import FitNetwork
from headatlas.commands.fit_mlm.run import load_base
from headatlas.commands.fit_mlm.training import Trainer
from headatlas.encoding.template import single_frame

GOAL = 4.5
ROWS, TOKENS = 16, 128


def measure(quick: bool) -> Result:
    """Forward, backward and optimizer step over the encoder's forward pass, both on the embedded model, 16 x 128."""
    base = load_base("embedded", None, force=False, trust_remote_code=False)
    bare = copy.deepcopy(base.network.base_model).eval()
    frame = single_frame(base.tokenizer)
    rng = np.random.default_rng(0)
    room = TOKENS - frame.size
    pieces = [frame.ids(rng.integers(2000, 20000, size=room).astype(np.int32)) for _ in range(ROWS)]
    batch = BatchMaker(base.tokenizer, frame)(pieces, rng)
    network = FitNetwork(base.network, "embedded", rank=16, alpha=32, freeze=False, seed=0)
    trainer = Trainer(network, learning_rate=5e-4, total=10**9)

    def forward() -> object:
        with torch.inference_mode():
            return bare(input_ids=batch.input_ids, attention_mask=batch.mask)

    return Result("fit_mlm", ratio(lambda: trainer.step(batch, 10**8), forward, rounds=7 if quick else 25), GOAL)
