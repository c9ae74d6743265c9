"""Dividing a model that is too large for one device among several GPUs, main memory and disk."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, get_args

import torch

from headatlas.choices import DeviceMap as DeviceMap
from headatlas.choices import DeviceMapName
from headatlas.errors import SettingError
from headatlas.models.pretrained import require_package
from headatlas.models.sources import ModelSource

if TYPE_CHECKING:
    from transformers import PreTrainedModel

NAMED_MAPS: tuple[str, ...] = get_args(DeviceMapName)
_NO_DEVICE = ("cpu", "disk")


def check_device_map(device_map: DeviceMap, device: str | torch.device, random_weights: bool) -> None:
    """Refuse an impossible device map before anything is loaded."""
    if isinstance(device_map, str) and device_map not in NAMED_MAPS:
        raise SettingError(f"--device-map {device_map} is unknown. Use one of: {', '.join(NAMED_MAPS)}.")
    if device != "auto":
        raise SettingError(f"--device {device} and --device-map exclude each other. Remove one of the two options.")
    if random_weights:
        raise SettingError("Random weights are drawn on one device. Remove --device-map.")
    require_package("accelerate", "--device-map", "large")


def place_options(source: ModelSource, device_map: DeviceMap) -> dict[str, Any]:
    """Options of `from_pretrained`, with a folder for weights that fit nowhere else."""
    if source.adapter is not None:
        raise SettingError(f"{source.name}: a fitted model is merged on one device. Remove --device-map.")
    chosen = device_map if isinstance(device_map, str) else dict(device_map)
    return {"device_map": chosen, "offload_folder": tempfile.mkdtemp(prefix="headatlas-offload-")}


def clear_with(network: PreTrainedModel, placing: Mapping[str, Any]) -> None:
    """Remove a network's folder on disk when the network is no longer in use, or this process ends."""
    weakref.finalize(network, shutil.rmtree, placing["offload_folder"], ignore_errors=True)


def home_of(network: PreTrainedModel) -> torch.device:
    """The device of the inputs: the network's device, or the first GPU of its device map."""
    placed = (getattr(network, "hf_device_map", None) or {}).values()
    if not placed:
        return torch.device(network.device)
    devices = [device for device in placed if str(device) not in _NO_DEVICE]
    return torch.device(devices[0]) if devices else torch.device("cpu")
