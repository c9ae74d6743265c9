"""How things are measured: interleaved, on the same batches with the same threads, medians of several rounds."""

from __future__ import annotations

import copy
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from transformers import AutoTokenizer, BertConfig, BertForMaskedLM, LlamaConfig, LlamaForCausalLM

from headatlas.encoding.batches import Batch, iterate_batches, make_batch, plan_batches
from headatlas.encoding.kinds import kind_table
from headatlas.encoding.segments import Segment
from headatlas.engine.job import Observer
from headatlas.models.embedded import EMBEDDED
from headatlas.models.model import Model
from headatlas.models.observing import observe_network
from headatlas.studies import STUDIES

BATCH_TOKENS = 4096
START, END = "<!-- measured -->", "<!-- end -->"
STUDIED = ("positions", "token_kinds", "entropy", "max_attention")


def replace_measured(page: Path, table: str) -> None:
    """Put a table into a page of the documentation, between the marks of what is measured."""
    before, _, rest = page.read_text(encoding="utf-8").partition(START)
    page.write_text(f"{before}{START}\n{table}\n{END}{rest.partition(END)[2]}", encoding="utf-8")


class SkippedError(Exception):
    """Something that a benchmark needs is not on this machine; the message says what."""


@dataclass(frozen=True)
class Result:
    """One benchmark's outcome; `goal` is a bound on `ratio`, from above unless `at_least`."""

    name: str
    ratio: float
    goal: float
    at_least: bool = False
    also: dict[str, Any] = field(default_factory=dict)
    also_holds: bool = True

    def line(self) -> dict[str, Any]:
        """What is printed: name, ratio, goal, holds, and what else was measured."""
        within = self.ratio >= self.goal if self.at_least else self.ratio <= self.goal
        facts = asdict(self)
        return {
            "name": self.name,
            "ratio": round(self.ratio, 3),
            "goal": self.goal,
            "holds": bool(within and self.also_holds),
            "bound": "at least" if self.at_least else "at most",
            **facts["also"],
        }


def ratio(one: Callable[[], object], other: Callable[[], object], rounds: int) -> float:
    """How many times as long `one` takes as `other`; see `ratios`."""
    return ratios({"one": one, "other": other}, "other", rounds)["one"]


def ratios(ways: Mapping[str, Callable[[], object]], over: str, rounds: int) -> dict[str, float]:
    """How many times as long each way takes as that named `over`: medians over rounds of all, in turn from both ends.

    Neighbours in time are compared, so that a machine which is slow for a minute is slow for all. Each way has run once
    before.
    """
    for function in ways.values():
        function()
    found: dict[str, list[float]] = {name: [] for name in ways if name != over}
    for number in range(rounds):
        seconds = {}
        for name in list(ways)[:: 1 if number % 2 == 0 else -1]:
            start = time.perf_counter()
            ways[name]()
            seconds[name] = time.perf_counter() - start
        for name, values in found.items():
            values.append(seconds[name] / seconds[over])
    return {name: statistics.median(values) for name, values in found.items()}


def base_size(**changes: int) -> Model:
    """A BERT of base size (12 layers x 12 heads x 768) with random weights and its masked LM head."""
    tokenizer = AutoTokenizer.from_pretrained(EMBEDDED["embedded"].verified().parent)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = BertForMaskedLM(BertConfig(**changes))
    return observe_network(network, tokenizer, name="base-size", language_model="masked")


def grouped_decoder(layers: int, **changes: int) -> Model:
    """Some layers of a decoder like SmolLM2 135M, with random weights: 9 heads that share 3 keys, 576 wide."""
    tokenizer = AutoTokenizer.from_pretrained(EMBEDDED["embedded"].verified().parent)
    shape = {"hidden_size": 576, "intermediate_size": 1536, "num_attention_heads": 9, "num_key_value_heads": 3}
    shape |= {"num_hidden_layers": layers, "max_position_embeddings": 1 << 15, "vocab_size": len(tokenizer)} | changes
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = LlamaForCausalLM(LlamaConfig(**shape))
    return observe_network(network, tokenizer, name="grouped-decoder", language_model="causal")


