"""Scoring a task with heads removed: whole passes, and passes that re-use the layers below the removed head.

What replaces the output of a removed head:

- ``zero``: the head's output is 0.
- ``mean``: it is the head's mean output over all tokens of the task's own data.
- ``resample``: at every token it is the head's output at a token drawn from that data, by the seed.

Zero is the simplest, but a head whose output hardly varies is then missed for its mean alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
import torch
from torch import Tensor

from headatlas.choices import AblationKind
from headatlas.commands.ablate.task import ExampleBatch, Task
from headatlas.commands.ablate.task import Floats as Floats
from headatlas.encoding.masking import IGNORED
from headatlas.engine.run_folder import UNSAVED, Arrays, RunPart
from headatlas.errors import SettingError, is_out_of_memory
from headatlas.models.gates import Gates, Instead, all_open
from headatlas.models.replay import LayerReplay
from headatlas.models.stacks import Stack
from headatlas.progress import Stage, moved, stage

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
    with stage(f"Keeping the output of heads: {task.title}", sum(batch.size for batch in task.batches)) as bar:
        for batch in task.batches:
            examples = batch.to(task.model.device)
            attending = _attending(examples, task, stack)
            layers: list[Tensor] = []

            def keep(_layer: int, output: Tensor, mask: Tensor = attending, outputs: list[Tensor] = layers) -> Tensor:
                outputs.append(output[mask])
                return output

            with torch.inference_mode(), task.model.changing_outputs(keep, stack):
                task.losses(examples)
            bar.advance(batch.size)
            yield layers


def _attending(examples: ExampleBatch, task: Task, stack: Stack) -> Tensor:
    """Which tokens of a batch are real, on the side that attends: [R, Q] bool."""
    if task.model.is_encoder_decoder and stack != "encoder":
        return examples.targets["labels"] != IGNORED
    mask: Tensor = examples.inputs["attention_mask"]
    return mask.bool()


HeadPlace = tuple[int, int]  # layer and head, from 0
_SAME, _SAME_IN_HALF = 1e-3, 5e-2  # between a replay and a whole pass, which may round differently


@dataclass
class Replaying:
    """Whether a model's passes can be replayed: checked on the first pass, for all tasks."""

    checked: bool = False
    why_not: str | None = None
    shortcuts: bool = True  # within the first and the last layer, see `LayerReplay`


def gated_scores(task: Task, gates: Sequence[Tensor], stack: Stack, replacement: Replacement) -> Floats:
    """Scores in whole passes with gates for each batch, [L, H] or [E, L, H] each: [E, measures]."""
    scores = []
    for number, (batch, of_batch) in enumerate(zip(task.batches, gates, strict=True)):
        examples = batch.to(task.model.device)
        of_rows = of_batch[examples.rows] if of_batch.ndim == 3 else of_batch
        closed = Gates(of_rows, replacement(number, examples), task.model.shapes[stack])
        with torch.inference_mode(), task.removing(closed, stack):
            scores.append(_numbers(task.scores(examples)))
    return np.concatenate(scores)


