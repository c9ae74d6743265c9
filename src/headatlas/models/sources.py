"""Where a model's files are: an embedded package, a local folder, a GGUF file or the Hugging Face hub.

A folder made by `headatlas fit-mlm` holds a head and adapters only: its base is found the same way. One made by
`headatlas prune` says which heads its weights are of.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from headatlas.errors import ModelError
from headatlas.files import parse_json, sha256
from headatlas.models.embedded import EMBEDDED
from headatlas.models.hub import ask_hub, suggestion
from headatlas.models.pruning_record import PRUNING_RECORD, Pruning, read_pruning
from headatlas.models.weight_files import WEIGHT_FILES, find_weights

ADAPTER_CONFIG, ADAPTER_WEIGHTS, FIT_RECORD = "adapter_config.json", "adapter_model.safetensors", "fit.json"


@dataclass(frozen=True)
class ModelSource:
    """What to hand to transformers, and what to write in the manifest."""

    name: str  # as the user gave it
    location: str  # folder or hub name
    arguments: dict[str, Any]  # further arguments of from_pretrained
    weights: tuple[Path, ...]  # local weight files; none for the hub
    record: dict[str, Any]  # for the manifest
    adapter: Path | None = None  # folder with a fitted head and adapters, to be laid over `location`
    pruning: Pruning | None = None  # which heads are left, where some were cut out

    def fingerprint(self) -> dict[str, str]:
        """File name and SHA-256 of every local weight file."""
        return {path.name: sha256(path) for path in self.weights}


def find_source(name: str, revision: str | None = None) -> ModelSource:
    """Decide what a model name means: embedded name, existing path, else a name on the hub."""
    if name in EMBEDDED:
        embedded = EMBEDDED[name]
        weights = embedded.verified()
        if embedded.adapter is not None:
            fitted = _fitted(name, embedded.adapter, revision)
            return replace(fitted, record=fitted.record | {"kind": "embedded", "about": embedded.about})
        arguments = {"gguf_file": weights.name} if weights.suffix == ".gguf" else {}
        record = {"kind": "embedded", "package": f"{embedded.package}=={embedded.version}", "about": embedded.about}
        return ModelSource(name, str(weights.parent), arguments, (weights,), record)
    path = _path(name)
    if path.suffix == ".gguf" and path.is_file():
        return ModelSource(name, str(path.parent), {"gguf_file": path.name}, (path,), {"kind": "gguf file"})
    if (path / ADAPTER_CONFIG).is_file():
        return _fitted(name, path, revision)
    if path.is_dir():
        return _folder(name, path)
    if name.startswith((".", "/", "~")) or name.count("/") > 1 or path.suffix == ".gguf":
        raise ModelError(f"{name}: no such folder. {suggestion(name)}")
    branch = {"revision": revision or "main"}
    return ask_hub(ModelSource(name, name, branch, (), {"kind": "hub"} | branch))


def _folder(name: str, path: Path) -> ModelSource:
    if not (path / "config.json").is_file():
        raise ModelError(f"{name}: the folder has no config.json, so it is not a Hugging Face model folder.")
    if weights := find_weights(path):
        if (path / PRUNING_RECORD).is_file():
            return _pruned(name, path, weights)
        return ModelSource(name, str(path), {}, weights, {"kind": "folder"})
    raise ModelError(
        f"{name}: the folder has a config.json but no weights ({' or '.join(WEIGHT_FILES)}). "
        "Download or save the model's weights into it."
    )


def _pruned(name: str, path: Path, weights: tuple[Path, ...]) -> ModelSource:
    pruning = read_pruning(path)
    kept = [list(heads) for heads in pruning.kept_heads]
    record = {"kind": "pruned", "base": dict(pruning.base), "kept_heads": kept}
    return ModelSource(name, str(path), {}, weights, record, pruning=pruning)


def _fitted(name: str, path: Path, revision: str | None) -> ModelSource:
    """A head and adapters made by `headatlas fit-mlm`, over the very base they were fitted to."""
    adapter, fit = _read_json(name, path / ADAPTER_CONFIG), _read_json(name, path / FIT_RECORD)
    weights = path / ADAPTER_WEIGHTS
    if not weights.is_file():
        raise ModelError(f"{name}: {ADAPTER_WEIGHTS} is missing. Run `headatlas fit-mlm` again into this folder.")
    below = str(adapter.get("base_model_name_or_path"))
    if _is_fitted(below):
        raise ModelError(f"{name}: its base {below} is a fitted folder itself. Fit the encoder below it instead.")
    base = find_source(below, revision or adapter.get("revision"))
    found = base.fingerprint()
    fitted_to = _object(fit, "model").get("weights_sha256", {})
    if found != fitted_to:
        raise ModelError(
            f"{name}: was fitted to other weights of {base.name} than those here (sha256 {fitted_to}, here {found}). "
            "Restore the weights it was fitted to, or fit anew with `headatlas fit-mlm`."
        )
    here, written = sha256(weights), fit.get("adapter_sha256")
    if here != written:
        raise ModelError(
            f"{name}: {ADAPTER_WEIGHTS} is not the file that {FIT_RECORD} tells of (sha256 {written}, here {here}). "
            f"Restore it, or fit anew with `headatlas fit-mlm`."
        )
    _check_adapter(name, weights, adapter, fit)
    record = {
        "kind": "fitted",
        "base": {"name": base.name, **base.record, "weights_sha256": found},
        "adapter_sha256": here,
        "rank": _object(fit, "settings").get("rank"),
    }
    return ModelSource(name, base.location, base.arguments, (*base.weights, weights), record, path)


def _check_adapter(name: str, weights: Path, adapter: dict[str, Any], fit: dict[str, Any]) -> None:
    """Refuse settings that are not those the adapter was fitted with, before peft makes matrices of their sizes."""
    try:
        with safe_open(weights, "np") as file:
            ranks = [file.get_slice(key).get_shape()[0] for key in file.keys() if "lora_A" in key]  # noqa: SIM118
    except (OSError, SafetensorError) as error:
        raise ModelError(f"{weights}: cannot be read ({error}). Fit anew with `headatlas fit-mlm`.") from error
    alpha = _object(fit, "settings").get("alpha")
    for setting, fitted_with in (*(("r", rank) for rank in ranks), ("lora_alpha", alpha)):
        if adapter.get(setting) != fitted_with:
            raise ModelError(
                f"{name}: {ADAPTER_CONFIG} says {setting} {adapter.get(setting)}, but the adapter was fitted with "
                f"{fitted_with}. Restore the file, or fit anew with `headatlas fit-mlm`."
            )


def _path(name: str) -> Path:
    """A model's name as a path, which may lead nowhere."""
    try:
        path = Path(name).expanduser()
        path.exists()
    except (OSError, RuntimeError) as error:  # too long, or the home of nobody
        raise ModelError(f"{name}: is no path ({error}). Give a model folder or a hub name.") from error
    return path


def _is_fitted(name: str) -> bool:
    return EMBEDDED[name].adapter is not None if name in EMBEDDED else (_path(name) / ADAPTER_CONFIG).is_file()


def _object(record: dict[str, Any], name: str) -> dict[str, Any]:
    """An object within the record of a fit, empty where there is none."""
    found = record.get(name)
    return found if isinstance(found, dict) else {}


def _read_json(name: str, path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise ModelError(
            f"{name}: holds an adapter that `headatlas fit-mlm` did not make (there is no {path.name}). Merge it into "
            "its model (peft: merge_and_unload, then save_pretrained) and give that folder."
        )
    try:
        return dict(parse_json(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise ModelError(
            f"{path}: cannot be read ({error}). Run `headatlas fit-mlm` again into a new folder."
        ) from error
