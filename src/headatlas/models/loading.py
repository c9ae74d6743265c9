"""Load a model with its tokenizer, ready to be observed."""

from __future__ import annotations

import copy
import logging
import re
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any, TypeAlias, get_args

import torch
from transformers import AutoConfig, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase
from transformers.models.auto import modeling_auto as auto
from transformers.models.auto.auto_factory import _get_model_class

from headatlas.choices import DeviceMap, DeviceMapName, Dtype, LanguageModel, RandomWeights, TaskHead
from headatlas.errors import SettingError, first_line
from headatlas.models import pretrained
from headatlas.models.model import Model
from headatlas.models.observing import LANGUAGE_MODELS, TASK_HEADS, make_observable, observe_network, quiet_transformers
from headatlas.models.pruning import pruned_class
from headatlas.models.sources import ModelSource, find_source
from headatlas.progress import moved, stage

AnyModel: TypeAlias = str | Path | Model | PreTrainedModel | tuple[PreTrainedModel, PreTrainedTokenizerBase]
"""What the functions of headatlas take as a model: a name or folder, a loaded model, or a network in memory."""
DTYPES: tuple[str, ...] = get_args(Dtype)
NAMED_MAPS: tuple[str, ...] = get_args(DeviceMapName)
_TASK_LOADERS: dict[TaskHead, Any] = {
    "classification": auto.AutoModelForSequenceClassification,
    "token-classification": auto.AutoModelForTokenClassification,
    "sequence-to-sequence": auto.AutoModelForSeq2SeqLM,
}
_POSITIONS = re.compile(r"(position_embeddings?|wpe|embed_positions|pos_embed\w*)\.weight$")
_STEPS = 5  # of loading: finding the files, tokenizer, weights, random weights and checksums, a first look
_log = logging.getLogger(__name__)


def load_model(
    name: str,
    *,
    revision: str | None = None,
    device: str | torch.device = "auto",
    dtype: str | torch.dtype = "float32",
    random_weights: RandomWeights | None = None,
    seed: int = 0,
    task_head: TaskHead | None = None,
    as_saved: bool = False,
    trust_remote_code: bool = False,
    device_map: DeviceMap | None = None,
) -> Model:
    """Load any Hugging Face encoder, decoder or encoder-decoder, ready to observe.

    >>> model = load_model("embedded")
    >>> print(model.shapes["encoder"])
    6 layers x 12 heads

    Args:
        name: An embedded model, a local folder (also one made by `fit_mlm` or `prune`), a .gguf file, or a name on the
            hub.
        revision: Branch, tag or commit on the hub.
        device: Where to run it; "auto" uses a GPU if one is available.
        dtype: Floating-point type of weights and activations.
        random_weights: Load a control instead, with the same word and position embeddings: "fresh" draws all other
            weights anew, as in the paper; "shuffled" permutes the entries of every other matrix.
        seed: Seed of the random weights.
        task_head: Load this head if it comes with the weights. Otherwise the language model head is loaded, if any.
        as_saved: Load the class that the weights were saved as, with all of its heads.
        trust_remote_code: Run Python code that comes with the model.
        device_map: Instead of a device, for models too large for one: "auto" divides the layers among all GPUs, main
            memory and disk. Also another of transformers' maps, or the device of each module.

    Returns:
        The model, ready to be observed.
    """
    if device_map is not None:
        _check_device_map(device_map, device, random_weights)
    with stage(f"Loading {Path(name).name}", total=_STEPS) as bar:
        source = find_source(name, revision)
        bar.advance()
        target, number_type = choose_device(device), choose_dtype(dtype)
        arguments = source.arguments | {"trust_remote_code": trust_remote_code}
        with quiet_transformers(), pretrained.reading(source):
            tokenizer = pretrained.from_pretrained(AutoTokenizer, source, arguments)
            bar.advance()
            placing = {} if device_map is None else _place_options(source, device_map)
            network, language_model, loaded_head, unused = _load_network(
                source, arguments, placing, number_type, task_head, as_saved
            )
        bar.advance()
        if placing:  # the weights on disk go with the network, or when this process ends
            weakref.finalize(network, shutil.rmtree, placing["offload_folder"], ignore_errors=True)
        if random_weights is not None:
            network = randomise(network, random_weights, seed)
        record = source.record | {
            "commit": getattr(network.config, "_commit_hash", None) or source.record.get("commit"),
            "weights_sha256": source.fingerprint(),
            "random_weights": {"kind": random_weights, "seed": seed} if random_weights else None,
        }
        if as_saved:
            record["unused_tensors"] = unused
        network.requires_grad_(False)
        bar.advance()
        return make_observable(
            network if device_map is not None else network.to(target),
            tokenizer,
            name=name,
            language_model=language_model,
            task_head=loaded_head,
            record=record,
        )


