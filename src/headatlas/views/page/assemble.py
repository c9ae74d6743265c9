"""Joining scripts, style and data into one file that fetches nothing and runs nothing but its own script.

The scripts in `web` are plain ES modules. Each becomes a function that returns what it exports, in the order of their
imports, so the page needs no server and no build tool. They keep to two forms, both at the start of a line:
``import { a, b } from "./other.js";`` and ``export`` before ``function``, ``async function``, ``class`` or ``const``.

A Content-Security-Policy admits this script and this style by their hashes alone, and a connection only to the server
that a page asks live questions of. Data is JSON in an element that is
never run, with every character escaped that could end it.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import re
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from typing import Any

ENTRY = "main.js"
POLICY = (
    "default-src 'none'; script-src '{script}'; style-src '{style}'; img-src data: blob:; base-uri 'none'; "
    "form-action 'none'"
)
ASKING = "; connect-src 'self'"  # a page that is served may ask its own server
_IMPORT = re.compile(r'^import \{ ([\w, ]+) \} from "\./([\w/.]+\.js)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async )?function|class|const) (\w+)", re.MULTILINE)
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
    """What the page may do; `asking` where it has a server to ask."""
    return POLICY.format(script=_hash(page_script()), style=_hash(page_style())) + (ASKING if asking else "")


def embedded_json(content: Mapping[str, Any]) -> str:
    """JSON that means the same but cannot end the element it stands in."""
    return json.dumps(content, separators=(",", ":"), ensure_ascii=False, allow_nan=False).translate(_ESCAPES)


def page_script() -> str:
    """All modules as one script."""
    return join_modules({name: _web(name) for name in _names(".js")}, ENTRY)


def page_style() -> str:
    """All style sheets as one."""
    return "".join(map(_web, _names(".css")))


def join_modules(modules: Mapping[str, str], entry: str) -> str:
    """The modules that the entry needs, each after those it imports; ValueError where that cannot be."""
    order: list[str] = []
    _visit(modules, entry, order, ())
    return "".join(_wrapped(name, modules[name]) for name in order)


def _visit(modules: Mapping[str, str], name: str, order: list[str], way: tuple[str, ...]) -> None:
    if name in way:
        raise ValueError(f"modules import each other: {' -> '.join((*way, name))}")
    if name not in modules:
        raise ValueError(f"{way[-1]} imports {name}, which is not there")
    for _, other in _IMPORT.findall(modules[name]):
        if other not in order:
            _visit(modules, other, order, (*way, name))
    order.append(name)


def _wrapped(name: str, source: str) -> str:
    body = _IMPORT.sub(lambda found: f"const {{ {found[1]} }} = {_variable(found[2])};\n", source)
    exported = ", ".join(found[1] for found in _EXPORT.findall(source))
    body = _EXPORT.sub(r"\1 \2", body)
    if stray := re.search(r"^(?:import|export)\b.*", body, re.MULTILINE):
        raise ValueError(f"{name}: not a form of import or export that is known here: {stray[0]}")
    return f"const {_variable(name)} = (() => {{\n{body}return {{ {exported} }};\n}})();\n"


def _variable(name: str) -> str:
    return "module_" + re.sub(r"\W", "_", name.removesuffix(".js"))


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")


@functools.cache
def _web(name: str) -> str:
    return (files("headatlas.views.page") / "web" / name).read_text(encoding="utf-8")


@functools.cache
def _names(suffix: str) -> tuple[str, ...]:
    folder = files("headatlas.views.page") / "web"
    return tuple(sorted(path.name for path in folder.iterdir() if path.name.endswith(suffix)))
