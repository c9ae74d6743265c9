"""What replaces the output of a removed head: nothing, its mean output, or its output at another token.

- ``zero``: the head's output is 0.
- ``mean``: it is the head's mean output over all tokens of the task's own data.
- ``resample``: at every token it is the head's output at a token drawn from that data, by the seed.

Zero is the simplest, but a head whose output hardly varies is then missed for its mean alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import Tensor

from headatlas.choices import AblationKind
from headatlas.commands.ablate.task import ExampleBatch, Task
from headatlas.encoding.masking import IGNORED
from headatlas.errors import SettingError
from headatlas.models.gates import Instead
from headatlas.models.stacks import Stack

POOL = 1024  # tokens whose outputs are kept to draw from

Replacement = Callable[[int, ExampleBatch], Instead | None]
"""What replaces removed heads in a batch, given its number and its examples, copies included."""


def find_replacement(task: Task, kind: AblationKind, stack: Stack, seed: int) -> Replacement:
    """Prepare what a kind of ablation puts in a head's place; all but zero take a pass over the data."""
    if kind == "zero":
        return lambda _number, _examples: None
    if not task.replayable and kind == "resample":
        raise SettingError(
            f"--kind resample needs inputs of fixed length, which {task.name} does not have. Use zero or mean."
        )
    if kind == "mean":
        means = _mean_outputs(task, stack)
        return lambda _number, _examples: lambda layer, _output: means[layer]
    pool = _sampled_outputs(task, stack, seed)

    def drawn(number: int, examples: ExampleBatch) -> Instead:
        rows, width = examples.inputs["input_ids"].shape
        copies = len(examples) // len(task.batches[number])
        rng = torch.Generator().manual_seed(seed * 1_000_003 + number)
        places = torch.randint(POOL, (rows // copies, width), generator=rng).repeat(copies, 1).to(task.model.device)

        def at_drawn_tokens(layer: int, _output: Tensor) -> Tensor:
            outputs = pool[layer]
            return outputs[places % len(outputs)]

        return at_drawn_tokens

    return drawn


def _mean_outputs(task: Task, stack: Stack) -> list[Tensor]:
    """Of each layer, the mean over all real tokens: [H, D]."""
    sums: list[Tensor] = []
    count = 0
    for layers in _outputs(task, stack):
        count += len(layers[0])
        totals = [outputs.to(torch.promote_types(outputs.dtype, torch.float32)).sum(0) for outputs in layers]
        sums = [before + total for before, total in zip(sums, totals, strict=True)] if sums else totals
    return [total / count for total in sums]


def _sampled_outputs(task: Task, stack: Stack, seed: int) -> list[Tensor]:
    """Of each layer, the outputs at up to POOL real tokens, a uniform sample: [P, H, D]."""
    total = sum(int(_attending(batch, task, stack).sum()) for batch in task.batches)
    wanted = torch.from_numpy(np.sort(np.random.default_rng(seed).permutation(total)[:POOL]))
    sampled: list[list[Tensor]] = []
    before = 0
    for layers in _outputs(task, stack):
        after = before + len(layers[0])
        here = (wanted[(wanted >= before) & (wanted < after)] - before).to(task.model.device)
        sampled.append([outputs[here] for outputs in layers])
        before = after
    return [torch.cat(parts) for parts in zip(*sampled, strict=True)]


def _outputs(task: Task, stack: Stack) -> Iterator[list[Tensor]]:
    """Batch by batch, every layer's outputs at its real tokens: [N, H, D] each."""
    for batch in task.batches:
        examples = batch.to(task.model.device)
        attending = _attending(examples, task, stack)
        layers: list[Tensor] = []

        def keep(_layer: int, output: Tensor, mask: Tensor = attending, outputs: list[Tensor] = layers) -> Tensor:
            outputs.append(output[mask])
            return output

        with torch.inference_mode(), task.model.changing_outputs(keep, stack):
            task.losses(examples)
        yield layers


def _attending(examples: ExampleBatch, task: Task, stack: Stack) -> Tensor:
    """Which tokens of a batch are real, on the side that attends: [R, Q] bool."""
    if task.model.is_encoder_decoder and stack != "encoder":
        return examples.targets["labels"] != IGNORED
    mask: Tensor = examples.inputs["attention_mask"]
    return mask.bool()
