"""Optional packages: imported where they are needed, with the line that installs them where they are missing."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from headatlas.errors import ModelError, first_line


def require_package(name: str, needed_by: str, extra: str) -> Any:
    """An optional package's module; ModelError says how to install it, or why it cannot be imported though it is there.

    needed_by: what needs it, as the beginning of a sentence.
    """
    try:
        return import_module(name)
    except Exception as error:  # an installed package may break on others in any way
        if find_spec(name) is None:
            problem, way = f"needs {name}", "Install it"
        else:
            problem = f"needs {name}, which is installed but cannot be imported ({first_line(error)})"
            way = "Update it"
        option = "" if way == "Install it" else "--upgrade "
        raise ModelError(f'{needed_by} {problem}. {way} with: pip install {option}"headatlas[{extra}]"') from error
