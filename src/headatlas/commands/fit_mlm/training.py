"""The training loop: AdamW, linear warm-up and decay, held-out scores on the way, a state to resume from."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from headatlas.checksums import pack_tensors, unpack_tensors
from headatlas.commands.fit_mlm.corpus import BatchMaker, FitCorpus, MaskedBatch
from headatlas.commands.fit_mlm.network import FitNetwork, unigram_log_probabilities
from headatlas.commands.fit_mlm.options import FitOptions
from headatlas.engine.guards import ctrl_c
from headatlas.engine.settings import refuse_other
from headatlas.errors import AtlasError, SettingError, SurveyInterruptedError
from headatlas.files import parse_json, safetensors_metadata, write_atomically
from headatlas.progress import stage
from headatlas.wording import counted

WARM_UP = 0.06  # share of the tokens
CLIP = 1.0
DECAY = 0.01  # of matrices; not of biases and layer norms
EVALUATIONS = 10
EVALUATION_TOKENS = 20_000  # of the held-out text, on the way, or less in a short run; the end is scored on all of it
_SMOOTH = 0.98  # of the loss that is shown


@dataclass(frozen=True)
class Scores:
    """Means over masked tokens: loss in nats, shares of tokens that were the first guess or among the first five."""

    loss: float
    top1: float
    top5: float
    masked_tokens: int

    def rounded(self) -> dict[str, float]:
        """For people and JSON."""
        return {name: round(value, 5) for name, value in asdict(self).items()}


def score(network: FitNetwork, batches: Iterable[MaskedBatch], most_tokens: int | None = None) -> Scores:
    """Score the batches in order, until `most_tokens` tokens are reached."""
    sums = np.zeros(4)
    tokens = 0
    device = network.network.device
    for batch in batches:
        with torch.inference_mode():
            on_device = batch.to(device)
            sums += _sums(network.masked_logits(on_device), on_device.labels)
        tokens += batch.tokens
        if most_tokens is not None and tokens >= most_tokens:
            break
    return _scores(sums)


def unigram_scores(counts: NDArray[np.int64], batches: Iterable[MaskedBatch]) -> Scores:
    """Scores of the unigram baseline."""
    logits = torch.from_numpy(unigram_log_probabilities(counts))
    return _scores(sum((_sums(logits.expand(len(batch.labels), -1), batch.labels) for batch in batches), np.zeros(4)))


def _sums(logits: Tensor, labels: Tensor) -> NDArray[np.float64]:
    hits = logits.topk(min(5, logits.shape[-1])).indices == labels[:, None]  # [N, 5]
    loss = cross_entropy(logits.float(), labels, reduction="sum")
    return np.array([float(loss), float(hits[:, 0].sum()), float(hits.sum()), len(labels)])


def _scores(sums: NDArray[np.float64]) -> Scores:
    loss, top1, top5 = (sums[:3] / sums[3]).tolist()
    return Scores(loss, top1, top5, int(sums[3]))


class Trainer:
    """Trains step by step."""

    def __init__(self, network: FitNetwork, learning_rate: float, total: int) -> None:
        self._network, self._rate, self._total = network, learning_rate, total
        self.learning = network.learning
        groups = [
            {"params": [p for p in self.learning.values() if (p.ndim > 1) == is_matrix], "weight_decay": decay}
            for is_matrix, decay in ((True, DECAY), (False, 0.0))
        ]
        self.optimizer = torch.optim.AdamW(groups, lr=learning_rate)

    def step(self, batch: MaskedBatch, seen: int) -> Tensor:
        """Learn from one batch after `seen` tokens; the loss is that before the step."""
        for group in self.optimizer.param_groups:
            group["lr"] = self._rate * warm_up((seen + batch.tokens / 2) / self._total, WARM_UP)
        self.optimizer.zero_grad()
        loss = cross_entropy(self._network.masked_logits(batch), batch.labels)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self.learning.values(), CLIP)
        self.optimizer.step()
        return loss.detach()


def warm_up(done: float, rising: float) -> float:
    """Factor of the learning rate after a share of the training: a line up to 1, then a line down to 0.

    done: share of the training; rising: share at which the factor is 1.
    """
    return max(0.0, min(done / rising, (1 - done) / (1 - rising)))


def train(
    network: FitNetwork,
    maker: BatchMaker,
    corpus: FitCorpus,
    held_out: Sequence[MaskedBatch],
    options: FitOptions,
    state_path: Path,
    settings: Mapping[str, Any],
) -> FitState:
    """Train on the tokens asked for, from the saved state if there is one.

    Ctrl-C lets the step end, saves, and raises SurveyInterruptedError.
    """
    total = options.tokens or (options.epochs or 1) * corpus.tokens
    trainer = Trainer(network, options.learning_rate, total)
    state = restore_state(state_path, settings, trainer.learning, trainer.optimizer)
    started = saved_at = time.monotonic()
    before = state.seconds
    device = network.network.device
    shown = math.nan
    description = f"Fitting {Path(options.model).name}: {counted(total, 'token')}"
    with ctrl_c() as stop, stage(description, total, state.tokens) as bar:
        batches = maker.training(corpus.training, options.batch_tokens, options.seed, state.step)
        while state.tokens < total:
            batch = next(batches).to(device)
            loss = float(trainer.step(batch, state.tokens))
            if not math.isfinite(loss):
                raise SettingError(
                    f"The loss is not finite at step {state.step + 1:,}. Lower --learning-rate {options.learning_rate}."
                )
            shown = loss if math.isnan(shown) else _SMOOTH * shown + (1 - _SMOOTH) * loss
            part = EVALUATIONS * state.tokens // total
            state.step, state.tokens = state.step + 1, state.tokens + batch.tokens
            done = state.tokens >= total
            if not done and EVALUATIONS * state.tokens // total > part:
                scores = score(network, held_out, min(EVALUATION_TOKENS, total // 30)).rounded()
                state.history.append({"tokens": state.tokens, "training_loss": round(shown, 5), **scores})
            bar.advance(batch.tokens, _note(shown, state))
            state.seconds = before + time.monotonic() - started
            if done or stop.is_set() or time.monotonic() - saved_at >= options.save_every:
                save_state(state_path, state, settings, trainer.learning, trainer.optimizer)
                saved_at = time.monotonic()
            if stop.is_set():
                raise SurveyInterruptedError(
                    f"Stopped after {state.tokens:,} of {total:,} tokens; the same command resumes."
                )
    return state


def _note(loss: float, state: FitState) -> str:
    """The loss in training and the held-out accuracy, for the progress bar."""
    accuracy = f", top-1 {100 * state.history[-1]['top1']:.1f} %" if state.history else ""
    return f"loss {loss:.2f}{accuracy}"


# The state on disk: weights and AdamW's moments in float32, and how far the fit has come, in one file with a checksum.
# Order and masks follow from the seed and the step, so nothing else is needed to resume with the same bits.

FORMAT = "headatlas-fit-state-2"
_MOMENTS = ("exp_avg", "exp_avg_sq")


@dataclass
class FitState:
    """How far a fit has come."""

    step: int = 0
    tokens: int = 0
    seconds: float = 0.0
    history: list[dict[str, float]] = field(default_factory=list)  # held-out scores on the way


def save_state(
    path: Path,
    state: FitState,
    settings: Mapping[str, Any],
    learning: Mapping[str, nn.Parameter],
    optimizer: torch.optim.Optimizer,
) -> None:
    """Replace the saved state by the current one."""
    tensors = {f"weight/{name}": parameter.detach() for name, parameter in learning.items()}
    for name, parameter in learning.items():
        if parameter in optimizer.state:
            tensors |= {f"{moment}/{name}": optimizer.state[parameter][moment] for moment in _MOMENTS}
    metadata = {"format": FORMAT, "state": json.dumps(state.__dict__), "settings": json.dumps(settings)}
    content = pack_tensors({key: tensor.cpu().numpy() for key, tensor in tensors.items()}, metadata)
    write_atomically(path, lambda temporary: temporary.write_bytes(content))


def restore_state(
    path: Path, settings: Mapping[str, Any], learning: Mapping[str, nn.Parameter], optimizer: torch.optim.Optimizer
) -> FitState:
    """Restore the saved weights and moments, if any, and return how far the fit has come."""
    if not path.exists():
        return FitState()
    try:
        content = path.read_bytes()
        metadata = safetensors_metadata(content)
        if metadata["format"] != FORMAT:
            raise ValueError(f"its format is {metadata['format']!r}, not {FORMAT!r}")
        tensors = {key: torch.tensor(array) for key, array in unpack_tensors(content).items()}
        state, before = _fit_state(parse_json(metadata["state"])), parse_json(metadata["settings"])
    except (OSError, AttributeError, KeyError, ValueError, TypeError) as error:
        raise _damaged(path, f"{type(error).__name__}: {error}") from error
    refuse_other(path, "the state of another fit", before, settings)
    for name, parameter in learning.items():
        saved = tensors.get(f"weight/{name}")
        if saved is None or saved.shape != parameter.shape:
            raise _damaged(path, f"{name} is not of the shape of this model")
        with torch.no_grad():
            parameter.copy_(saved)
        if f"{_MOMENTS[0]}/{name}" in tensors:
            found = {moment: tensors.get(f"{moment}/{name}") for moment in _MOMENTS}
            moments = {moment: tensor.to(parameter.device) for moment, tensor in found.items() if tensor is not None}
            if len(moments) < len(_MOMENTS) or any(one.shape != parameter.shape for one in moments.values()):
                raise _damaged(path, f"the moments of {name} are not of the shape of this model")
            optimizer.state[parameter] = {"step": torch.tensor(float(state.step)), **moments}
    return state


def _fit_state(found: dict[str, Any]) -> FitState:
    state = FitState(**found)
    if not (type(state.step) is type(state.tokens) is int and state.step >= 0 and isinstance(state.history, list)):
        raise ValueError("its step, tokens or history are not valid")
    return replace(state, seconds=float(state.seconds))


def _damaged(path: Path, why: str) -> AtlasError:
    return AtlasError(f"{path}: the saved state is damaged ({why}). Delete this file to start again.")
