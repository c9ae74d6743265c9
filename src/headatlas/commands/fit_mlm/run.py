"""`fit_mlm`: from an encoder and a text to a folder with a head and adapters that `survey` and peft can load."""

from __future__ import annotations

import json
import logging
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors import torch as safetensors_torch
from transformers import AutoConfig, AutoModelForMaskedLM, AutoTokenizer
from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING_NAMES

from headatlas.commands.fit_mlm.corpus import BatchMaker, FitCorpus, read_corpus
from headatlas.commands.fit_mlm.network import FitNetwork
from headatlas.commands.fit_mlm.options import FitOptions
from headatlas.commands.fit_mlm.training import score, train, unigram_scores
from headatlas.commands.shared.models import split_revision
from headatlas.corpora.files import describe_files, find_files
from headatlas.encoding.template import require_fast
from headatlas.encoding.unknown import much_unknown
from headatlas.engine.guards import output_folder
from headatlas.engine.settings import refuse_other
from headatlas.errors import AtlasError, ModelError
from headatlas.files import json_text, parse_json, sha256, write_atomically, write_text
from headatlas.manifest import moment, versions
from headatlas.models.facts import check_length
from headatlas.models.inspection import check_weights
from headatlas.models.loading import choose_device
from headatlas.models.observing import check_vocabulary, quiet_transformers
from headatlas.models.pretrained import from_pretrained, load_network, reading, require_peft
from headatlas.models.sources import ADAPTER_CONFIG, ADAPTER_WEIGHTS, FIT_RECORD, ModelSource, find_source
from headatlas.progress import stage

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

STATE = "state.safetensors"

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Fit:
    """A fitted folder and its `fit.json`."""

    folder: Path
    record: dict[str, Any]


def run_fit(options: FitOptions) -> Fit:
    """Train the head and the adapters on the text, from the saved state if there is one, and write the folder."""
    with output_folder(options.out, "fit-mlm") as folder:
        return _fit(options, folder)


def _fit(options: FitOptions, folder: Path) -> Fit:
    files = find_files(options.text, "text")
    device = choose_device(options.device)
    require_peft()
    name, revision = split_revision(options.model)
    base = load_base(name, revision, force=options.force, trust_remote_code=options.trust_remote_code)
    check_length(options.max_tokens, base.network, base.tokenizer, name)
    corpus_files = describe_files(files)
    settings = {
        "model": name,
        "weights": base.record["weights_sha256"] or base.record["commit"],
        "corpus": [record["sha256"] for record in corpus_files],
        **options.settings(),
    }
    if finished := _already_done(folder, settings):
        return finished
    with stage(f"Encoding {', '.join(path.name for path in files)}"):
        corpus = read_corpus(
            files,
            base.tokenizer,
            layout=options.format_of("text"),
            max_tokens=options.max_tokens,
            hold_out=options.hold_out,
            vocabulary=base.network.get_input_embeddings().weight.shape[0],
        )
    record: dict[str, Any] = {
        "complete": False,
        "started": moment(),
        "settings": settings,
        "model": base.record,
        "corpus": _describe(corpus, corpus_files),
        "warnings": _warnings(corpus, name),
        "versions": versions("peft"),
    }
    _write_record(folder, record)
    network = FitNetwork(
        base.network.to(device), name, rank=options.rank, alpha=options.alpha, freeze=options.freeze, seed=options.seed
    )
    network.config.revision = revision
    network.set_bias(corpus.counts)
    maker = BatchMaker(base.tokenizer, corpus.frame)
    held_out = maker.held_out(corpus.held_out, options.batch_tokens, options.seed)
    state = train(network, maker, corpus, held_out, options, folder / STATE, settings)
    record |= {
        "held_out": score(network, held_out).rounded(),
        "held_out_unigram": unigram_scores(corpus.counts, held_out).rounded(),
        "history": state.history,
        "steps": state.step,
        "tokens_seen": state.tokens,
        "training_seconds": round(state.seconds, 1),
        "trained_parameters": sum(parameter.numel() for parameter in network.learning.values()),
    }
    _write_adapter(network, folder)
    record |= {"adapter_sha256": sha256(folder / ADAPTER_WEIGHTS), "finished": moment(), "complete": True}
    _write_record(folder, record)
    with suppress(OSError):
        (folder / STATE).unlink()
    return Fit(folder, record)


@dataclass(frozen=True)
class Base:
    """An encoder under a masked language model head that is not fitted yet."""

    network: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    record: dict[str, Any]  # for fit.json


def load_base(name: str, revision: str | None, *, force: bool, trust_remote_code: bool) -> Base:
    """Load an encoder in float32 on the CPU; refuse one that has a head already, unless `force` is given."""
    with stage(f"Loading {Path(name).name}"):
        return _load_base(find_source(name, revision), name, force, trust_remote_code)