def open_model(model: AnyModel, tokenizer: PreTrainedTokenizerBase | None = None, **options: Any) -> Model:
    """Return a loaded model unchanged, observe a network in memory, or load a name with options of `load_model`."""
    given, own = model if isinstance(model, tuple) and len(model) == 2 else (model, tokenizer)
    if isinstance(given, PreTrainedModel):
        if own is None:
            raise SettingError(
                f"{type(given).__name__} comes without its tokenizer. Give both, as in (network, tokenizer)."
            )
        return observe_network(given, own)
    if own is not None:
        raise SettingError("Only a network of transformers needs a tokenizer. Remove tokenizer.")
    if isinstance(given, Model):
        return given
    if isinstance(given, str | Path):
        return load_model(str(given), **options)
    raise SettingError(
        f"{type(given).__name__} is not a model. Give a name, a folder, or a network of transformers with its "
        "tokenizer."
    )


def choose_device(device: str | torch.device) -> torch.device:
    """The device of a name: "auto" is CUDA if available, else Apple's MPS, else the CPU."""
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    try:
        chosen = torch.device(device)
        torch.empty(0, device=chosen)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise SettingError(
            f"--device {device} is not available on this machine ({first_line(error)}). Use --device cpu."
        ) from error
    return chosen


def choose_dtype(dtype: str | torch.dtype) -> torch.dtype:
    """The floating-point type of a name."""
    if isinstance(dtype, torch.dtype):
        return dtype
    if dtype not in DTYPES:
        raise SettingError(f"--dtype {dtype} is unknown. Use one of: {', '.join(DTYPES)}.")
    chosen: torch.dtype = getattr(torch, dtype)
    return chosen


def _load_network(
    source: ModelSource,
    arguments: dict[str, Any],
    placing: dict[str, Any],
    dtype: torch.dtype,
    task_head: TaskHead | None,
    as_saved: bool,
) -> tuple[PreTrainedModel, LanguageModel | None, TaskHead | None, list[str]]:
    """Load with the requested head, else with the language model head, else without a head.

    Returns the network, its language model head, its task head, and the tensors of the weights that it does not use.
    """
    if source.adapter is not None:
        return pretrained.load_fitted(source, arguments | {"attn_implementation": "eager"}, dtype), "masked", None, []
    config = pretrained.from_pretrained(AutoConfig, source, arguments)
    pretrained.check_layers(source, config)
    loader, language_model = _head_of(config)
    if task_head is not None:
        if TASK_HEADS[task_head].get(config.model_type) in set(config.architectures or ()):
            loader, language_model = _TASK_LOADERS[task_head], None
        else:
            task_head = None
    if as_saved and config.architectures:
        saved_as = pretrained.saved_class(config, source.name)
        if saved_as is not _class_of(loader, config):
            loader, language_model = saved_as, None
        heads = (head for head, names in TASK_HEADS.items() if saved_as.__name__ in names.values())
        task_head = next(heads, None)
    if source.pruning is not None:
        loader = pruned_class(_class_of(loader, config), source.pruning)
    config.return_dict = True
    options = arguments | placing | {"config": config, "attn_implementation": "eager"}
    network, missing, unused = pretrained.load_network(loader, source, options, dtype)
    if language_model and missing:
        _log.warning("%s: the language model head is missing; observing the network without it.", source.name)
        return network.base_model, None, None, unused
    pretrained.refuse_missing(source, missing)
    return network, language_model, task_head, unused