def eager_twin(model: Model, attention: str = "eager") -> nn.Module:
    """The same weights with transformers' own attention, without the language model head."""
    twin = copy.deepcopy(model.network.base_model)
    twin.set_attn_implementation(attention)
    return twin.eval()  # type: ignore[no-any-return]


def over_plain_passes(model: Model, batch: Batch, rounds: int) -> dict[str, float]:
    """The surface studies in a run over the bare forward pass: with eager attention, and with torch's fused one."""
    ways = {name: bare_forward(eager_twin(model, name), batch, model) for name in ("eager", "sdpa")}
    ways["studied"] = observed_pass(model, batch, STUDIED)
    found = ratios(ways, "studied", rounds)
    return {name: round(1 / found[name], 3) for name in ("eager", "sdpa")}


def worst(measured: Mapping[str, Mapping[str, float]], goals: Mapping[str, Mapping[str, float]]) -> float:
    """The largest ratio over its goal, by case and what it is over."""
    return max(measured[case][over] / goal for case, of_case in goals.items() for over, goal in of_case.items())


def random_batch(model: Model, rows: int, tokens: int, seed: int = 0) -> Batch:
    """Segments ``[CLS] A [SEP] B [SEP]`` of random ordinary tokens, some of them periods and commas."""
    rng = np.random.default_rng(seed)
    tokenizer = model.tokenizer
    marks = tokenizer.convert_tokens_to_ids([".", ","])
    segments = []
    for row in range(rows):
        ids = rng.integers(2000, 20000, size=tokens).astype(np.int32)
        ids[rng.integers(1, tokens - 1, size=tokens // 10)] = rng.choice(marks, size=tokens // 10)
        ids[0], ids[tokens // 2], ids[-1] = tokenizer.cls_token_id, tokenizer.sep_token_id, tokenizer.sep_token_id
        words = np.arange(tokens, dtype=np.int32)
        words[[0, tokens // 2, -1]] = -1
        segments.append(Segment(f"0.{row}.0", ids, np.zeros(tokens, dtype=np.int32), words))
    return make_batch(segments, kind_table(tokenizer), model.pad_id)


def observed_pass(model: Model, batch: Batch, names: Sequence[str]) -> Callable[[], object]:
    """A batch through the engine: forward pass and studies."""
    studies = {name: STUDIES[name]() for name in names}
    for study in studies.values():
        study.start(model.shapes[model.default_stack])
    observer = Observer(model, studies)
    return lambda: observer.observe(batch)


def bare_forward(twin: nn.Module, batch: Batch, model: Model | None = None) -> Callable[[], object]:
    """The plain forward pass over a batch. model: whose twin it is, if it may not be like BERT."""
    inputs = {"input_ids": batch.input_ids, "attention_mask": batch.mask.long(), "token_type_ids": batch.type_ids}
    if model is not None:
        inputs = model.network_inputs(batch.input_ids, batch.mask.long(), batch.type_ids)

    def run() -> object:
        with torch.inference_mode():
            return twin(**inputs)

    return run


def forward_passes(model: Model, segments: Sequence[Segment]) -> Callable[[], object]:
    """The plain forward pass over all segments, in batches of at most BATCH_TOKENS."""
    twin = eager_twin(model)
    runs = [bare_forward(twin, batch) for batch in planned_batches(model, segments)]
    return lambda: [run() for run in runs]


def planned_batches(model: Model, segments: Sequence[Segment]) -> list[Batch]:
    """Segments in batches of similar length, of at most BATCH_TOKENS."""
    plan = plan_batches(segments, BATCH_TOKENS)
    return list(iterate_batches(segments, plan, kind_table(model.tokenizer), model.pad_id))
