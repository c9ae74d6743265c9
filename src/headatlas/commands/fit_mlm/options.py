"""`headatlas fit-mlm`, in Python `headatlas.fit_mlm`: options and entry point."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from headatlas.commands.shared.command import command
from headatlas.commands.shared.corpora import FormatOptions
from headatlas.commands.shared.options import UNRECORDED, Folder, Options, Positive, PythonOnly, Texts
from headatlas.errors import SettingError

if TYPE_CHECKING:
    from headatlas.commands.fit_mlm.run import Fit


@dataclass(frozen=True, kw_only=True)
class AdapterOptions(Options, panel="Training"):
    """What is trained, and how."""

    learning_rate: float = 2e-3
    """Highest learning rate, reached after the warm-up."""
    rank: Positive = 16
    """Rank of the LoRA matrices. Larger ones learn more and take more space."""
    alpha: float = 32
    """Scale of the LoRA matrices, usually twice the rank."""
    freeze: bool = False
    """Train the head alone and leave the encoder unchanged."""
    max_tokens: Positive = 128
    """Maximum length of a piece of text in tokens, including special tokens."""
    hold_out: Positive = 1000
    """Number of lines at the end of the text to score on instead, at most a tenth of all."""
    batch_tokens: Positive = 2048
    """Tokens per training batch, including padding."""
    save_every: Annotated[float, UNRECORDED] = 120.0
    """Seconds between saved states, from which a stopped fit resumes."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("learning_rate", "alpha"):
            if not getattr(self, name) > 0:
                raise SettingError(f"--{name.replace('_', '-')} must be more than 0, not {getattr(self, name)}.")


@dataclass(frozen=True, kw_only=True)
class FitOptions(AdapterOptions, FormatOptions):
    """The options of `fit-mlm`."""

    kinds = ("text",)
    model: Annotated[str, UNRECORDED] = field(kw_only=False)
    """Encoder without a masked language model head: a name on the Hugging Face hub, optionally with @revision; a local
    folder; or an embedded model (run `headatlas models` for a list)."""
    text: Texts
    """UTF-8 text to learn from, plain or gzipped: one sentence or paragraph per line, an empty line between
    documents."""
    out: Folder = "fitted"
    """Folder to write to. An unfinished fit resumes."""
    tokens: Positive | None = None
    """Number of tokens to train on. Default: the whole text once."""
    epochs: Positive | None = None
    """Number of passes over the text, instead of --tokens."""
    seed: int = 0
    """Seed of the head's first weights, of the order and of the masks."""
    device: Annotated[str, Parameter(metavar="DEVICE"), UNRECORDED] = "auto"
    """Device to run on: cpu, cuda, cuda:1 or mps. auto uses a GPU if one is available."""
    force: Annotated[bool, UNRECORDED] = False
    """Fit a new head to a model that already has one."""
    trust_remote_code: Annotated[bool, UNRECORDED] = False
    """Run Python code that comes with the model. Use only for sources you trust."""
    progress: PythonOnly = True
    """Show progress."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.tokens is not None and self.epochs is not None:
            raise SettingError("--tokens and --epochs both set the length of the training. Remove one of the two.")


@command(FitOptions)
def fit_mlm(options: FitOptions) -> Fit:
    """Fit a masked language model head, and small LoRA adapters, to an encoder without one.

    Sentence encoders come without the head that predicts masked tokens, so there is no loss to take gradients of or to
    ablate heads on. This trains a head on your text and writes a PEFT folder, which every command takes as MODEL. Press
    Ctrl-C to stop; the same command resumes. Needs pip install "headatlas[fit]".

        headatlas fit-mlm embedded --text wiki.txt --out fitted
        headatlas fit-mlm embedded --text wiki.txt.gz --tokens 2000000 --freeze
        headatlas survey fitted --text wiki.txt

    In Python: headatlas.fit_mlm("embedded", text="wiki.txt", out="fitted").record["held_out"]
    """
    from headatlas.commands.fit_mlm.run import run_fit  # imported here because it needs torch

    return run_fit(options)
