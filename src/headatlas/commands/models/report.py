"""What `models` prints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from headatlas.commands.shared.report import Listed
from headatlas.models.embedded import EmbeddedModel

OTHERS = (
    "Any other MODEL is a folder or a .gguf file on this machine or a name on the Hugging Face hub: encoders, decoders "
    "and encoder-decoders."
)
NEXT = ("headatlas survey embedded", "describe its heads"), ("headatlas explore embedded-mlm", "in a browser")


def report_models(models: Sequence[EmbeddedModel], *_: object) -> Iterator[Listed]:
    """List models line by line, so that each is broken where the screen ends, and say what to do with one."""
    texts, rows = [], []
    for model in models:
        installed = model.locate() is not None
        state = "installed" if installed else f"not installed: {model.install}"
        texts += [model.name, f"    {model.about}", f"    {model.licence}, {model.package} {model.version}, {state}"]
        known = ("name", "about", "licence", "package", "version", "install")
        rows.append({name: getattr(model, name) for name in known} | {"installed": installed})
    yield Listed((*texts, "", OTHERS, ""), rows, NEXT)
