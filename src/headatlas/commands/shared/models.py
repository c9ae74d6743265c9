"""Options for loading a model, shared by every command that needs one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from cyclopts import Parameter

from headatlas.choices import Dtype, RandomWeights, Stack
from headatlas.commands.shared.completing import complete_models
from headatlas.commands.shared.options import DECIDES_MAPS, UNRECORDED, InPython, Options, Positive
from headatlas.errors import SettingError

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from headatlas.models.model import Model
else:

    class Model:
        """Stands in for the class in signatures: importing it would import torch, which --help must not wait for."""

    class PreTrainedModel:
        """The same for a network of transformers."""

    class PreTrainedTokenizerBase:
        """The same for its tokenizer."""


TYPED_MODEL = Parameter(completer=complete_models)
_ALSO = InPython(
    "In Python also a model of `load_model`, a network of transformers with tokenizer=, or both as (network, "
    "tokenizer); a network is left as it was."
)
InMemory: TypeAlias = Model | PreTrainedModel | tuple[PreTrainedModel, PreTrainedTokenizerBase]
ModelName = Annotated[
    str | InMemory,
    UNRECORDED,  # each run records the loaded model
    TYPED_MODEL,
    _ALSO,
    Parameter(
        metavar="MODEL",
        help="Name on the Hugging Face hub, optionally with @revision; a local folder; a .gguf file; or an embedded "
        "model (run `headatlas models` for a list).",
    ),
]
OptionalModel = Annotated[str | InMemory | None, UNRECORDED, _ALSO, TYPED_MODEL]  # for commands that can do without it
SPREAD = "spread"


def split_revision(model: str) -> tuple[str, str | None]:
    """Split a name such as bert-base-uncased@main; a path is a name even if it has an @."""
    name, _, revision = (model, "", "") if Path(model).exists() else model.partition("@")
    return name, revision or None


def refuse_unknown_model(options: Options) -> None:
    """Refuse a path that does not exist and a misspelt embedded model, before anything heavy is imported."""
    from headatlas.models.embedded import check_name

    if isinstance(model := getattr(options, "model", None), str):
        check_name(split_revision(model)[0])


@dataclass(frozen=True, kw_only=True)
class LoadOptions(Options, panel="Model"):
    """How to load a model."""

    device: Annotated[str, Parameter(metavar="DEVICE"), UNRECORDED] = "auto"
    """Device to run on: cpu, cuda, cuda:1 or mps. auto uses a GPU if one is available; spread divides a large model
    among all GPUs, main memory and disk."""
    dtype: Annotated[Dtype, UNRECORDED, DECIDES_MAPS] = "float32"
    """Floating-point type of weights and activations."""
    trust_remote_code: Annotated[bool, UNRECORDED, DECIDES_MAPS] = False
    """Run Python code that comes with the model. Use only for sources you trust."""
    tokenizer: Annotated[PreTrainedTokenizerBase | None, Parameter(parse=False), UNRECORDED] = None
    """Tokenizer of a network of transformers that is given as the model, on its own device and in its own dtype."""

    @property
    def placed_on(self) -> str:
        """The device of tensors that are not the model's."""
        return "auto" if self.device == SPREAD else self.device

    @property
    def loading(self) -> dict[str, Any]:
        """The arguments of `load_model` that these options determine."""
        return {
            "device": self.placed_on,
            "device_map": "auto" if self.device == SPREAD else None,
            "dtype": self.dtype,
            "trust_remote_code": self.trust_remote_code,
        }

    def load(self, model: str | InMemory, *, seed: int = 0, **further: Any) -> Model:
        """Load a model with these options.

        Args:
            model: A name, optionally followed by @revision; a loaded model, which is returned unchanged; or a network
                of transformers, which is observed as it is.
            seed: Seed of the random weights.
            **further: Arguments of `load_model` that are not options, such as `random_weights`.

        Returns:
            The model, ready to observe batches.
        """
        from headatlas.models.loading import open_model

        if not isinstance(model, str | Path):
            if further.get("random_weights"):
                raise SettingError("Random weights are drawn when a model is loaded. Pass the model by name.")
            return open_model(model, self.tokenizer)
        name, revision = split_revision(str(model))
        return open_model(name, self.tokenizer, revision=revision, seed=seed, **self.loading, **further)


@dataclass(frozen=True, kw_only=True)
class BatchOptions(Options, panel="Model"):
    """In what batches to run a model."""

    batch_tokens: Annotated[Positive, UNRECORDED] = 4096
    """Tokens per batch, including padding. Lower values need less memory."""


@dataclass(frozen=True, kw_only=True)
class ModelOptions(LoadOptions, BatchOptions, panel="Model"):
    """How to load a model and observe it."""

    attention: Annotated[Stack | None, UNRECORDED, DECIDES_MAPS] = None
    """Attention to describe in an encoder-decoder model. Default: encoder."""


@dataclass(frozen=True, kw_only=True)
class RandomWeightsOptions(Options, panel="Model"):
    """Random weights, the control of what is measured on a model."""

    random_weights: Annotated[RandomWeights | None, UNRECORDED, DECIDES_MAPS] = None
    """Use random weights as a control, but keep the word and position embeddings: fresh draws all other weights anew,
    shuffled permutes the entries of every other matrix, so that attention stays about as sharp."""


@dataclass(frozen=True, kw_only=True)
class TrainingOptions(Options, panel="Training"):
    """How to train probes, for the commands that do."""

    memory_megabytes: Annotated[Positive, UNRECORDED] = 2000
    """Maps and hidden states to keep in memory between passes, in megabytes. The rest is read again."""
