"""Where the weights of a model go that is too large for one device: layers on several GPUs, in memory, on disk."""

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
from headatlas.models.extras import require_package
from headatlas.models.sources import ModelSource

if TYPE_CHECKING:
    from transformers import PreTrainedModel

NAMED_MAPS: tuple[str, ...] = get_args(DeviceMapName)
_NO_DEVICE = ("cpu", "disk")


def check_device_map(device_map: DeviceMap, device: str | torch.device, random_weights: bool) -> None:
    """Refuse a map that cannot be meant, before anything is loaded."""
    if isinstance(device_map, str) and device_map not in NAMED_MAPS:
        raise SettingError(f"--device-map {device_map} is unknown. Use one of: {', '.join(NAMED_MAPS)}.")
    if device != "auto":
        raise SettingError(f"--device {device} and --device-map exclude each other. Leave one of them out.")
    if random_weights:
        raise SettingError("Random weights are drawn on one device. Leave out --device-map.")
    require_package("accelerate", "--device-map", "large")


def place_options(source: ModelSource, device_map: DeviceMap) -> dict[str, Any]:
    """What `from_pretrained` is told; what fits nowhere else goes to a folder that lasts as long as the network."""
    if source.adapter is not None:
        raise SettingError(f"{source.name}: a fitted model is merged on one device. Leave out --device-map.")
    chosen = device_map if isinstance(device_map, str) else dict(device_map)
    return {"device_map": chosen, "offload_folder": tempfile.mkdtemp(prefix="headatlas-offload-")}


def clear_with(network: PreTrainedModel, placing: Mapping[str, Any]) -> None:
    """Remove what was put on disk for a network when nobody holds the network any more, or this process ends."""
    weakref.finalize(network, shutil.rmtree, placing["offload_folder"], ignore_errors=True)


def home_of(network: PreTrainedModel) -> torch.device:
    """Where inputs go: the network's device, or the first GPU of those it is spread over."""
    places = (getattr(network, "hf_device_map", None) or {}).values()
    if not places:
        return torch.device(network.device)
    real = [place for place in places if str(place) not in _NO_DEVICE]
    return torch.device(real[0]) if real else torch.device("cpu")
