"""Join scripts, style and data into one file that fetches nothing and runs only its own script.

The scripts in `web` are plain ES modules: whole `views`, `pictures` that views draw, and the `data` that both read.
Each module becomes a function that returns its exports, after the modules that it imports, so the page needs neither
a server nor a build tool. Documentation is left out, which keeps pages and notebook cells small. Two forms are
understood, both at the start of a line: ``import { a, b } from "./other.js";`` (with a relative path, on one line or
on several) and ``export`` before ``function``, ``async function``, ``class`` or ``const``.

A Content-Security-Policy admits this script and this style by their hashes, and connections only to the server of a
page that asks live questions. The data is JSON in an element that is never run, with every character escaped that
could end the element.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import posixpath
import re
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

ENTRY = "main.js"
FOLDERS = ("data", "pictures", "views")
POLICY = (
    "default-src 'none'; script-src '{script}'; style-src '{style}'; img-src data: blob:; base-uri 'none'; "
    "form-action 'none'"
)
ASKING = "; connect-src 'self'"  # for a page that is served and asks its own server
_IMPORT = re.compile(r'^import \{\s*([\w,\s]+?),?\s*\} from "(\.[\w/.-]+\.js)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async )?function|class|const) (\w+)", re.MULTILINE)
_DOCUMENTATION = re.compile(r"^[ \t]*/\*\*(?:(?!\*/).)*\*/\n", re.MULTILINE | re.DOTALL)
_ESCAPES = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}


def assemble(content: Mapping[str, Any]) -> str:
    """The whole page."""
    script, style = page_script(), page_style()
    parts = {
        "policy": page_policy(asking="live" in content),
        "title": escape(f"Attention heads of {content['name']}"),
        "style": style,
        "content": embedded_json(content),
        "script": script,
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda slot: parts[slot[1]], _web("index.html"))


def page_policy(asking: bool) -> str:
    """What the page may do; `asking` if it has a server to ask."""
    return POLICY.format(script=_hash(page_script()), style=_hash(page_style())) + (ASKING if asking else "")


def embedded_json(content: Mapping[str, Any]) -> str:
    """Equivalent JSON that cannot end the element around it."""
    return json.dumps(content, separators=(",", ":"), ensure_ascii=False, allow_nan=False).translate(_ESCAPES)


def page_script() -> str:
    """All modules as one script."""
    return join_modules({name: _web(name) for name in _module_names()}, ENTRY)


def page_style() -> str:
    """The style sheet."""
    return _web("style.css")


def join_modules(modules: Mapping[str, str], entry: str) -> str:
    """Join the modules that the entry needs, each after its imports.

    Raises:
        ValueError: If a module is missing, modules import each other, or an import or export has another form.
    """
    order: list[str] = []
    _visit(modules, entry, order, ())
    return "".join(_wrapped(name, modules[name]) for name in order)


def _visit(modules: Mapping[str, str], name: str, order: list[str], importers: tuple[str, ...]) -> None:
    if name in importers:
        raise ValueError(f"modules import each other: {' -> '.join((*importers, name))}")
    if name not in modules:
        raise ValueError(f"{importers[-1]} imports {name}, which does not exist")
    for _, path in _IMPORT.findall(modules[name]):
        imported = _resolved(path, name)
        if imported not in order:
            _visit(modules, imported, order, (*importers, name))
    order.append(name)


def _wrapped(name: str, source: str) -> str:
    def constant(statement: re.Match[str]) -> str:
        names = ", ".join(re.findall(r"\w+", statement[1]))
        return f"const {{ {names} }} = {_variable(_resolved(statement[2], name))};\n"

    body = _EXPORT.sub(r"\1 \2", _IMPORT.sub(constant, _DOCUMENTATION.sub("", source)))
    if unknown := re.search(r"^(?:import|export)\b.*", body, re.MULTILINE):
        raise ValueError(f"{name}: this form of import or export is not supported: {unknown[0]}")
    exports = ", ".join(exported for _, exported in _EXPORT.findall(source))
    return f"const {_variable(name)} = (() => {{\n{body}return {{ {exports} }};\n}})();\n"


def _resolved(path: str, importer: str) -> str:
    """The name of a module that another imports by a relative path."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(importer), path))


def _variable(name: str) -> str:
    return "module_" + re.sub(r"\W", "_", name.removesuffix(".js"))


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")


def _folder() -> Traversable:
    return files("headatlas.views.page") / "web"


@functools.cache
def _web(name: str) -> str:
    return _folder().joinpath(*name.split("/")).read_text(encoding="utf-8")


@functools.cache
def _module_names() -> tuple[str, ...]:
    folders = {"": _folder()} | {f"{name}/": _folder() / name for name in FOLDERS}
    paths = ((prefix, path) for prefix, folder in folders.items() for path in folder.iterdir())
    return tuple(prefix + path.name for prefix, path in paths if path.name.endswith(".js"))