def _load_base(source: ModelSource, name: str, force: bool, trust_remote_code: bool) -> Base:
    if source.adapter is not None:
        raise ModelError(f"{name}: is a fitted folder already. Give its base: {source.record['base']['name']}.")
    arguments = source.arguments | {"trust_remote_code": trust_remote_code}
    with quiet_transformers(), reading(source):
        config = from_pretrained(AutoConfig, source, arguments)
        _require_encoder(name, config)
        tokenizer = from_pretrained(AutoTokenizer, source, arguments)
        require_fast(tokenizer)
        if tokenizer.mask_token_id is None:
            raise ModelError(
                f"{name}: its tokenizer has no mask token, so no masked language model can be fitted. "
                "Save the model with the tokenizer it was pre-trained with."
            )
        config.return_dict = True
        network, missing, _ = load_network(AutoModelForMaskedLM, source, arguments | {"config": config}, torch.float32)
    if not missing and not force:
        raise ModelError(
            f"{name}: has a masked language model head already, so it can be surveyed as it is. "
            "To fit a new head nevertheless, pass --force."
        )
    check_vocabulary(name, network, tokenizer)
    check_weights(network.base_model, name)
    record = {
        "name": name,
        **source.record,
        "class": type(network).__name__,
        "commit": getattr(network.config, "_commit_hash", None) or source.record.get("commit"),
        "weights_sha256": source.fingerprint(),
    }
    return Base(network, tokenizer, record)


def _require_encoder(name: str, config: Any) -> None:
    remedy = "Give an encoder such as BERT, RoBERTa, DistilBERT, ELECTRA or a sentence encoder made from one."
    if config.is_encoder_decoder:
        raise ModelError(f"{name}: is an encoder-decoder, and a masked language model is an encoder alone. {remedy}")
    if getattr(config, "is_decoder", False) or config.model_type not in MODEL_FOR_MASKED_LM_MAPPING_NAMES:
        raise ModelError(
            f"{name}: transformers has no masked language model class for a {config.model_type} model. {remedy}"
        )


def _write_adapter(network: FitNetwork, folder: Path) -> None:
    """Write the LoRA matrices, the head's modules and the decoder's bias as a PEFT folder, in float16.

    The decoder's weight is the matrix of word embeddings in the base, so it is not in the file.
    """
    fitted = require_peft().get_peft_model_state_dict(network.peft, save_embedding_layers=False)
    tensors = {
        key: tensor.detach().to("cpu", torch.float16).contiguous()
        for key, tensor in fitted.items()
        if _is_fitted(key, network)
    }
    content = safetensors_torch.save(tensors, {"format": "pt"})
    write_atomically(folder / ADAPTER_WEIGHTS, lambda temporary: temporary.write_bytes(content))
    config = network.config.to_dict() | {"inference_mode": True}
    described = {key: sorted(value) if isinstance(value, set) else value for key, value in config.items()}
    write_text(folder / ADAPTER_CONFIG, json.dumps(described, indent=2, sort_keys=True, default=str) + "\n")


def _is_fitted(key: str, network: FitNetwork) -> bool:
    """With bias="all" peft lists every bias of the encoder too, and the decoder's under both of its names."""
    name = key.removeprefix("base_model.model.")
    parts = [*(network.config.modules_to_save or ()), network.decoder]
    return "lora_" in name or any(name.startswith(f"{part}.") for part in parts)


def _already_done(folder: Path, settings: dict[str, Any]) -> Fit | None:
    """Return the fit that the folder holds, if it is this one and finished; refuse a folder of anything else."""
    path = folder / FIT_RECORD
    if not path.exists():
        for name in (ADAPTER_CONFIG, "config.json", "manifest.json"):
            if (folder / name).exists():
                raise AtlasError(f"{folder}: holds something else already ({name}). Choose another --out folder.")
        return None
    try:
        record = dict(parse_json(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise AtlasError(f"{path}: cannot be read ({error}). Delete it, or choose another --out folder.") from error
    refuse_other(path, "another fit", record.get("settings", {}), settings)
    return Fit(folder, record) if record.get("complete") else None


def _describe(corpus: FitCorpus, files: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "files": files,
        "lines": corpus.lines,
        "lines_held_out": corpus.lines_held_out,
        "segments": len(corpus.training),
        "segments_held_out": len(corpus.held_out),
        "tokens": corpus.tokens,
        "tokens_held_out": sum(map(len, corpus.held_out)),
        "unknown_token_rate": round(corpus.unknown_rate, 5),
        "left_out": {"line_without_tokens": corpus.lines_without_tokens} if corpus.lines_without_tokens else {},
    }


def _warnings(corpus: FitCorpus, model: str) -> list[str]:
    warnings = much_unknown(corpus.unknown_rate, "the text", model, "the head will learn little")
    for warning in warnings:
        _log.warning("%s", warning)
    return warnings


def _write_record(folder: Path, record: dict[str, Any]) -> None:
    write_text(folder / FIT_RECORD, json_text(record, indent=2) + "\n")
