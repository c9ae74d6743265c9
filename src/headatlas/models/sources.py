"""Where a model's files are: an embedded package, a local folder, a GGUF file or the Hugging Face hub.

A folder made by `headatlas fit-mlm` holds only a head and adapters: its base is found in the same way. A folder made by
`headatlas prune` records which heads its weights hold.

The hub is asked once, with a time limit, before transformers asks it: transformers would try an unreachable hub for a
minute and more, with a line for each attempt. Models in the local cache load without the hub.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from headatlas.checksums import pack_json, unpack_json
from headatlas.errors import ModelError
from headatlas.files import json_text, parse_json, sha256, write_text
from headatlas.models.embedded import EMBEDDED, check_name, path_of, suggestion

ADAPTER_CONFIG, ADAPTER_WEIGHTS, FIT_RECORD = "adapter_config.json", "adapter_model.safetensors", "fit.json"
PRUNING_RECORD, PRUNING_FORMAT = "headatlas_pruning.json", "headatlas-pruning-2"
WEIGHT_FILES = ("*.safetensors", "pytorch_model*.bin")
TIME_LIMIT = 5.0  # seconds for the hub to answer


@dataclass(frozen=True)
class Pruning:
    """The heads that are left of a model."""

    kept_heads: tuple[tuple[int, ...], ...]  # per layer, from 1, by the numbers of `base`
    base: Mapping[str, Any]  # the model before any pruning: its name, class, weights

    def write(self, folder: Path) -> None:
        """Write the record beside the weights, with a checksum over both."""
        record = {
            "format": PRUNING_FORMAT,
            "base": dict(self.base),
            "kept_heads": [list(heads) for heads in self.kept_heads],
            "weights_sha256": _fingerprint(find_weights(folder)),
        }
        checked = parse_json(pack_json(parse_json(json_text(record))))
        write_text(folder / PRUNING_RECORD, json_text(checked, indent=2) + "\n")


@dataclass(frozen=True)
class ModelSource:
    """What transformers loads, and what the manifest says about it."""

    name: str  # as the user gave it
    location: str  # folder or hub name
    arguments: dict[str, Any]  # further arguments of from_pretrained
    weights: tuple[Path, ...]  # local weight files; none for the hub
    record: dict[str, Any]  # for the manifest
    adapter: Path | None = None  # folder with a fitted head and adapters for `location`
    pruning: Pruning | None = None  # which heads are left, if some were cut out

    def fingerprint(self) -> dict[str, str]:
        """File name and SHA-256 of every local weight file."""
        return _fingerprint(self.weights)


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
    path = path_of(name)
    if path.suffix == ".gguf" and path.is_file():
        return ModelSource(name, str(path.parent), {"gguf_file": path.name}, (path,), {"kind": "gguf file"})
    if (path / ADAPTER_CONFIG).is_file():
        return _fitted(name, path, revision)
    if path.is_dir():
        return _folder(name, path)
    check_name(name)
    branch = {"revision": revision or "main"}
    return _ask_hub(ModelSource(name, name, branch, (), {"kind": "hub"} | branch))


def find_weights(folder: Path) -> tuple[Path, ...]:
    """The files that transformers loads weights from: safetensors if there are any, else pickles; possibly none."""
    return next((files for pattern in WEIGHT_FILES if (files := tuple(sorted(folder.glob(pattern))))), ())


def _folder(name: str, path: Path) -> ModelSource:
    if not (path / "config.json").is_file():
        raise ModelError(f"{name}: the folder has no config.json, so it is not a Hugging Face model folder.")
    if weights := find_weights(path):
        if not (path / PRUNING_RECORD).is_file():
            return ModelSource(name, str(path), {}, weights, {"kind": "folder"})
        pruning = read_pruning(path)
        kept_heads = [list(heads) for heads in pruning.kept_heads]
        record = {"kind": "pruned", "base": dict(pruning.base), "kept_heads": kept_heads}
        return ModelSource(name, str(path), {}, weights, record, pruning=pruning)
    raise ModelError(
        f"{name}: the folder has a config.json but no weights ({' or '.join(WEIGHT_FILES)}). "
        "Download or save the model's weights into it."
    )


def _fitted(name: str, path: Path, revision: str | None) -> ModelSource:
    """A head and adapters made by `headatlas fit-mlm`, with the base they were fitted to."""
    adapter, fit = _read_json(name, path / ADAPTER_CONFIG), _read_json(name, path / FIT_RECORD)
    weights = path / ADAPTER_WEIGHTS
    if not weights.is_file():
        raise ModelError(f"{name}: {ADAPTER_WEIGHTS} is missing. Run `headatlas fit-mlm` again into this folder.")
    base_name = str(adapter.get("base_model_name_or_path"))
    if _is_fitted(base_name):
        raise ModelError(f"{name}: its base {base_name} is itself a fitted folder. Fit that folder's base instead.")
    base = find_source(base_name, revision or adapter.get("revision"))
    base_weights = base.fingerprint()
    if base_weights != _object(fit, "model").get("weights_sha256", {}):
        raise ModelError(
            f"{name}: was fitted to other weights of {base.name} than those on this machine. "
            "Restore the weights it was fitted to, or run `headatlas fit-mlm` again."
        )
    adapter_hash = sha256(weights)
    if adapter_hash != fit.get("adapter_sha256"):
        raise ModelError(
            f"{name}: {ADAPTER_WEIGHTS} is not the file that {FIT_RECORD} describes. "
            "Restore it, or run `headatlas fit-mlm` again."
        )
    _check_adapter(name, weights, adapter, fit)
    record = {
        "kind": "fitted",
        "base": {"name": base.name, **base.record, "weights_sha256": base_weights},
        "adapter_sha256": adapter_hash,
        "rank": _object(fit, "settings").get("rank"),
    }
    return ModelSource(name, base.location, base.arguments, (*base.weights, weights), record, path)


def _check_adapter(name: str, weights: Path, adapter: dict[str, Any], fit: dict[str, Any]) -> None:
    """Refuse settings that the adapter was not fitted with, before peft allocates matrices of their sizes."""
    try:
        with safe_open(weights, "np") as file:
            names = [key for key in list(file.keys()) if "lora_A" in key]
            ranks = [file.get_slice(key).get_shape()[0] for key in names]
    except (OSError, SafetensorError) as error:
        raise ModelError(f"{weights}: cannot be read ({error}). Run `headatlas fit-mlm` again.") from error
    alpha = _object(fit, "settings").get("alpha")
    for setting, fitted_with in (*(("r", rank) for rank in ranks), ("lora_alpha", alpha)):
        if adapter.get(setting) != fitted_with:
            raise ModelError(
                f"{name}: {ADAPTER_CONFIG} says {setting} {adapter.get(setting)}, but the adapter was fitted with "
                f"{fitted_with}. Restore the file, or run `headatlas fit-mlm` again."
            )


def _is_fitted(name: str) -> bool:
    return EMBEDDED[name].adapter is not None if name in EMBEDDED else (path_of(name) / ADAPTER_CONFIG).is_file()


def _object(record: dict[str, Any], name: str) -> dict[str, Any]:
    """An object within the record of a fit, empty if it is missing."""
    value = record.get(name)
    return value if isinstance(value, dict) else {}


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


def _ask_hub(source: ModelSource) -> ModelSource:
    """A source on the hub, or its folder in the local cache if the hub does not answer.

    Raises ModelError if it is in neither.
    """
    import huggingface_hub
    from huggingface_hub import constants, errors

    name, revision = source.location, source.arguments["revision"]
    problem = "the hub is not asked because HF_HUB_OFFLINE is set"
    if not constants.HF_HUB_OFFLINE:
        try:
            huggingface_hub.HfApi().model_info(name, revision=revision, timeout=TIME_LIMIT)
            return source
        except errors.RevisionNotFoundError:
            problem = f"the hub has no revision {revision!r} of it"
        except errors.RepositoryNotFoundError:
            problem = "the hub has no model of this name, or it is private (log in with: hf auth login)"
        except errors.HFValidationError:
            problem = "the hub does not allow such a name"
        except errors.HfHubHTTPError:  # says nothing about whether it exists: transformers may still get it
            return source
        except Exception:  # which one depends on the HTTP package of huggingface_hub
            problem = f"{constants.ENDPOINT} cannot be reached"
    try:
        cached = huggingface_hub.try_to_load_from_cache(name, "config.json", revision=revision)
    except errors.HFValidationError:
        cached = None
    if isinstance(cached, str):
        snapshot = Path(cached).parent  # its path, because transformers would look for further files on the hub
        return replace(source, location=str(snapshot), arguments={}, record=source.record | {"commit": snapshot.name})
    raise ModelError(
        f"{name}: there is no such folder, {problem}, and it is not in the local cache. {suggestion(name)}"
    )


def read_pruning(folder: Path) -> Pruning:
    """The record of a pruned folder; ModelError if it is missing, damaged or belongs to other weights."""
    path = folder / PRUNING_RECORD
    try:
        text = path.read_text(encoding="utf-8")
        record = parse_json(text)
    except FileNotFoundError as error:
        raise ModelError(
            f"{folder}: is not a pruned model (it has no {PRUNING_RECORD}). Make one with: headatlas prune"
        ) from error
    except (OSError, ValueError) as error:
        raise ModelError(f"{path}: cannot be read ({error}). Prune the model again.") from error
    if not isinstance(record, dict) or record.get("format") != PRUNING_FORMAT:
        problem = "is not the record of a pruned model, or was written by another version of headatlas"
        raise ModelError(f"{path}: {problem}. Prune the model again.")
    kept_heads, base = record.get("kept_heads"), record.get("base")
    if not isinstance(base, dict) or not isinstance(kept_heads, list) or not all(map(_names_heads, kept_heads)):
        problem = "kept_heads must list each layer's heads, rising from 1, and base must be an object"
        raise ModelError(f"{path}: {problem}. Prune the model again.")
    try:
        unpack_json(text)
    except ValueError as error:
        problem = f"{error}, so it may name other heads than those in the weights"
        raise ModelError(f"{path}: {problem}. Prune the model again.") from error
    if record.get("weights_sha256") != _fingerprint(find_weights(folder)):
        raise ModelError(
            f"{folder}: its weights are not those that {PRUNING_RECORD} was written for, so it is unknown which heads "
            "they hold. Restore them, or prune the model again."
        )
    return Pruning(tuple(map(tuple, kept_heads)), base)


def _fingerprint(weights: tuple[Path, ...]) -> dict[str, str]:
    return {path.name: sha256(path) for path in weights}


def _names_heads(heads: Any) -> bool:
    """Whether these are the numbers of a layer's heads: whole numbers from 1, rising."""
    numbers = isinstance(heads, list) and all(type(head) is int and head > 0 for head in heads)
    return numbers and heads == sorted(set(heads))
