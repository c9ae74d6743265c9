"""Loading the encoder to fit, and saying why a model cannot be fitted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from transformers import AutoConfig, AutoModelForMaskedLM, AutoTokenizer
from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING_NAMES

from headatlas.encoding.template import require_fast
from headatlas.errors import ModelError
from headatlas.models.inspection import check_weights
from headatlas.models.observing import check_vocabulary, quiet_transformers
from headatlas.models.pretrained import from_pretrained, load_network
from headatlas.models.sources import find_source

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


@dataclass(frozen=True)
class Base:
    """An encoder under a masked language model head that is yet to be fitted."""

    network: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    record: dict[str, Any]  # for fit.json


def load_base(name: str, *, revision: str | None, force: bool, trust_remote_code: bool) -> Base:
    """Load an encoder in float32 on the CPU. `force`: also where its weights bring a head."""
    source = find_source(name, revision)
    if source.adapter is not None:
        raise ModelError(f"{name}: is a fitted folder already. Give its base: {source.record['base']['name']}.")
    arguments = source.arguments | {"trust_remote_code": trust_remote_code}
    with quiet_transformers():
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