def _class_of(loader: Any, config: Any) -> type[PreTrainedModel]:
    """The class that an Auto class of transformers chooses, or the given class."""
    auto = hasattr(loader, "_model_mapping")
    chosen: type[PreTrainedModel] = _get_model_class(config, loader._model_mapping) if auto else loader
    return chosen


def _head_of(config: Any) -> tuple[Any, LanguageModel | None]:
    """The loader and language model head for the architecture that the weights were saved as."""
    saved_as = set(config.architectures or ())
    if not config.is_encoder_decoder:
        masked, causal = (LANGUAGE_MODELS[head].get(config.model_type) for head in ("masked", "causal"))
        if masked and (masked in saved_as or any(name.endswith("ForPreTraining") for name in saved_as)):
            return auto.AutoModelForMaskedLM, "masked"
        if causal and (causal in saved_as or not (saved_as or masked)):  # GGUF files do not name a class
            return auto.AutoModelForCausalLM, "causal"
    return auto.AutoModel, None


def _check_device_map(device_map: DeviceMap, device: str | torch.device, random_weights: RandomWeights | None) -> None:
    """Refuse an impossible device map before anything is loaded."""
    if isinstance(device_map, str) and device_map not in NAMED_MAPS:
        raise SettingError(f"device_map {device_map} is unknown. Use one of: {', '.join(NAMED_MAPS)}.")
    if device != "auto":
        raise SettingError(f"device {device} and device_map exclude each other. Remove one of the two.")
    if random_weights:
        raise SettingError("Random weights are drawn on one device. Remove device_map.")
    pretrained.require_package("accelerate", "--device spread", "large")


def _place_options(source: ModelSource, device_map: DeviceMap) -> dict[str, Any]:
    """Options of `from_pretrained`, with a folder for weights that fit nowhere else."""
    if source.adapter is not None:
        raise SettingError(f"{source.name}: a fitted model is merged on one device. Remove --device spread.")
    chosen = device_map if isinstance(device_map, str) else dict(device_map)
    return {"device_map": chosen, "offload_folder": tempfile.mkdtemp(prefix="headatlas-offload-")}


def randomise(network: PreTrainedModel, kind: RandomWeights, seed: int) -> PreTrainedModel:
    """A network with the pretrained word and position embeddings and nothing else that was learned.

    It shows whether a finding was learned or follows from the architecture. Fresh weights are the paper's control
    (section 5). They are so small that attention is nearly even; shuffled ones keep the distribution of every matrix,
    biases and normalisation, so that attention scores are about as large as in the trained network. Relative position
    terms inside attention (T5) are attention weights, so they are random too.
    """
    return _shuffle(network, seed) if kind == "shuffled" else _draw_anew(network, seed)


def _draw_anew(network: PreTrainedModel, seed: int) -> PreTrainedModel:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        fresh = type(network)._from_config(network.config, dtype=network.dtype)
    trained = dict(network.named_parameters())
    with torch.no_grad():
        fresh.get_input_embeddings().weight.copy_(network.get_input_embeddings().weight)
        for name, parameter in fresh.named_parameters():
            if _POSITIONS.search(name):
                parameter.copy_(trained[name])
    fresh.tie_weights()
    return fresh


def _shuffle(network: PreTrainedModel, seed: int) -> PreTrainedModel:
    shuffled = copy.deepcopy(network)
    generator = torch.Generator().manual_seed(seed)
    embeddings = shuffled.get_input_embeddings().weight
    with torch.no_grad():
        for name, parameter in shuffled.named_parameters():
            if parameter.ndim >= 2 and parameter is not embeddings and not _POSITIONS.search(name):
                moved()
                order = torch.randperm(parameter.numel(), generator=generator).to(parameter.device)
                parameter.copy_(parameter.flatten()[order].view_as(parameter))
    return shuffled
