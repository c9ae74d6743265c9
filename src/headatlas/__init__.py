"""headatlas: an atlas of a transformer's attention heads.

>>> import headatlas as ha
>>> atlas = ha.survey("bert-base-uncased", text="wiki.txt", out="atlas")   # doctest: +SKIP
>>> atlas.tables["positions"].query("offset == -1").nlargest(5, "value")   # doctest: +SKIP
>>> ha.write_figures(atlas)                                                 # doctest: +SKIP
"""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any


@cache
def _homes() -> dict[str, str]:
    """Return the module of every public name: the stub names it, but for the commands, which say so themselves.

    A name is imported when it is first used: importing headatlas must not import torch.
    """
    from headatlas.commands.shared.entry import list_entries

    stub = Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    homes = {name: home for home, name in re.findall(r"^from (\S+) import \w+ as (\w+)", stub, re.MULTILINE)}
    others = {name: home for name, home in homes.items() if not home.endswith(".options")}
    entries = list_entries().items()
    return others | {name: f"headatlas.commands.{name}.options" for name, entry in entries if entry.in_python}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version  # takes longer than the rest of this file

        return version("headatlas")
    if name == "__all__":
        return ["__version__", *_homes()]
    if name == "figures":
        return import_module("headatlas.views.figures")
    if name in _homes():
        return getattr(import_module(_homes()[name]), name)
    raise AttributeError(f"module 'headatlas' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__getattr__("__all__"))
