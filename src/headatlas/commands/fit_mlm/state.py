"""A fit's state on disk: weights and AdamW's moments in float32, and how far it has come, in one file with a checksum.

Order and masks follow from the seed and the step, so nothing else is needed to resume with the same bits.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from headatlas.checksums import pack_tensors, unpack_tensors
from headatlas.engine.settings import refuse_other
from headatlas.errors import AtlasError
from headatlas.files import parse_json, safetensors_metadata, write_atomically

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