class HeadRemoval:
    """Scores a task without each of some heads in turn.

    Each batch runs once as it is; then, for each head, only the layers from the head's layer on. As many heads of a
    layer as the token budget allows run together, as copies of the batch. The first batch shows whether that gives what
    whole passes give; if not, whole passes are made, and `why_whole` says why.
    replaying: shared by all tasks of the same model, so that the check is made once.
    """

    def __init__(
        self, task: Task, stack: Stack, replacement: Replacement, batch_tokens: int, replaying: Replaying | None = None
    ) -> None:
        self._task, self._stack, self._replacement, self._budget = task, stack, replacement, batch_tokens
        self._shape = task.model.shapes[stack]
        self._replay = LayerReplay(task.model, stack)
        self._replaying = replaying or Replaying()

    @property
    def why_whole(self) -> str | None:
        """Why whole passes are made; None if layers below a removed head are re-used."""
        return self._replaying.why_not if self._task.replayable else self._task.why_not_replayable

    def describe(self) -> str:
        """Say which passes were made, also if all scores were read from an earlier run."""
        if self._task.replayable and not self._replaying.checked:
            self._recorded(0, self._task.batches[0].to(self._task.model.device))
            self._replay.forget()
        return self.why_whole or "layers below a removed head are re-used"

    def scores(self, heads: Sequence[HeadPlace]) -> tuple[Floats, Floats]:
        """Scores with every head in place, [E, measures], and without each head, [E, heads, measures]."""
        batches = [self.batch_scores(number, heads) for number in range(len(self._task.batches))]
        plain, without = (np.concatenate(parts) for parts in zip(*batches, strict=True))
        return plain, without

    def work(self, number: int, heads: Sequence[HeadPlace]) -> float:
        """How many tokens `batch_scores` passes through the whole network without a head; parts of passes are added up.

        The pass with all heads is not counted: heads are removed in copies of a batch, and one copy alone takes longer
        for each token, above all where texts are generated. An estimate from it would be several times too long.
        """
        return self._task.batches[number].size * sum(map(self._share_run, heads))

    def _share_run(self, head: HeadPlace) -> float:
        """The share of the network that runs without this head."""
        return 1.0 if self.why_whole is not None else 1 - head[0] / self._shape.layers

    def batch_scores(
        self, number: int, heads: Sequence[HeadPlace], pieces: RunPart = UNSAVED, bar: Stage | None = None
    ) -> tuple[Floats, Floats]:
        """The same for one batch. A piece is what a batch gives with all heads, or without those of a layer.

        bar: gets the work that is done.
        """
        size = self._task.batches[number].size
        examples = self._task.batches[number].to(self._task.model.device)
        recorded = cache(partial(self._recorded, number, examples))
        if bar:
            bar.begin(size)
        plain = pieces.compute_once(f"plain-{number:05}", recorded)["scores"]
        without: dict[HeadPlace, Floats] = {}
        for layer in sorted({layer for layer, _ in heads}):
            of_layer = [head for head in heads if head[0] == layer]
            if bar:
                bar.begin(work := size * sum(map(self._share_run, of_layer)))
            make = partial(self._without, number, of_layer, examples, recorded)
            scores = pieces.compute_once(f"without-{number:05}-{layer + 1:03}", make)["scores"]
            without |= zip(of_layer, scores, strict=True)
            if bar:
                bar.advance(work)
        self._replay.forget()
        return plain, np.stack([without[head] for head in heads], axis=1)

    def _without(
        self, number: int, heads: list[HeadPlace], examples: ExampleBatch, record: Callable[[], object]
    ) -> Arrays:
        """Scores without each of a layer's heads: [heads, E, measures]."""
        record()
        in_copies = self._task.replayable or self._task.copyable
        together = max(1, self._budget // examples.size) if in_copies else 1
        scores: list[Floats] = []
        for start in range(0, len(heads), together):
            removed = heads[start : start + together]
            scores += self._run(number, removed, examples)
            moved(len(removed) / len(heads))
        return {"scores": np.stack(scores)}

    def _recorded(self, number: int, examples: ExampleBatch) -> Arrays:
        """Scores of the batch as it is, recorded; the first one also checks the replay."""
        with torch.inference_mode():
            if self.why_whole is not None:
                return {"scores": _numbers(self._task.scores(examples))}
            scores = self._replay.record(lambda: self._task.scores(examples))
            if not self._replaying.checked:
                self._replaying.checked, self._replaying.why_not = True, self._check(number, examples)
            return {"scores": _numbers(scores)}

    def _check(self, number: int, examples: ExampleBatch) -> str | None:
        """Why passes cannot be replayed; None if they can. Shortcuts that change the result are turned off."""
        if not self._replay.complete:
            return "its layers are not where they could be replayed"
        near = _SAME_IN_HALF if self._task.model.dtype.itemsize < 4 else _SAME
        layer = self._shape.layers // 2
        change = self._gates(number, [(layer, 0)], examples)
        with self._task.removing(change, self._stack):
            whole = self._task.losses(examples)
        for shortcuts in (True, False):
            self._replaying.shortcuts = shortcuts
            try:
                again = self._replayed(layer, examples, change, self._task.losses)
            except RuntimeError as error:
                if is_out_of_memory(error) or not shortcuts:
                    raise
                continue
            if torch.allclose(again, whole, atol=near, rtol=near):
                return None
        return f"a replay from layer {layer + 1} did not give what a whole pass gives"

    def _replayed(
        self, layer: int, examples: ExampleBatch, change: Gates, ask: Callable[[ExampleBatch], Tensor], copies: int = 1
    ) -> Tensor:
        self._replay.shortcuts = self._replaying.shortcuts
        read = self._task.tokens_read(examples)
        with self._task.replaying(change):
            return self._replay.replay(layer, lambda: ask(examples), change, copies, read)

    def _run(self, number: int, heads: list[HeadPlace], examples: ExampleBatch) -> list[Floats]:
        """Scores without each of a layer's heads: [E, measures] each."""
        copies = examples.repeated(len(heads))
        change = self._gates(number, heads, copies)
        with torch.inference_mode():
            if self.why_whole is None:
                scores = self._replayed(heads[0][0], copies, change, self._task.scores, len(heads))
            else:
                with self._task.removing(change, self._stack):
                    scores = self._task.scores(copies)
        return list(_numbers(scores).reshape(len(heads), len(examples), -1))

    def _gates(self, number: int, heads: Sequence[HeadPlace], copies: ExampleBatch) -> Gates:
        """Gates that shut another head in each copy of the batch."""
        gates = all_open(self._shape, copies.rows.device).repeat(len(heads), 1, 1)
        for copy, (layer, head) in enumerate(heads):
            gates[copy, layer, head] = 0
        of_rows = gates.repeat_interleave(len(copies.rows) // len(heads), 0)
        return Gates(of_rows, self._replacement(number, copies), self._shape)


def _numbers(scores: Tensor) -> Floats:
    numbers: Floats = scores.double().cpu().numpy()
    return numbers


def plain_scores(task: Task) -> Floats:
    """Scores with every head in place: [E, measures]."""
    with torch.inference_mode():
        return np.concatenate([_numbers(task.scores(batch.to(task.model.device))) for batch in task.batches])
